import { sqliteBackend } from '../processes/stage/backend.ts';
import { registerSemaphore } from './semaphore.ts';

registerSemaphore(sqliteBackend());
