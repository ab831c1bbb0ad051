import { startRedis } from '../services/redis.ts';
import { registerRecovery } from './recovery.ts';
import { redisBackend } from './stage/backend.ts';

registerRecovery(redisBackend(startRedis));
