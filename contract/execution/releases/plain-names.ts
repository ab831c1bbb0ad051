// Pinned executions are counted, found and archived under the name of their pipeline, like all
// others.

import assert from 'node:assert/strict';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { letter } from '../repair/repairing.ts';
import { ARCHIVED, mustRemove, removableIds } from '../retention/keeping.ts';
import {
  claimAll,
  claimIds,
  claiming,
  claimOnce,
  commanding,
  endSessionOf,
  mustFinish,
  mustSubmit,
  OTHER_PIPELINE,
  PIPELINE,
  PROJECT,
  worker,
} from '../worker.ts';
import { mustActivate, mustClaimOf, workerOf } from './releasing.ts';

const OF = { project: PROJECT, pipeline: PIPELINE, limit: 9 };
const ELSEWHERE = { ...OF, pipeline: OTHER_PIPELINE };

function idsIn(found: readonly { readonly id: string }[]): readonly string[] {
  return found.map(({ id }) => id);
}

export const plainNameCases: readonly ExecutionCase[] = [
  {
    upholds: 'RE-5, F-6, F-7',
    name: 'a pinned execution is archived under its pipeline’s name, and its release is removed with its rows',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      const id = await mustSubmit(store, { key: 'order-17', tags: ['vip'] });
      const held = await mustClaimOf(store, await workerOf(store, 'v1'), 'v1');
      await mustFinish(store, held);
      assert.deepEqual(await removableIds(store), [id]);
      await mustRemove(store, id, { archived: ARCHIVED });
      assert.equal((await executions.archived(id))?.pipeline, PIPELINE);
      for (const filter of [{}, { tag: 'vip' }, { words: ['order'] }]) {
        assert.deepEqual(idsIn(await executions.listArchived({ ...OF, ...filter })), [id]);
      }
      assert.deepEqual(await executions.listArchived(ELSEWHERE), []);
      assert.deepEqual((await executions.find(OF)).ids, []);
      assert.deepEqual(await executions.pinned(OF), []);
    },
  },
  {
    upholds: 'RE-5, X-40, X-41',
    name: 'pinned executions are counted with the others, ready and running',
    async run({ store }) {
      const { executions } = store;
      await mustSubmit(store);
      await mustActivate(store, 'v1');
      await mustSubmit(store);
      await mustSubmit(store, { lane: 'batch' });
      assert.deepEqual(await executions.depth({ max: 9 }), [
        { lane: 'interactive', ready: 2, running: 0 },
        { lane: 'batch', ready: 1, running: 0 },
      ]);
      const ann = await workerOf(store, 'v1');
      assert.equal((await claimAll(store, ann, { release: 'v1' })).length, 3);
      assert.deepEqual(await executions.depth({ max: 9 }), [
        { lane: 'interactive', ready: 0, running: 2 },
        { lane: 'batch', ready: 0, running: 1 },
      ]);
      const counted = await executions.inFlight({ sessions: [ann.id], project: PROJECT });
      assert.deepEqual(
        new Set(counted.map(({ lane, count }) => `${lane} ${count}`)),
        new Set(['interactive 2', 'batch 1']),
      );
    },
  },
  {
    upholds: 'RE-5',
    name: 'every list by pipeline has the pinned executions, whatever the other filters',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      const runs = await mustSubmit(store);
      await mustClaimOf(store, await workerOf(store, 'v1'), 'v1');
      const labels = { tags: ['vip'], attributes: { size: 3 } };
      const held = await mustSubmit(store, labels);
      expectKind(await executions.pause(commanding(held)), 'done');
      const filters = [
        [{ status: ['running'] }, [runs]],
        [{ status: ['queued'] }, [held]],
        [{ hold: 'paused' }, [held]],
        [{ hold: 'paused', status: ['queued'] }, [held]],
        [{ tag: 'vip' }, [held]],
        [{ attributes: [{ name: 'size', equals: 3 }] }, [held]],
        [{ attributes: [{ name: 'size', min: 1 }], hold: 'paused' }, [held]],
        [{}, [held, runs]],
      ] as const;
      for (const [filter, ids] of filters) {
        const about = JSON.stringify(filter);
        const { items } = await executions.list({ ...OF, ...filter });
        assert.deepEqual(idsIn(items), ids, about);
        for (const each of items) {
          assert.deepEqual([each.pipeline, each.release], [PIPELINE, 'v1'], about);
        }
        assert.deepEqual((await executions.find({ ...ELSEWHERE, ...filter })).ids, [], about);
      }
    },
  },
  {
    upholds: 'RE-5, Y-10',
    name: 'dead letters of pinned executions are found and grouped by their pipeline’s name',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      const failed = await mustSubmit(store);
      const ann = await workerOf(store, 'v1');
      const held = await mustClaimOf(store, ann, 'v1');
      await mustFinish(store, held, { status: 'failed', deadLetter: letter() });
      const found = await executions.deadLetters({ ...OF, open: true });
      assert.deepEqual(
        found.map(({ execution, pipeline, release }) => [execution, pipeline, release]),
        [[failed, PIPELINE, 'v1']],
      );
      const groups = await executions.deadLetterGroups({ project: PROJECT, open: true });
      assert.deepEqual(
        groups.map(({ pipeline, count }) => [pipeline, count]),
        [[PIPELINE, 1]],
      );
    },
  },
  {
    upholds: 'RE-9, X-7, X-11',
    name: 'a dead worker’s pinned execution is claimed first, and only by a worker of its release',
    async run({ store }) {
      await mustActivate(store, 'v1');
      const ann = await workerOf(store, 'v1', 'ann');
      const left = await mustSubmit(store);
      await mustClaimOf(store, ann, 'v1');
      const ready = await mustSubmit(store);
      await endSessionOf(store, ann);
      await mustActivate(store, 'v2');
      assert.deepEqual(await claimIds(store, await worker(store, 'cid')), []);
      const dan = await workerOf(store, 'v2', 'dan');
      assert.deepEqual(await claimAll(store, dan, { release: 'v2' }), []);
      const bob = await workerOf(store, 'v1', 'bob');
      const first = await claimOnce(store, { ...claiming(bob, 1), release: 'v1' });
      assert.deepEqual(
        first.claims.map(({ execution: { id, release }, previous }) => [id, release, previous]),
        [[left, 'v1', 'lost']],
      );
      const rest = await claimAll(store, bob, { release: 'v1' });
      assert.deepEqual(
        rest.map(({ execution }) => execution.id),
        [ready],
      );
    },
  },
];
