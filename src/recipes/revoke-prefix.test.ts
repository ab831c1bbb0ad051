import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../contract/testing/manual-clock.ts';
import { openSession } from '../lease/live-session.ts';
import { openMemoryStore } from '../store/sqlite/open-memory.ts';
import { type RevokeProgress, revokePrefix } from './revoke-prefix.ts';

const operation = { prefix: 'tenant-7/', actor: 'olga', reason: 'contract ended' };

test('H-3: all leases under a prefix are revoked page by page, and a stopped run can continue', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const session = await openSession({ store, owner: 'ann', clock, timers: clock.timers });
  for (let number = 10; number < 35; number += 1) await session.acquire(`tenant-7/${number}`);
  await session.acquire('tenant-8/1');

  let progressed: RevokeProgress | undefined;
  for await (const progress of revokePrefix({ ...operation, store, pageSize: 10 })) {
    progressed = progress;
    break;
  }
  assert.equal(progressed?.ended, 10);
  const pages: RevokeProgress[] = [];
  const after = progressed?.after ?? '';
  for await (const page of revokePrefix({ ...operation, store, pageSize: 10, after }))
    pages.push(page);
  assert.deepEqual(
    pages.map(({ ended }) => ended),
    [10, 15],
  );
  const left = (await store.leases.list({ limit: 100 })).filter(({ state }) => state === 'held');
  assert.deepEqual(
    left.map(({ key }) => key),
    ['tenant-8/1'],
  );
  await session.close();
});

test('H-3: with drainMs holders are drained instead', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const session = await openSession({ store, owner: 'ann', clock, timers: clock.timers });
  await session.acquire('tenant-7/1');
  for await (const { ended, drained } of revokePrefix({ ...operation, store, drainMs: 60_000 })) {
    assert.deepEqual({ ended, drained }, { ended: 0, drained: 1 });
  }
  assert.equal((await store.leases.list({ limit: 1 }))[0]?.state, 'draining');
  await session.close();
});
