// Work that waits lets others go on: what only the memory store must look out for.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  endSessionOf,
  kindsOf,
  mustClaim,
  mustRecord,
  running,
  step,
  transacting,
  worker,
} from '../../../testing/execution-contract/worker.ts';
import { ManualClock } from '../../../testing/manual-clock.ts';
import { openMemoryStore } from '../open.ts';

test('X-23: what lost its claim while its work waited writes nothing', async () => {
  const store = openMemoryStore({ clock: new ManualClock() });
  const ann = await worker(store);
  const held = await running(store, ann);
  const bob = await worker(store, 'bob');
  const answer = await store.executions.transact(
    transacting(held, async () => {
      await endSessionOf(store, ann);
      await mustClaim(store, bob, held.id);
    }),
  );
  assert.ok(answer.kind === 'refused' && answer.why === 'superseded', JSON.stringify(answer));
  assert.deepEqual(await kindsOf(store, held.id), ['submitted', 'claimed', 'claimed']);
});

test('X-23: a write of the same owner that came first takes the seq', async () => {
  const store = openMemoryStore({ clock: new ManualClock() });
  const held = await running(store, await worker(store));
  const answer = await store.executions.transact(
    transacting(held, async () => mustRecord(store, held, step('pay')), step('pay')),
  );
  assert.ok(answer.kind === 'refused' && answer.why === 'seq-taken', JSON.stringify(answer));
});
