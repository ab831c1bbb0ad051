import { after } from 'node:test';
import { isExcluded } from '../services/excluded.ts';
import { startRedis } from '../services/redis.ts';
import { redisBackend } from './redis-backend.ts';
import { registerLeaseContract } from './register.ts';

if (isExcluded('redis')) {
  registerLeaseContract(redisBackend(''), 'Redis was excluded by name');
} else {
  const redis = await startRedis();
  const backend = redisBackend(redis.url);
  after(async () => {
    await backend.end();
    await redis.stop();
  });
  registerLeaseContract(backend);
}
