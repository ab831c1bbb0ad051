// What is kept to be submitted, and the builds that run it.

import { releaseRoutes } from './releases.ts';
import type { Route } from './route.ts';
import { scheduleRoutes } from './schedules.ts';
import { templateRoutes } from './templates.ts';

export const planRoutes: readonly Route[] = [
  ...templateRoutes,
  ...scheduleRoutes,
  ...releaseRoutes,
];
