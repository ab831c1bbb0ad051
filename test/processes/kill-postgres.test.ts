import { postgresForTests } from '../services/postgres.ts';
import { registerKill } from './kill.ts';
import { postgresBackend } from './stage/backend.ts';

registerKill(postgresBackend(postgresForTests));
