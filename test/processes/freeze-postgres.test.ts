import { postgresForTests } from '../services/postgres.ts';
import { registerFreeze } from './freeze.ts';
import { postgresBackend } from './stage/backend.ts';

registerFreeze(postgresBackend(postgresForTests));
