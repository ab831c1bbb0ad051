import { openServer } from '../../src/server/serve.ts';
import { freshMemoryStore } from '../services/memory-store.ts';
import { startProxy, through } from '../services/proxy.ts';
import { registerLeaseRun } from './lease-run.ts';

registerLeaseRun('a coordinator', async () => {
  const { store } = freshMemoryStore();
  const server = await openServer({ store, port: 0, auth: 'off', console: false });
  const proxy = await startProxy(Number(new URL(server.url).port));
  return {
    flags: ['--url', server.url],
    cuttable: { ...proxy, flags: ['--url', through(server.url, proxy)] },
    async end() {
      await proxy.close();
      await server.close();
    },
  };
});
