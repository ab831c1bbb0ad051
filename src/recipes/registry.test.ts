import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultyStore } from '../../contract/testing/faulty-store.ts';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { type MemberChange, registry } from './registry.ts';

const TTL_MS = 10_000;

test('members are live, suspect while they are late, and gone', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const nodes = registry({ store, service: 'nodes', timers: clock.timers });
  const options = { ttlMs: TTL_MS, clock, timers: clock.timers };
  const one = await nodes.register({ ...options, owner: 'one', metadata: { zone: 'a' } });
  const two = await nodes.register({ ...options, owner: 'two' });
  const other = registry({ store, service: 'others', timers: clock.timers });
  await other.register({ ...options, owner: 'stranger' });

  const changes: MemberChange[] = [];
  const stop = new AbortController();
  const watching = (async () => {
    for await (const change of nodes.watch({ signal: stop.signal })) changes.push(change);
  })();
  await clock.advance(100);
  assert.deepEqual(
    (await nodes.list()).map(({ owner, state, metadata }) => [owner, state, metadata]),
    [
      ['one', 'live', { zone: 'a' }],
      ['two', 'live', {}],
    ],
  );
  await two.orphan();
  await clock.advance(9_500);
  assert.equal((await nodes.list()).find(({ owner }) => owner === 'two')?.state, 'suspect');
  await clock.advance(2_000);
  await store.sessions.sweep({ limit: 10 });
  assert.equal(
    (await nodes.list({ gone: true })).find(({ owner }) => owner === 'two')?.state,
    'gone',
  );
  await clock.advance(1_500);
  await one.close();
  await clock.advance(2_000);
  stop.abort();
  await clock.advance(10);
  await watching;
  assert.deepEqual(
    changes.map(({ kind, member }) => `${member.owner} ${kind}`),
    ['one joined', 'two joined', 'two suspect', 'two gone', 'one gone'],
  );
});

test('E-8: when most members go silent at once they stay suspect, and are gone after a bound', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock, policy: { breakerHoldMs: 15_000 } });
  const nodes = registry({ store, service: 'nodes', timers: clock.timers });
  const options = { ttlMs: TTL_MS, clock, timers: clock.timers };
  for (let number = 0; number < 12; number += 1) {
    const node = await nodes.register({ ...options, owner: `node-${number}` });
    await node.orphan();
  }
  await clock.advance(TTL_MS);
  await store.sessions.sweep({ limit: 100 });
  const states = (await nodes.list()).map(({ state }) => state);
  assert.deepEqual(new Set(states), new Set(['suspect']));
  await clock.advance(15_000);
  await store.sessions.sweep({ limit: 100 });
  assert.deepEqual(await nodes.list(), []);
});

for (const fault of ['unavailable', 'lost-answer'] as const) {
  test(`a watch continues when its own sweep is answered "${fault}"`, async () => {
    const clock = new ManualClock();
    const faulty = faultyStore(openMemoryStore({ clock }));
    const nodes = registry({ store: faulty.store, service: 'nodes', timers: clock.timers });
    const one = await nodes.register({ owner: 'one', ttlMs: TTL_MS, clock, timers: clock.timers });
    const changes: string[] = [];
    const stop = new AbortController();
    const watching = (async () => {
      for await (const { kind } of nodes.watch({ signal: stop.signal })) changes.push(kind);
    })();
    await clock.advance(100);
    faulty.fail('sessions.sweep', fault);
    await one.orphan();
    await clock.advance(2 * TTL_MS);
    assert.deepEqual(changes, ['joined', 'suspect', 'gone']);
    stop.abort();
    await clock.advance(10);
    await watching;
  });
}
