import { postgresForTests } from '../services/postgres.ts';
import { registerRecovery } from './recovery.ts';
import { coordinatorBackend, postgresBackend, sqliteBackend } from './stage/backend.ts';

registerRecovery(coordinatorBackend(sqliteBackend(), 'rest'));
registerRecovery(coordinatorBackend(postgresBackend(postgresForTests), 'stream'));
