import { after } from 'node:test';
import { startRedis } from '../services/redis.ts';
import { redisBackend } from './redis-backend.ts';
import { registerLeaseContract } from './register.ts';

const redis = await startRedis();
const backend = redisBackend(redis.url);

registerLeaseContract(backend);

after(async () => {
  await backend.end();
  await redis.stop();
});
