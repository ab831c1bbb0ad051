// What is kept to be submitted.

import type { Route } from './route.ts';
import { scheduleRoutes } from './schedules.ts';
import { templateRoutes } from './templates.ts';

export const planRoutes: readonly Route[] = [...templateRoutes, ...scheduleRoutes];
