import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FaultyStore, faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openSession, type Session } from '../lease/live-session.ts';
import { parseLeaseKey, parseRequestId } from '../lease/names.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import type { Overrun } from './run-term.ts';
import { withLease } from './with-lease.ts';

const KEY = parseLeaseKey('subscription/9');
const TTL_MS = 10_000;

interface World {
  readonly clock: ManualClock;
  readonly faulty: FaultyStore;
  /** The kinds of the observer's reports. */
  readonly kinds: readonly string[];
  open(owner: string): Promise<Session>;
}

function makeWorld(): World {
  const clock = new ManualClock();
  const faulty = faultyStore(openMemoryStore({ clock }));
  const kinds: string[] = [];
  const open = (owner: string): Promise<Session> =>
    openSession({
      store: faulty.store,
      owner,
      ttlMs: TTL_MS,
      clock,
      timers: clock.timers,
      observer: { report: ({ kind }) => kinds.push(kind) },
    });
  return { clock, faulty, kinds, open };
}

test('A-2: the next holder gets exit, checkpoint and unsettled intents of the one before', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  await assert.rejects(
    withLease({ session: ann, key: KEY }, async ({ lease }) => {
      await lease.intent('cancel/9');
      await lease.checkpoint('asked the provider');
      throw new Error('provider is down');
    }),
    /provider is down/,
  );
  const done = await withLease({ session: ann, key: KEY }, async ({ lease }) => {
    assert.equal(lease.predecessor.exit, 'failed');
    assert.equal(lease.predecessor.cause, 'Error: provider is down');
    assert.equal(Buffer.from(lease.restored?.bytes ?? []).toString(), 'asked the provider');
    assert.deepEqual(
      lease.intents.map(({ effect }) => effect),
      ['cancel/9'],
    );
    await lease.settle('cancel/9');
    return 'cancelled';
  });
  assert.ok(done.kind === 'done' && done.value === 'cancelled');
  assert.equal((await world.faulty.store.leases.inspect(KEY)).record?.end?.exit, 'finished');
});

test('L-7: the lease is released only after the work has stopped', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const order: string[] = [];
  const running = withLease({ session: ann, key: KEY }, async ({ lease, signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    order.push(`told, ${(await world.faulty.store.leases.inspect(KEY)).state}`);
    await world.clock.timers.pause(1_000);
    order.push(`stopped, ${(await world.faulty.store.leases.inspect(KEY)).state}`);
    await lease.checkpoint('at a safe point');
  });
  await world.clock.settle();
  const { record } = await world.faulty.store.leases.inspect(KEY);
  assert.ok(record !== undefined);
  await world.faulty.store.leases.requestDrain({
    key: KEY,
    fence: record.fence,
    request: parseRequestId('00000000-0000-4000-8000-000000000009'),
    actor: 'olga',
    reason: 'deploy',
    deadlineMs: 30_000,
  });
  await world.clock.advance(6_000);
  assert.equal((await running).kind, 'done');
  assert.deepEqual(order, ['told, draining', 'stopped, draining']);
  const after = await world.faulty.store.leases.inspect(KEY);
  assert.equal(after.record?.end?.exit, 'yielded');
});

test('overrun is measured from the end of authority to the end of the work', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const overruns: Overrun[] = [];
  const running = withLease(
    {
      session: ann,
      key: KEY,
      clock: world.clock,
      timers: world.clock.timers,
      onOverrun: (overrun) => overruns.push(overrun),
    },
    async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      await world.clock.timers.pause(1_500);
    },
  );
  await world.clock.settle();
  world.faulty.failAll('unavailable');
  await world.clock.advance(TTL_MS + 2_000);
  const outcome = await running;
  assert.ok(outcome.kind === 'lost');
  assert.equal(outcome.reason.by, 'lapsed');
  assert.deepEqual(
    overruns.map(({ ms, settled }) => [Math.round(ms), settled]),
    [[1_500, true]],
  );
  await world.clock.settle();
  assert.ok(world.kinds.includes('overrun'), 'the observer gets a report too');
});

test('work that does not stop is reported as still running, and when it ends', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const { clock } = world;
  const overruns: Overrun[] = [];
  const onOverrun = (overrun: Overrun): unknown => overruns.push(overrun);
  let finish = (): void => undefined;
  const running = withLease(
    { session: ann, key: KEY, settleMs: 1_000, timers: clock.timers, clock, onOverrun },
    () =>
      new Promise<void>((resolve) => {
        finish = resolve;
      }),
  );
  await world.clock.settle();
  world.faulty.failAll('unavailable');
  await world.clock.advance(TTL_MS + 2_000);
  const outcome = await running;
  assert.ok(outcome.kind === 'lost' && outcome.running !== undefined);
  await world.clock.advance(3_000);
  finish();
  await outcome.running;
  await world.clock.settle();
  const [first, last] = overruns;
  assert.deepEqual([first?.settled, last?.settled, overruns.length], [false, true, 2]);
  assert.equal(Math.round(first?.ms ?? 0), 1_000);
  assert.ok((last?.ms ?? 0) >= 4_000, `until it stopped: ${last?.ms} ms`);
  assert.equal(world.kinds.filter((kind) => kind === 'overrun').length, 2);
});

test('an acquire of a held key returns at once, unless the caller waits', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const bob = await world.open('bob');
  await ann.acquire(KEY);
  const outcome = await withLease({ session: bob, key: KEY }, async () => assert.fail('ran'));
  assert.ok(outcome.kind === 'refused' && outcome.why === 'held');
});
