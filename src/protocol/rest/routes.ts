// All routes of a coordinator.

import { commandRoutes } from './commands.ts';
import { executionRoutes } from './executions.ts';
import { resultRoutes } from './results.ts';
import type { Route } from './route.ts';
import { workRoutes } from './work.ts';

export const ROUTES: readonly Route[] = [
  ...executionRoutes,
  ...resultRoutes,
  ...commandRoutes,
  ...workRoutes,
];
