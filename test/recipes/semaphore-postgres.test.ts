import { postgresBackend } from '../processes/stage/backend.ts';
import { postgresForTests } from '../services/postgres.ts';
import { registerSemaphore } from './semaphore.ts';

registerSemaphore(postgresBackend(postgresForTests));
