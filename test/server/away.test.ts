// A lone coordinator that is away for longer than the ttl of its clients (E-10).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSession } from '../../src/index.ts';
import { openServer, type Server } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { openCoordinator } from '../../src/worker/open-coordinator.ts';
import { WAYS, type Way } from '../contract/coordinator-backend.ts';
import { freePort } from '../services/free-port.ts';
import { until } from './coordinator.ts';

const TTL_MS = 2_000;

for (const way of Object.keys(WAYS) as Way[]) {
  test(`E-10: over ${way}, a lease outlives its only coordinator's absence, beside a rival that asks first`, () =>
    outlives(way));
}

async function outlives(way: Way): Promise<void> {
  await using closing = new AsyncDisposableStack();
  const behind = openMemoryStore();
  closing.defer(() => behind.close());
  const [port, grpcPort] = [await freePort(), await freePort()];
  const serve = async (): Promise<Server> =>
    closing.use(
      await openServer({
        store: behind,
        port,
        grpc: { port: grpcPort },
        auth: 'off',
        console: false,
      }),
    );
  const first = await serve();
  const store = await WAYS[way](first);
  closing.defer(() => store.close());
  const session = closing.use(await openSession({ store, owner: 'ann', ttlMs: TTL_MS }));
  const held = await session.acquire('jobs/nightly');
  assert.ok(held.kind === 'acquired');
  const { lease } = held;
  await first.close();
  // Its own authority ends with the ttl, whatever the store will decide.
  await new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
  await until(
    async () => (await behind.sessions.inspect(session.id))?.state === 'overdue' || undefined,
  );

  const second = await serve();
  const other = await openCoordinator({ url: second.url });
  closing.defer(() => other.close());
  const rival = closing.use(await openSession({ store: other, owner: 'bob' }));
  const refused = await rival.acquire('jobs/nightly');
  assert.ok(refused.kind === 'refused');
  assert.ok(['reclaim-paused', 'held'].includes(refused.why), refused.why);
  const back = await until(async () => {
    const outcome = await lease.rejoin();
    return outcome.kind === 'rejoined' ? outcome.lease : undefined;
  });
  assert.equal(back.fence, lease.fence);
  back.assertHeld(0);
  // While a coordinator is there.
  await session.close();
}
