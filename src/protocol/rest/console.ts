// What browsers need that programs do not.

import { callerRoutes } from './caller.ts';
import { demoRoutes } from './demo.ts';
import type { Route } from './route.ts';

export const consoleRoutes: readonly Route[] = [...callerRoutes, ...demoRoutes];
