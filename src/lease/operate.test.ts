import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { openSession } from './live-session.ts';
import { drainLease, revokeLease } from './operate.ts';

test('A-8: arguments of an operator are checked before anything is sent', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const session = await openSession({ store, owner: 'ann', clock, timers: clock.timers });
  const got = await session.acquire('k');
  assert.ok(got.kind === 'acquired');
  const { fence } = got.lease;
  const operation = { store, key: 'k', fence, actor: 'olga', reason: 'deploy' };
  const bad = [
    [{ deadlineMs: Number.NaN }, /deadlineMs must be a whole number/],
    [{ deadlineMs: -1 }, /between 0 and/],
    [{ deadlineMs: 1, fence: 1.5 }, /A fence must be the whole number/],
    [{ deadlineMs: 1, key: '' }, /must not be empty/],
    [{ deadlineMs: 1, reason: '' }, /reason must not be empty/],
    [{ deadlineMs: 1, deadlinMs: 5 }, /Did you mean "deadlineMs"/],
  ] as const;
  for (const [options, message] of bad) {
    await assert.rejects(drainLease({ ...operation, ...options }), message);
  }
  assert.equal((await store.leases.inspect(got.lease.key)).state, 'held');

  assert.equal((await drainLease({ ...operation, deadlineMs: 60_000 })).kind, 'draining');
  const request = '00000000-0000-4000-8000-0000000000aa';
  assert.deepEqual(await revokeLease({ ...operation, request }), {
    kind: 'revoked',
    replayed: false,
  });
  assert.deepEqual(await revokeLease({ ...operation, request }), {
    kind: 'revoked',
    replayed: true,
  });
  await session.close();
});
