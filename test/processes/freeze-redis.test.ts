import { startRedis } from '../services/redis.ts';
import { registerFreeze } from './freeze.ts';
import { redisBackend } from './stage/backend.ts';

registerFreeze(redisBackend(startRedis));
