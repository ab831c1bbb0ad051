import { postgresForTests } from '../services/postgres.ts';
import { registerFirstOpen } from './first-open.ts';
import { postgresBackend } from './stage/backend.ts';

registerFirstOpen(postgresBackend(postgresForTests));
