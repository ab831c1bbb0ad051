import { registerKill } from './kill.ts';
import { sqliteBackend } from './stage/backend.ts';

registerKill(sqliteBackend());
