import { postgresBackend } from '../processes/stage/backend.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerWatchdogSession } from './watchdog-session.ts';

registerWatchdogSession(postgresBackend(postgresForTests));
