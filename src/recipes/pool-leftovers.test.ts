import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import type { KernelStore } from '../lease/port.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { seededRandom } from '../support/random.ts';
import { type Pool, type PoolTerm, pool } from './pool.ts';

const TTL_MS = 3_000;
const KEYS = ['k1', 'k2'];
const FLAP_UNIT_MS = 60_000;

const untilAborted = async ({ signal }: PoolTerm): Promise<void> => {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
};

let seed = 0;

function join(
  world: { readonly clock: ManualClock; readonly store: KernelStore },
  owner: string,
  keys: readonly string[] = KEYS,
): Pool {
  const { clock, store } = world;
  seed += 1;
  const random = seededRandom(seed);
  const time = { clock, timers: clock.timers, random };
  return pool(
    { store, owner, ttlMs: TTL_MS, name: 'p', keys, settleMs: 50, ...time },
    untilAborted,
  );
}

test('P4: a key whose member is damped is worked on by another, and shared again later', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock, policy: { flapUnitMs: FLAP_UNIT_MS } });
  const bob = join({ clock, store }, 'bob');
  await clock.advance(500);
  for (let life = 0; life < 4; life += 1) {
    const faulty = faultyStore(store);
    const ann = join({ clock, store: faulty.store }, 'ann');
    await clock.advance(2 * TTL_MS);
    faulty.failAll('unavailable');
    await clock.advance(2 * TTL_MS);
    void ann.stop();
  }
  const ann = join({ clock, store }, 'ann');
  await clock.advance(4 * TTL_MS);
  const missing = (): readonly string[] =>
    KEYS.filter((key) => !ann.held.includes(key) && !bob.held.includes(key));
  let longestMs = 0;
  let withoutMs = 0;
  for (let atMs = 0; atMs < 4 * FLAP_UNIT_MS; atMs += 100) {
    await clock.advance(100);
    withoutMs = missing().length > 0 ? withoutMs + 100 : 0;
    longestMs = Math.max(longestMs, withoutMs);
  }
  assert.ok(longestMs <= TTL_MS + 2_000, `a key had no worker for ${longestMs} ms`);
  assert.deepEqual([ann.held.length, bob.held.length], [1, 1], 'equal again once she may');
  const stopping = Promise.all([ann.stop(), bob.stop()]);
  await clock.advance(2_000);
  await stopping;
});

test('a member that was slow to take a key has its share seconds later', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock, policy: { flapUnitMs: FLAP_UNIT_MS } });
  const bob = join({ clock, store }, 'bob');
  await clock.advance(500);
  const faulty = faultyStore(store);
  faulty.failBy((verb) => (verb === 'leases.acquire' ? 'unavailable' : undefined));
  const ann = join({ clock, store: faulty.store }, 'ann');
  await clock.advance(2 * TTL_MS);
  assert.deepEqual(bob.held, KEYS, 'bob gave one up and took it again, because ann did not');
  faulty.heal();
  await clock.advance(5 * TTL_MS);
  assert.deepEqual([ann.held.length, bob.held.length], [1, 1]);
  const stopping = Promise.all([ann.stop(), bob.stop()]);
  await clock.advance(2_000);
  await stopping;
});

test('P4: a key that only some members know of is worked on', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const ann = join({ clock, store }, 'ann', ['k1']);
  const bob = join({ clock, store }, 'bobby', ['k1', 'k2', 'k3', 'k4']);
  await clock.advance(10 * TTL_MS);
  assert.deepEqual([...ann.held, ...bob.held].sort(), ['k1', 'k2', 'k3', 'k4']);
  const stopping = Promise.all([ann.stop(), bob.stop()]);
  await clock.advance(2_000);
  await stopping;
});

test('A-8: texts with one Unicode composed form are one key of the pool', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const options = { store, owner: 'ann', ttlMs: TTL_MS, clock, timers: clock.timers };
  const failing = { ...options, name: 'caf\u00e9', keys: ['y'], isPermanent: () => true };
  const first = pool(failing, async () => {
    throw new RangeError('never');
  });
  await clock.advance(1_000);
  const keys = ['e\u0301', '\u00e9', 'x', 'y'];
  const second = pool({ ...options, owner: 'bob', name: 'cafe\u0301', keys }, untilAborted);
  const stoppingFirst = first.stop();
  await clock.advance(20_000);
  await stoppingFirst;
  assert.deepEqual(second.held, ['x', '\u00e9']);
  assert.deepEqual(
    second.dropped,
    ['y'],
    'a key that another member retired is listed by its name',
  );
  const stopping = second.stop();
  await clock.advance(2_000);
  await stopping;
});
