// Sessions and leases through a coordinator whose messages are lost, doubled and late, and through a
// proxy that swallows replies and cuts connections.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSession, parseLeaseKey } from '../../src/index.ts';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { seededRandom } from '../../src/support/random.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { faultyTransport, type TransportFault } from '../../src/testing/faulty-transport.ts';
import { httpTransport } from '../../src/worker/http-transport.ts';
import { openCoordinator } from '../../src/worker/open-coordinator.ts';
import { startProxy, through } from '../services/proxy.ts';
import { runSeed } from '../services/tier.ts';

const FAULTS: readonly TransportFault[] = ['lost', 'reply-lost', 'doubled', 'held'];
const CLIENTS = 3;
const ROUNDS = 15;
const KEY = parseLeaseKey('counter');

const OPEN = { port: 0, auth: 'off', maintenance: false } as const;

/** Each message has its fault with this probability. */
const SHARE = 0.2;

test('M-38, P1, P3: no update is lost and no term overlaps while messages are lost, doubled and late', async () => {
  const behind = openMemoryStore();
  await using server = await openServer({ store: behind, ...OPEN });
  let holding = 0;
  const fences: number[] = [];
  const play = async (nth: number): Promise<void> => {
    const random = seededRandom(runSeed() + nth);
    const inner = httpTransport({ url: server.url, timers: systemTimers });
    // The first two messages open the store.
    const transport = faultyTransport(inner, (count, kind) =>
      count > 2 && kind !== 'waitForLeaseHint' && random.next() < SHARE
        ? FAULTS[Math.floor(random.next() * FAULTS.length)]
        : undefined,
    );
    const store = await openCoordinator({ transport });
    const stop = new AbortController();
    const releasing = (async () => {
      while (!stop.signal.aborted) {
        await systemTimers.pause(20, stop.signal);
        transport.release();
      }
    })();
    const session = await openSession({ store, owner: `client ${nth}`, ttlMs: 20_000 });
    for (let round = 0; round < ROUNDS; ) {
      const outcome = await session.acquire(KEY, { wait: true, pollMs: 20 });
      if (outcome.kind !== 'acquired') continue;
      const { lease } = outcome;
      lease.assertHeld(0);
      holding += 1;
      assert.equal(holding, 1, 'P2: one holder at a time');
      fences.push(lease.fence);
      const before = Number(Buffer.from(lease.restored?.bytes ?? []).toString() || 0);
      let saved = await lease.checkpoint(String(before + 1));
      while (saved.kind === 'unknown' || saved.kind === 'unavailable') {
        saved = await lease.checkpoint(String(before + 1));
      }
      assert.equal(saved.kind, 'saved');
      holding -= 1;
      await lease.release('yielded');
      round += 1;
    }
    await session.close();
    stop.abort();
    await releasing;
    transport.release();
    assert.ok(transport.faults > 10, `${transport.faults} faults`);
    await store.close();
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, nth) => play(nth)));
  assert.deepEqual(
    fences,
    [...new Set(fences)].sort((a, b) => a - b),
    'P1: fences rise',
  );
  const [stored] = await behind.leases.list({ limit: 1 });
  assert.ok(stored);
  const { record } = await behind.leases.inspect(stored.key);
  const total = CLIENTS * ROUNDS;
  assert.equal(Buffer.from(record?.checkpoint?.bytes ?? []).toString(), String(total));
  await behind.close();
});

test('M-38: swallowed replies shorten authority, and never extend it', async () => {
  const behind = openMemoryStore();
  await using server = await openServer({ store: behind, ...OPEN });
  const proxy = await startProxy(Number(new URL(server.url).port));
  const store = await openCoordinator({ url: through(server.url, proxy), stream: false });
  const session = await openSession({ store, owner: 'ann', ttlMs: 1_000 });
  const outcome = await session.acquire(KEY);
  assert.ok(outcome.kind === 'acquired');
  const { lease } = outcome;
  const lost = new Promise<number>((resolve) => {
    lease.signal.addEventListener('abort', () => resolve(performance.now()));
  });
  proxy.mute();
  const mutedAt = performance.now();
  // The coordinator goes on renewing the session: only the replies are gone.
  const lostAfterMs = (await lost) - mutedAt;
  assert.ok(lostAfterMs <= 1_000, `authority lasted ${lostAfterMs} ms`);
  assert.throws(() => lease.assertHeld(0));
  const [stored] = await behind.leases.list({ limit: 1 });
  assert.equal(stored?.state, 'held', 'the store still keeps the key for it');
  proxy.restore();
  proxy.cut();
  proxy.restore();
  const back = await rejoined(lease);
  assert.equal(back.kind, 'rejoined');
  await session.close();
  await store.close();
  await proxy.close();
  await behind.close();
});

type Lease = Extract<
  Awaited<ReturnType<Awaited<ReturnType<typeof openSession>>['acquire']>>,
  { kind: 'acquired' }
>['lease'];

/** Repeats until the store has replied. */
async function rejoined(lease: Lease): Promise<Awaited<ReturnType<Lease['rejoin']>>> {
  for (;;) {
    const outcome = await lease.rejoin();
    if (outcome.kind !== 'unknown' && outcome.kind !== 'unavailable') return outcome;
  }
}
