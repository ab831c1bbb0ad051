import { startRedis } from '../services/redis.ts';
import { registerKill } from './kill.ts';
import { redisBackend } from './stage/backend.ts';

registerKill(redisBackend(startRedis));
