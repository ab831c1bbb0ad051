import { registerRace } from './race.ts';
import { coordinatorBackend, sqliteBackend } from './stage/backend.ts';

registerRace(coordinatorBackend(sqliteBackend(), true));
