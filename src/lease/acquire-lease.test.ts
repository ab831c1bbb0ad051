import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FaultyStore, faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { InvalidInput } from '../support/fault.ts';
import { seededRandom } from '../support/random.ts';
import { openSession, type Session } from './live-session.ts';
import { parseLeaseKey } from './names.ts';

const KEY = parseLeaseKey('shard/3');

interface World {
  readonly clock: ManualClock;
  readonly faulty: FaultyStore;
  open(owner: string): Promise<Session>;
}

function makeWorld(): World {
  const clock = new ManualClock();
  const faulty = faultyStore(openMemoryStore({ clock }));
  let seed = 0;
  const open = (owner: string): Promise<Session> => {
    seed += 1;
    const random = seededRandom(seed);
    return openSession({ store: faulty.store, owner, clock, timers: clock.timers, random });
  };
  return { clock, faulty, open };
}

test('A-7: without wait the answer comes at once and names the holder', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const bob = await world.open('bob');
  await ann.acquire(KEY);
  const got = await bob.acquire(KEY);
  assert.ok(got.kind === 'refused' && got.why === 'held');
  assert.equal(got.holder.owner, 'ann');
});

test('A-7: a waiter gets the key when it is released, before its next poll', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const bob = await world.open('bob');
  const held = await ann.acquire(KEY);
  assert.ok(held.kind === 'acquired');
  const waiting = bob.acquire(KEY, { wait: true, pollMs: 3_600_000 });
  await world.clock.settle();
  await held.lease.release('yielded');
  await world.clock.settle();
  const got = await waiting;
  assert.ok(got.kind === 'acquired');
  assert.ok(got.lease.fence > held.lease.fence);
  assert.equal(got.lease.predecessor.exit, 'yielded');
});

test('A-7: a cancelled waiter leaves the queue', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const bob = await world.open('bob');
  await ann.acquire(KEY);
  const cancel = new AbortController();
  const waiting = bob.acquire(KEY, { wait: true, signal: cancel.signal });
  await world.clock.settle();
  assert.equal((await world.faulty.store.leases.inspect(KEY)).waiting, 1);
  cancel.abort();
  assert.equal((await waiting).kind, 'cancelled');
  assert.equal((await world.faulty.store.leases.inspect(KEY)).waiting, 0);
});

test('A-7: a waiter that reaches its time limit gets the holder’s name', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const bob = await world.open('bob');
  await ann.acquire(KEY);
  const waiting = bob.acquire(KEY, { wait: true, timeoutMs: 5_000 });
  await world.clock.advance(6_000);
  const got = await waiting;
  assert.ok(got.kind === 'timed-out' && got.refusal?.why === 'held');
  assert.equal((await world.faulty.store.leases.inspect(KEY)).waiting, 0);
});

test('A-3: when the answer to an acquire is lost, a repeat returns the same term', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  world.faulty.fail('leases.acquire', 'lost-answer');
  const acquiring = ann.acquire(KEY);
  await world.clock.advance(1_000);
  const got = await acquiring;
  assert.ok(got.kind === 'acquired');
  const record = (await world.faulty.store.leases.inspect(KEY)).record;
  assert.equal(record?.fence, got.lease.fence);
  assert.equal(record?.rev, 1, 'granted once');
});

test('U-1: a grant that arrives after its caller gave up is given back', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  world.faulty.fail('leases.acquire', 'hung-before', 99);
  const acquiring = ann.acquire(KEY);
  await world.clock.advance(30_000);
  assert.equal((await acquiring).kind, 'unknown');
  world.faulty.heal();
  world.faulty.unhang();
  await world.clock.settle();
  assert.equal(
    (await world.faulty.store.leases.inspect(KEY)).state,
    'held',
    'granted without a handle',
  );
  await world.clock.advance(10_000);
  const after = await world.faulty.store.leases.inspect(KEY);
  assert.equal(after.state, 'free');
  assert.equal(after.record?.end?.exit, 'abandoned');
});

test('A-5: a grant that comes with too little authority left is given back', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const got = await ann.acquire(KEY, { authorityMsMin: 60_000 });
  assert.equal(got.kind, 'granted-too-late');
  const after = await world.faulty.store.leases.inspect(KEY);
  assert.equal(after.state, 'free');
});

test('A-4: a session that acquires a key twice does not get it twice', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  await ann.acquire(KEY);
  const again = await ann.acquire(KEY);
  assert.ok(again.kind === 'refused' && again.why === 'held');
});

