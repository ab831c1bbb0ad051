import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FaultyStore, faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { seededRandom } from '../support/random.ts';
import { type Election, elect } from './elect.ts';
import type { Term } from './run-term.ts';

const TTL_MS = 9_000;

interface Candidate {
  readonly election: Election;
  readonly led: number[];
}

function stand(
  world: { readonly clock: ManualClock; readonly faulty: FaultyStore },
  owner: string,
  work?: (term: Term) => Promise<void>,
): Candidate {
  const led: number[] = [];
  const untilAborted = async ({ lease, signal }: Term): Promise<void> => {
    led.push(lease.fence);
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  };
  const election = elect(
    {
      store: world.faulty.store,
      owner,
      name: 'scheduler',
      ttlMs: TTL_MS,
      clock: world.clock,
      timers: world.clock.timers,
      random: seededRandom(owner.length),
    },
    work ?? untilAborted,
  );
  return { election, led };
}

function makeWorld(): { readonly clock: ManualClock; readonly faulty: FaultyStore } {
  const clock = new ManualClock();
  return { clock, faulty: faultyStore(openMemoryStore({ clock })) };
}

test('one candidate leads, the others stand by, and a stop hands the lead on at once', async () => {
  const world = makeWorld();
  const ann = stand(world, 'ann');
  await world.clock.advance(100);
  const bob = stand(world, 'bobby');
  await world.clock.advance(1_000);
  assert.deepEqual([ann.election.state, bob.election.state], ['leading', 'standby']);
  const stopping = ann.election.stop();
  await world.clock.advance(100);
  await stopping;
  assert.deepEqual([ann.election.state, bob.election.state], ['stopped', 'leading']);
  assert.ok((bob.led[0] ?? 0) > (ann.led[0] ?? 0), 'with a higher fence');
  const ending = bob.election.stop();
  await world.clock.advance(100);
  await ending;
});

test('L-7: a leader’s work ends before the lead is given up', async () => {
  const world = makeWorld();
  const order: string[] = [];
  const ann = stand(world, 'ann', async ({ signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await world.clock.timers.pause(2_000);
    order.push('ann stopped');
  });
  await world.clock.advance(100);
  const bob = stand(world, 'bobby', async ({ signal }) => {
    order.push('bob leads');
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  });
  await world.clock.advance(1_000);
  const stopping = ann.election.stop();
  await world.clock.advance(3_000);
  await stopping;
  assert.deepEqual(order, ['ann stopped', 'bob leads']);
  const ending = bob.election.stop();
  await world.clock.advance(100);
  await ending;
});

test('L-7: a leader whose work does not stop lets its lease expire instead of handing it on', async () => {
  const world = makeWorld();
  const ann = stand(world, 'ann', () => new Promise(() => undefined));
  await world.clock.advance(100);
  const bob = stand(world, 'bobby');
  await world.clock.advance(1_000);
  const stopping = ann.election.stop();
  await world.clock.advance(5_000);
  await stopping;
  assert.equal(bob.election.state, 'standby', 'no candidate leads while the work may run');
  await world.clock.advance(TTL_MS);
  assert.equal(bob.election.state, 'leading');
  assert.equal(bob.election.lease?.predecessor.exit, 'expired');
  const ending = bob.election.stop();
  await world.clock.advance(100);
  await ending;
});

test('a candidate that lost its session stands again with a new one', async () => {
  const world = makeWorld();
  const ann = stand(world, 'ann');
  await world.clock.advance(100);
  world.faulty.failAll('unavailable');
  await world.clock.advance(2 * TTL_MS);
  world.faulty.heal();
  await world.clock.advance(TTL_MS);
  assert.equal(ann.election.state, 'leading');
  assert.equal(ann.led.length, 2);
  const ending = ann.election.stop();
  await world.clock.advance(100);
  await ending;
});

test('A-7: a standby that waits asks rarely, where hints reach it', async () => {
  const world = makeWorld();
  const ann = stand(world, 'ann');
  await world.clock.advance(100);
  const bob = stand(world, 'bobby');
  await world.clock.advance(1_000);
  const before = world.faulty.calls.get('leases.acquire') ?? 0;
  await world.clock.advance(100_000);
  const asked = (world.faulty.calls.get('leases.acquire') ?? 0) - before;
  assert.ok(asked <= 40, `asked ${asked} times in 100 s`);
  const ending = Promise.all([ann.election.stop(), bob.election.stop()]);
  await world.clock.advance(1_000);
  await ending;
});
