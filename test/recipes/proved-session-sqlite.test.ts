import { sqliteBackend } from '../processes/stage/backend.ts';
import { registerProvedSession } from './proved-session.ts';

registerProvedSession(sqliteBackend());