test('A-8: bad keys and options are refused before anything is sent', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const before = world.faulty.calls.get('leases.acquire') ?? 0;
  await assert.rejects(() => ann.acquire(''), InvalidInput);
  await assert.rejects(() => ann.acquire('k'.repeat(513)), /at most 512 bytes/);
  const slip = { timoutMs: 5 } as object;
  await assert.rejects(() => ann.acquire(KEY, slip), /Did you mean "timeoutMs"/);
  await assert.rejects(() => ann.acquire(KEY, { tenureMsMax: -1 }), /between 0 and/);
  await assert.rejects(() => ann.acquire(KEY, { timeoutMs: 5 }), /it needs wait: true/);
  assert.equal(world.faulty.calls.get('leases.acquire') ?? 0, before);
});

test('K-2: checkpoints are sent in order, and a lost answer is repeated with the same seq', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const got = await ann.acquire(KEY);
  assert.ok(got.kind === 'acquired');
  world.faulty.fail('leases.checkpoint', 'lost-answer');
  const first = got.lease.checkpoint('one');
  const second = got.lease.checkpoint('two');
  await world.clock.advance(1_000);
  assert.equal((await first).kind, 'saved');
  assert.equal((await second).kind, 'saved');
  const stored = (await world.faulty.store.leases.inspect(KEY)).record?.checkpoint;
  assert.equal(stored?.seq, 2);
  assert.equal(Buffer.from(stored?.bytes ?? []).toString(), 'two');
});

test('K-6: an intent counts as begun only when the store has confirmed it', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const got = await ann.acquire(KEY);
  assert.ok(got.kind === 'acquired');
  world.faulty.fail('leases.beginIntent', 'unavailable');
  const beginning = got.lease.intent('charge/1');
  await world.clock.advance(1_000);
  assert.equal((await beginning).kind, 'begun');
  assert.equal((await got.lease.settle('charge/1')).kind, 'settled');
});

test('L-7: release waits for the checkpoint under way, so the successor finds it', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const got = await ann.acquire(KEY);
  assert.ok(got.kind === 'acquired');
  const order: string[] = [];
  const { lease } = got;
  const saving = lease.checkpoint('last word').then((result) => order.push(result.kind));
  const releasing = lease.release('finished').then((result) => order.push(result.kind));
  await Promise.all([saving, releasing]);
  assert.deepEqual(order, ['saved', 'released']);
  const record = (await world.faulty.store.leases.inspect(KEY)).record;
  assert.equal(record?.checkpoint?.seq, 1);
  assert.equal(record?.end?.exit, 'finished');
});

test('U-1: a release that finds the store away and the session lapsed is done when the store is back', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const got = await ann.acquire(KEY);
  assert.ok(got.kind === 'acquired');
  world.faulty.failAll('unavailable');
  const releasing = got.lease.release('finished');
  await world.clock.advance(13_000);
  assert.equal((await releasing).kind, 'unavailable');
  world.faulty.heal();
  await world.clock.advance(1_500);
  const after = await world.faulty.store.leases.inspect(KEY);
  assert.equal(after.state, 'free');
  assert.equal(after.record?.end?.exit, 'finished');
  assert.ok(ann.remainingMs() > 0, 'the session goes on');
});

test('U-1: a lapsed term that is not rejoined can be given up, so that others get the key', async () => {
  const world = makeWorld();
  const ann = await world.open('ann');
  const bob = await world.open('bob');
  const got = await ann.acquire(KEY);
  assert.ok(got.kind === 'acquired');
  world.faulty.fail('sessions.heartbeat', 'unavailable', 40);
  await world.clock.advance(12_500);
  assert.equal(got.lease.signal.reason.by, 'lapsed');
  assert.equal((await got.lease.release('abandoned')).kind, 'not-held');
  world.faulty.heal();
  await world.clock.advance(6_000);
  assert.equal((await bob.acquire(KEY)).kind, 'acquired');
});

test('K-3: a checkpoint that is not a string or bytes is refused, not stored as nothing', async () => {
  const world = makeWorld();
  const got = await (await world.open('ann')).acquire(KEY);
  assert.ok(got.kind === 'acquired');
  const { lease } = got;
  const object = { paid: 3 } as unknown as string;
  assert.throws(() => lease.checkpoint(object), /JSON.stringify it first/);
});

test('L-2: releasing a lease again, as in a finally, returns released', async () => {
  const world = makeWorld();
  const got = await (await world.open('ann')).acquire(KEY);
  assert.ok(got.kind === 'acquired');
  assert.deepEqual(await got.lease.release('finished'), { kind: 'released', replayed: false });
  assert.deepEqual(await got.lease.release('abandoned'), { kind: 'released', replayed: true });
});
