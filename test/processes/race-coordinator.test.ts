import { sample } from '../services/tier.ts';
import { registerRace } from './race.ts';
import { coordinatorBackend, sqliteBackend } from './stage/backend.ts';
import { WAYS } from './stage/store-address.ts';

for (const way of sample('race behind a coordinator', WAYS, 1)) {
  registerRace(coordinatorBackend(sqliteBackend(), way));
}
