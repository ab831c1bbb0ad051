import { registerFreeze } from './freeze.ts';
import { sqliteBackend } from './stage/backend.ts';

registerFreeze(sqliteBackend());
