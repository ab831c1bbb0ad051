import { FLUSHED_ALWAYS, type PrivateRedis, startRedis } from '../services/redis.ts';
import { registerOutage } from './store-outage.ts';

let redis: PrivateRedis | undefined;

function running(): PrivateRedis {
  if (redis === undefined) throw new Error('start it first');
  return redis;
}

registerOutage({
  name: 'Redis',
  async start() {
    redis = await startRedis(FLUSHED_ALWAYS);
  },
  address: (namespace) => ({ kind: 'redis', url: running().url, namespace }),
  kill: () => running().kill(),
  restart: () => running().start(),
  end: async () => redis?.stop(),
});
