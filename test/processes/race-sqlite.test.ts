import { registerRace } from './race.ts';
import { sqliteBackend } from './stage/backend.ts';

registerRace(sqliteBackend());
