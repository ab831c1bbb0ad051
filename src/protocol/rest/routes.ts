// All routes of a coordinator.

import { adminRoutes } from './admin.ts';
import { answerLinkRoutes } from './answer-links.ts';
import { awaitRoutes } from './awaits.ts';
import { commandRoutes } from './commands.ts';
import { consoleRoutes } from './console.ts';
import { withDescription } from './description.ts';
import { eventRoutes } from './events.ts';
import { executionRoutes } from './executions.ts';
import { healthRoutes } from './health.ts';
import { lookingAfterRoutes } from './looking-after.ts';
import { operationRoutes } from './operations.ts';
import { planRoutes } from './plans.ts';
import { resultRoutes } from './results.ts';
import type { Route } from './route.ts';
import { workRoutes } from './work.ts';

export const ROUTES: readonly Route[] = withDescription([
  ...executionRoutes,
  ...resultRoutes,
  ...eventRoutes,
  ...commandRoutes,
  ...awaitRoutes,
  ...answerLinkRoutes,
  ...lookingAfterRoutes,
  ...planRoutes,
  ...operationRoutes,
  ...adminRoutes,
  ...consoleRoutes,
  ...healthRoutes,
  ...workRoutes,
]);
