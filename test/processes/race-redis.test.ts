import { startRedis } from '../services/redis.ts';
import { registerRace } from './race.ts';
import { redisBackend } from './stage/backend.ts';

registerRace(redisBackend(startRedis));
