// All routes of a coordinator.

import { keyRoutes } from '../../features/access/key-routes.ts';
import { projectRoutes } from '../../features/access/project-routes.ts';
import { recordRoutes } from '../../features/audit/routes.ts';
import { answerLinkRoutes } from '../../features/awaits/link-routes.ts';
import { awaitRoutes } from '../../features/awaits/routes.ts';
import { releaseRoutes } from '../../features/releases/routes.ts';
import { bulkRoutes } from '../../features/repair/bulk-routes.ts';
import { repairRoutes } from '../../features/repair/routes.ts';
import { archiveRoutes } from '../../features/retention/routes.ts';
import { scheduleRoutes } from '../../features/schedules/routes.ts';
import { templateRoutes } from '../../features/templates/routes.ts';
import { adviceRoutes } from './advice.ts';
import { callerRoutes } from './caller.ts';
import { commandRoutes } from './commands.ts';
import { demoRoutes } from './demo.ts';
import { depthRoutes } from './depth.ts';
import { withDescription } from './description.ts';
import { eventRoutes } from './events.ts';
import { executionRoutes } from './executions.ts';
import { healthRoutes } from './health.ts';
import { leaseRoutes } from './leases.ts';
import { resultRoutes } from './results.ts';
import type { Route } from './route.ts';
import { sessionRoutes } from './sessions.ts';
import { workRoutes } from './work.ts';

export const ROUTES: readonly Route[] = withDescription([
  ...executionRoutes,
  ...resultRoutes,
  ...eventRoutes,
  ...commandRoutes,
  ...awaitRoutes,
  ...answerLinkRoutes,
  ...repairRoutes,
  ...bulkRoutes,
  ...recordRoutes,
  ...archiveRoutes,
  ...templateRoutes,
  ...scheduleRoutes,
  ...releaseRoutes,
  ...sessionRoutes,
  ...leaseRoutes,
  ...depthRoutes,
  ...adviceRoutes,
  ...projectRoutes,
  ...keyRoutes,
  ...callerRoutes,
  ...demoRoutes,
  ...healthRoutes,
  ...workRoutes,
]);
