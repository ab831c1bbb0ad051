import { postgresForTests } from '../services/postgres.ts';
import { registerRecovery } from './recovery.ts';
import { postgresBackend } from './stage/backend.ts';

registerRecovery(postgresBackend(postgresForTests));
