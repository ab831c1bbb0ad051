import { postgresBackend } from '../processes/stage/backend.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerProvedSession } from './proved-session.ts';

registerProvedSession(postgresBackend(postgresForTests));
