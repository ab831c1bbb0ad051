import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { InvalidInput, StoreCorrupt } from '../support/fault.ts';
import { openSession } from './live-session.ts';
import { type Watched, watchLeases } from './watch.ts';

const TTL_MS = 60_000;

test('O-1: a watcher survives an outage of the store, and misses nothing', async () => {
  const clock = new ManualClock();
  const { timers } = clock;
  const inner = openMemoryStore({ clock });
  const faulty = faultyStore(inner);
  const seen: Watched[] = [];
  const outages: string[] = [];
  const stop = new AbortController();
  const options = { signal: stop.signal, timers, pollMs: 1_000 };
  const watching = (async () => {
    const onOutage = (fault: Error): unknown => outages.push(fault.name);
    const watched = watchLeases(faulty.store, { ...options, onOutage });
    for await (const event of watched) seen.push(event);
  })();
  const session = await openSession({ store: inner, owner: 'ann', ttlMs: TTL_MS, clock, timers });
  await clock.advance(2_000);
  faulty.fail('leases.events', 'lost-answer', 2);
  faulty.fail('leases.events', 'unavailable', 2);
  const got = await session.acquire('k');
  assert.ok(got.kind === 'acquired');
  await clock.advance(2_000);
  await got.lease.release('finished');
  await clock.advance(5_000);
  stop.abort();
  await clock.advance(10);
  await watching;
  assert.deepEqual(
    seen.map(({ kind }) => kind),
    ['session-opened', 'acquired', 'ended'],
  );
  assert.deepEqual(outages, [
    ...['OutcomeUnknown', 'OutcomeUnknown', 'StoreUnavailable', 'StoreUnavailable'],
  ]);
  await session.close();
});

test('O-1: an error other than an outage ends a watcher', async () => {
  const store = openMemoryStore({ clock: new ManualClock() });
  const events = (): Promise<never> => Promise.reject(new StoreCorrupt('broken'));
  const watched = watchLeases({ ...store, leases: { ...store.leases, events } });
  await assert.rejects(watched.next(), StoreCorrupt);
});

test('a watcher with impossible options is refused', async () => {
  const store = openMemoryStore({ clock: new ManualClock() });
  assert.throws(() => watchLeases(undefined as never), InvalidInput);
  assert.throws(() => watchLeases(store, { after: 'x' as never }), InvalidInput);
  assert.throws(() => watchLeases(store, { onOutage: 1 as never }), InvalidInput);
});
