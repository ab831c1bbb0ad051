// All routes of a coordinator.

import { adviceRoutes } from './advice.ts';
import { answerLinkRoutes } from './answer-links.ts';
import { archiveRoutes } from './archive.ts';
import { awaitRoutes } from './awaits.ts';
import { bulkRoutes } from './bulk.ts';
import { callerRoutes } from './caller.ts';
import { commandRoutes } from './commands.ts';
import { demoRoutes } from './demo.ts';
import { depthRoutes } from './depth.ts';
import { withDescription } from './description.ts';
import { eventRoutes } from './events.ts';
import { executionRoutes } from './executions.ts';
import { healthRoutes } from './health.ts';
import { keyRoutes } from './keys.ts';
import { leaseRoutes } from './leases.ts';
import { projectRoutes } from './projects.ts';
import { recordRoutes } from './records.ts';
import { releaseRoutes } from './releases.ts';
import { repairRoutes } from './repair.ts';
import { resultRoutes } from './results.ts';
import type { Route } from './route.ts';
import { scheduleRoutes } from './schedules.ts';
import { sessionRoutes } from './sessions.ts';
import { templateRoutes } from './templates.ts';
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
