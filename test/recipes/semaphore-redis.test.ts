import { redisBackend } from '../processes/stage/backend.ts';
import { startRedis } from '../services/redis.ts';
import { registerSemaphore } from './semaphore.ts';

registerSemaphore(redisBackend(startRedis));
