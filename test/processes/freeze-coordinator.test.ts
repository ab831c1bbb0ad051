import { sample } from '../services/tier.ts';
import { registerFreeze } from './freeze.ts';
import { coordinatorBackend, sqliteBackend } from './stage/backend.ts';
import { WAYS } from './stage/store-address.ts';

for (const way of sample('freeze behind a coordinator', WAYS, 1)) {
  registerFreeze(coordinatorBackend(sqliteBackend(), way));
}
