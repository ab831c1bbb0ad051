import { createClient } from 'redis';
import type { ContractBackend } from '../../contract/index.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { toInstant } from '../../src/support/clock.ts';
import { durableHarness } from './durable-harness.ts';

const START_MS = Date.UTC(2030, 0, 1);

/** A namespace for each case in the server at `url`, with a key for its time. */
export function redisBackend(url: string): ContractBackend & { end(): Promise<void> } {
  const admin = createClient({ url });
  admin.on('error', () => undefined);
  let connected: Promise<unknown> | undefined;
  let namespaces = 0;
  return {
    offers: ['durable', 'two-clients', 'host-clock', 'server'],
    async open(policy) {
      connected ??= admin.connect();
      await connected;
      namespaces += 1;
      const namespace = `case ${namespaces}`;
      const clock = `{${namespace}}:test-clock`;
      let nowMs = START_MS;
      await admin.set(clock, nowMs);
      const nowLua = ` return tonumber(redis.call('GET', '${clock}'))`;
      return durableHarness({
        openClient: () => openRedisStore({ url, namespace, policy, nowLua }),
        async advance(ms) {
          nowMs += ms;
          await admin.set(clock, nowMs);
        },
        now: () => toInstant(nowMs),
        // For the store, a restarted server has another run id. A server that took over or was
        // restored is also in another place.
        async restarted(how) {
          const moved = how === 'elsewhere' ? { place: 'elsewhere' } : {};
          await admin.hSet(`{${namespace}}:meta`, { run: 'before', ...moved });
        },
        async dispose() {
          const keys = await admin.keys(`{${namespace}}:*`);
          if (keys.length > 0) await admin.del(keys);
        },
      });
    },
    async end() {
      if (connected !== undefined) await admin.close();
    },
  };
}
