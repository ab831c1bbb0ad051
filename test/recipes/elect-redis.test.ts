import { redisBackend } from '../processes/stage/backend.ts';
import { startRedis } from '../services/redis.ts';
import { registerElect } from './elect.ts';

registerElect(redisBackend(startRedis));
