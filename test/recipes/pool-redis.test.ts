import { redisBackend } from '../processes/stage/backend.ts';
import { startRedis } from '../services/redis.ts';
import { registerPool } from './pool.ts';

registerPool(redisBackend(startRedis));
