// All routes of a coordinator.

import { accessRoutes } from '../../features/access/routes.ts';
import { recordRoutes } from '../../features/audit/routes.ts';
import { awaitRoutes } from '../../features/awaits/routes.ts';
import { channelRoutes } from '../../features/channels/routes.ts';
import { overviewRoutes } from '../../features/overview/routes.ts';
import { releaseRoutes } from '../../features/releases/routes.ts';
import { bulkRoutes, repairRoutes } from '../../features/repair/routes.ts';
import { archiveRoutes } from '../../features/retention/routes.ts';
import { scheduleRoutes } from '../../features/schedules/routes.ts';
import { templateRoutes } from '../../features/templates/routes.ts';
import { updateRoutes } from '../../features/updates/routes.ts';
import { viewRoutes } from '../../features/views/routes.ts';
import { coordinatorRoutes } from './coordinator.ts';
import { eventRoutes } from './events.ts';
import { commandRoutes, executionRoutes } from './executions.ts';
import { leaseRoutes } from './leases.ts';
import { withDescription } from './openapi.ts';
import type { Route } from './route.ts';
import { loadRoutes, sessionRoutes } from './sessions.ts';
import { workRoutes } from './work-handlers.ts';

export const ROUTES: readonly Route[] = withDescription([
  ...[...executionRoutes, ...eventRoutes, ...commandRoutes, ...awaitRoutes],
  ...[...updateRoutes, ...repairRoutes, ...bulkRoutes, ...recordRoutes, ...archiveRoutes],
  ...[...templateRoutes, ...scheduleRoutes, ...releaseRoutes],
  ...[
    ...overviewRoutes,
    ...viewRoutes,
    ...channelRoutes,
    ...sessionRoutes,
    ...leaseRoutes,
    ...loadRoutes,
  ],
  ...[...accessRoutes, ...coordinatorRoutes, ...workRoutes],
]);
