import { sqliteBackend } from '../processes/stage/backend.ts';
import { registerWatchdogSession } from './watchdog-session.ts';

registerWatchdogSession(sqliteBackend());
