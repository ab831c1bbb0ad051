import { registerFreeze } from './freeze.ts';
import { coordinatorBackend, sqliteBackend } from './stage/backend.ts';

registerFreeze(coordinatorBackend(sqliteBackend(), true));
