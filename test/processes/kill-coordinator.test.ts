import { sample } from '../services/tier.ts';
import { registerKill } from './kill.ts';
import { coordinatorBackend, sqliteBackend } from './stage/backend.ts';
import { WAYS } from './stage/store-address.ts';

for (const way of sample('kill behind a coordinator', WAYS, 1)) {
  registerKill(coordinatorBackend(sqliteBackend(), way));
}
