import { startProxy } from '../services/proxy.ts';
import { FLUSHED_ALWAYS, startRedis } from '../services/redis.ts';
import { loseReplies } from './lose-replies.ts';
import { registerRecorded } from './recorded.ts';

registerRecorded(
  'Redis',
  async () => {
    const redis = await startRedis(FLUSHED_ALWAYS);
    const proxy = await startProxy(redis.socket);
    return {
      address: { kind: 'redis', url: `redis://127.0.0.1:${proxy.port}`, namespace: 'recorded' },
      faults: [
        () => loseReplies([proxy]),
        async () => {
          await redis.kill();
          await redis.start();
        },
      ],
      async stop() {
        await proxy.close();
        await redis.stop();
      },
    };
  },
  { lateMs: 100 },
);
