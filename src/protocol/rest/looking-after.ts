// What people look after executions with, once they went wrong.

import { archiveRoutes } from './archive.ts';
import { bulkRoutes } from './bulk.ts';
import { recordRoutes } from './records.ts';
import { repairRoutes } from './repair.ts';
import type { Route } from './route.ts';

export const lookingAfterRoutes: readonly Route[] = [
  ...repairRoutes,
  ...bulkRoutes,
  ...recordRoutes,
  ...archiveRoutes,
];
