import { startEtcd } from '../services/etcd.ts';
import { startProxy, through } from '../services/proxy.ts';
import { loseReplies } from './lose-replies.ts';
import { registerRecorded } from './recorded.ts';

registerRecorded(
  'etcd',
  async () => {
    const etcd = await startEtcd();
    const proxies = await Promise.all(
      etcd.endpoints.map((url) => startProxy(Number(new URL(url).port))),
    );
    const endpoints = etcd.endpoints.map((url, index) => {
      const proxy = proxies[index];
      return proxy === undefined ? url : through(url, proxy);
    });
    return {
      address: { kind: 'etcd', endpoints, prefix: 'recorded/' },
      faults: [
        () => loseReplies(proxies),
        async () => {
          const leader = await etcd.leader();
          await etcd.kill(leader);
          await etcd.restart(leader);
        },
      ],
      async stop() {
        await Promise.all(proxies.map((proxy) => proxy.close()));
        await etcd.stop();
      },
    };
  },
  // Its clients keep its time. It stands still while none of them can write, and a client that was
  // frozen is behind the others. But no session ends before one clock has seen all of its time (C-10).
  { lateMs: Number.POSITIVE_INFINITY, skewMs: Number.POSITIVE_INFINITY },
);
