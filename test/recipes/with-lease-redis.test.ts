import { redisBackend } from '../processes/stage/backend.ts';
import { startRedis } from '../services/redis.ts';
import { registerWithLease } from './with-lease.ts';

registerWithLease(redisBackend(startRedis));
