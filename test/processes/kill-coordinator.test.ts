import { registerKill } from './kill.ts';
import { coordinatorBackend, sqliteBackend } from './stage/backend.ts';

registerKill(coordinatorBackend(sqliteBackend(), true));
