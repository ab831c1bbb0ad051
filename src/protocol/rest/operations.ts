// What runs, and what it holds.

import { adviceRoutes } from './advice.ts';
import { depthRoutes } from './depth.ts';
import { leaseRoutes } from './leases.ts';
import type { Route } from './route.ts';
import { sessionRoutes } from './sessions.ts';

export const operationRoutes: readonly Route[] = [
  ...sessionRoutes,
  ...leaseRoutes,
  ...depthRoutes,
  ...adviceRoutes,
];
