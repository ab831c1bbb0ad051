// Who may do what: on a listener of its own when there is one.

import { keyRoutes } from './keys.ts';
import { projectRoutes } from './projects.ts';
import type { Route } from './route.ts';

export const adminRoutes: readonly Route[] = [...projectRoutes, ...keyRoutes];
