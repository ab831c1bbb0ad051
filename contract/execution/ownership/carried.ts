// The executions that a session carries.

import assert from 'node:assert/strict';
import type { SessionId } from '../../../src/lease/names.ts';
import type { Claimed, CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  claimAll,
  endSessionOf,
  mustFinish,
  mustGiveBack,
  mustPark,
  mustRead,
  mustRecord,
  mustSubmit,
  running,
  step,
  worker,
} from '../worker.ts';

type CarriedBy = (
  session: SessionId,
  part?: { readonly after: number; readonly limit: number },
) => Promise<readonly Claimed[]>;

function reading(store: CoordinatorStore): CarriedBy {
  return (session, part = { after: 0, limit: 99 }) =>
    store.executions.carried({ session, ...part });
}

export const carriedCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-27',
    name: 'a session’s list of claims has its own executions, each as claimed and as it is now',
    async run({ store }) {
      const ann = await worker(store, 'ann');
      const carriedBy = reading(store);
      const bob = await worker(store, 'bob');
      const first = await running(store, ann);
      await mustGiveBack(store, first);
      for (let nth = 0; nth < 3; nth += 1) await mustSubmit(store);
      const claims = await claimAll(store, ann);
      assert.equal(claims.length, 4);
      await mustSubmit(store);
      const [his] = await claimAll(store, bob);
      const carried = await carriedBy(ann.id);
      const byFence = [...claims].sort((a, b) => a.fence - b.fence);
      assert.deepEqual(carried, byFence);
      assert.deepEqual(await carriedBy(bob.id), [his]);
      assert.equal(carried.filter(({ previous }) => previous === 'given-back').length, 1);
      const [, second] = byFence;
      const after = second?.fence ?? 0;
      assert.deepEqual(await carriedBy(ann.id, { after, limit: 1 }), byFence.slice(2, 3));
    },
  },
  {
    upholds: 'X-27, X-7',
    name: 'a session’s list of claims leaves out parked, finished and lost executions; the next owner lists those it took over',
    async run({ store }) {
      const ann = await worker(store, 'ann');
      const finished = await running(store, ann);
      await mustFinish(store, finished);
      const parked = await running(store, ann);
      await mustPark(store, parked);
      const kept = await running(store, ann);
      await mustRecord(store, kept, step('one'));
      const carriedBy = reading(store);
      const [only, ...others] = await carriedBy(ann.id);
      assert.deepEqual(others, []);
      assert.deepEqual(only?.execution, await mustRead(store, kept.id));
      assert.equal(only?.fence, kept.fence);
      await endSessionOf(store, ann);
      const bob = await worker(store, 'bob');
      const [taken] = await claimAll(store, bob);
      assert.equal(taken?.previous, 'lost');
      assert.deepEqual(await carriedBy(bob.id), [taken]);
      assert.deepEqual(await carriedBy(ann.id), []);
      const unknownSession = '00000000-0000-4000-8000-000000000000' as SessionId;
      assert.deepEqual(await carriedBy(unknownSession), []);
    },
  },
];
