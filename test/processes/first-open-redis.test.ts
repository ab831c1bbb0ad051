import { startRedis } from '../services/redis.ts';
import { registerFirstOpen } from './first-open.ts';
import { redisBackend } from './stage/backend.ts';

registerFirstOpen(redisBackend(startRedis));
