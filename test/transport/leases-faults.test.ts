// Sessions and leases through a coordinator whose messages are lost, doubled and late, and through a
// proxy that swallows replies and cuts connections.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultyTransport, type TransportFault } from '../../contract/testing/faulty-transport.ts';
import { openSession, parseLeaseKey } from '../../src/index.ts';
import type { Transport } from '../../src/protocol/messages/envelope.ts';
import { openServer, type Server } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { seededRandom } from '../../src/support/random.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { transportTo } from '../../src/worker/connection.ts';
import { grpcTransport } from '../../src/worker/grpc-transport.ts';
import { openCoordinator } from '../../src/worker/open-coordinator.ts';
import { startProxy, through } from '../services/proxy.ts';
import { runSeed } from '../services/tier.ts';

const FAULTS: readonly TransportFault[] = ['lost', 'reply-lost', 'doubled', 'held'];
const CLIENTS = 3;
const ROUNDS = 15;
const KEY = parseLeaseKey('counter');

const OPEN = { port: 0, grpc: { port: 0 }, auth: 'off', maintenance: false } as const;

/** One message in each run of so many has a fault, so every client meets enough faults with any seed. */
const RUN = 4;

type Open = (server: Server, port?: number) => Promise<Transport>;

/** The ways to a coordinator, directly or through a proxy of its port. */
const WAYS: Readonly<Record<string, Open>> = {
  REST: async ({ url }, port) => transportTo({ url: onPort(url, port), stream: false }),
  'the stream': async ({ url }, port) => transportTo({ url: onPort(url, port) }),
  gRPC: async ({ grpcAddress = '' }, port) =>
    grpcTransport({ address: new URL(onPort(`http://${grpcAddress}`, port)).host }),
};

function onPort(url: string, port: number | undefined): string {
  return port === undefined ? url : through(url, { port });
}

for (const [name, open] of Object.entries(WAYS)) {
  test(`M-38, P1, P3: no update is lost and no term overlaps while messages over ${name} are lost, doubled and late`, () =>
    playWithFaults(open));
  test(`M-38: swallowed replies over ${name} shorten authority, and never extend it`, () =>
    swallowReplies(open));
}

async function playWithFaults(open: Open): Promise<void> {
  const behind = openMemoryStore();
  await using server = await openServer({ store: behind, ...OPEN });
  let holding = 0;
  const fences: number[] = [];
  const play = async (nth: number): Promise<void> => {
    const random = seededRandom(runSeed() + nth);
    const inner = await open(server);
    let messages = 0;
    let faultyAt = 0;
    const transport = faultyTransport(inner, (count, kind) => {
      // The first two messages open the store.
      if (count <= 2 || kind === 'waitForLeaseHint') return undefined;
      const place = messages++ % RUN;
      if (place === 0) faultyAt = Math.floor(random.next() * RUN);
      if (place !== faultyAt) return undefined;
      return FAULTS[Math.floor(random.next() * FAULTS.length)];
    });
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
    // A round sends at least two messages: a new grant also answers a release whose reply was lost.
    assert.ok(transport.faults >= Math.floor((ROUNDS * 2) / RUN), `${transport.faults} faults`);
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
}

async function swallowReplies(open: Open): Promise<void> {
  const behind = openMemoryStore();
  await using server = await openServer({ store: behind, ...OPEN });
  const address = open === WAYS['gRPC'] ? `http://${server.grpcAddress}` : server.url;
  const proxy = await startProxy(Number(new URL(address).port));
  const store = await openCoordinator({ transport: await open(server, proxy.port) });
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
}

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
