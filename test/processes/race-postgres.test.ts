import { postgresForTests } from '../services/postgres.ts';
import { registerRace } from './race.ts';
import { postgresBackend } from './stage/backend.ts';

registerRace(postgresBackend(postgresForTests));
