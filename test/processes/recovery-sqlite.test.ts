import { registerRecovery } from './recovery.ts';
import { sqliteBackend } from './stage/backend.ts';

registerRecovery(sqliteBackend());
