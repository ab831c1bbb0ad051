import { freePort } from '../services/free-port.ts';
import { startProxy } from '../services/proxy.ts';
import { startRedis } from '../services/redis.ts';
import { registerLeaseRun } from './lease-run.ts';

registerLeaseRun('redis', async () => {
  const port = await freePort();
  const redis = await startRedis({ port: String(port), bind: '127.0.0.1' });
  const proxy = await startProxy(port);
  return {
    flags: ['--store', `redis://127.0.0.1:${port}`],
    cuttable: { ...proxy, flags: ['--store', `redis://127.0.0.1:${proxy.port}`] },
    async end() {
      await proxy.close();
      await redis.stop();
    },
  };
});
