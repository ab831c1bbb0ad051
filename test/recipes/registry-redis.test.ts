import { redisBackend } from '../processes/stage/backend.ts';
import { startRedis } from '../services/redis.ts';
import { registerRegistry } from './registry.ts';

registerRegistry(redisBackend(startRedis));
