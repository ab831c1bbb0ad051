// Counts for operators.

import assert from 'node:assert/strict';
import type { PipelineName, ProjectName } from '../../../src/execution/names.ts';
import type { SessionId } from '../../../src/lease/names.ts';
import type { BacklogEntry, CountDepth } from '../../../src/store/contract/census-store.ts';
import { parkedOn } from '../awaits/awaiting.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { ended, letter, mustRedrive } from '../repair/repairing.ts';
import {
  claimAll,
  commanding,
  LONG,
  mustFinish,
  mustSubmit,
  OTHER_PIPELINE,
  OTHER_PROJECT,
  PIPELINE,
  running,
  worker,
} from '../worker.ts';

const NONE = [
  { lane: 'interactive', ready: 0, running: 0 },
  { lane: 'batch', ready: 0, running: 0 },
];

export const censusCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-40',
    name: 'running executions are counted by session and lane, for one project or for all',
    async run({ store }) {
      const ann = await worker(store, 'ann');
      const bob = await worker(store, 'bob');
      await mustSubmit(store);
      await mustSubmit(store, { lane: 'batch', project: OTHER_PROJECT });
      assert.equal((await claimAll(store, ann)).length, 2);
      const his = await running(store, bob);
      const sessions = [ann.id, bob.id, '00000000-0000-4000-8000-000000000000' as SessionId];
      const counted = async (query = {}): Promise<ReadonlySet<string>> => {
        const all = await store.executions.inFlight({ sessions, ...query });
        return new Set(all.map(({ session, lane, count }) => `${session} ${lane} ${count}`));
      };
      const hers = [`${ann.id} interactive 1`, `${ann.id} batch 1`];
      assert.deepEqual(await counted(), new Set([...hers, `${bob.id} interactive 1`]));
      assert.deepEqual(await counted({ project: OTHER_PROJECT }), new Set([`${ann.id} batch 1`]));
      assert.deepEqual(await counted({ sessions: [bob.id], project: OTHER_PROJECT }), new Set());
      await mustFinish(store, his);
      assert.deepEqual(await counted(), new Set(hers));
      assert.deepEqual(await counted({ sessions: [] }), new Set());
    },
  },
  {
    upholds: 'X-41',
    name: 'ready and running executions are counted by lane, up to a given maximum',
    async run({ store }) {
      const { executions } = store;
      assert.deepEqual(await executions.depth({ max: 10 }), NONE);
      const ann = await worker(store, 'ann');
      await running(store, ann);
      for (let nth = 0; nth < 3; nth += 1) await mustSubmit(store, { lane: 'batch' });
      await mustSubmit(store, { delayMs: 60_000 });
      const paused = await mustSubmit(store);
      await executions.pause(commanding(paused));
      const gated = { concurrency: { key: 'k', limit: 5 } };
      await mustSubmit(store, gated);
      assert.deepEqual(await executions.depth({ max: 10 }), [
        { lane: 'interactive', ready: 1, running: 1 },
        { lane: 'batch', ready: 3, running: 0 },
      ]);
      assert.deepEqual((await executions.depth({ max: 2 }))[1], {
        ...{ lane: 'batch', ready: 2, running: 0 },
      });
    },
  },
  {
    upholds: 'X-41',
    name: 'ready and running executions of one project are counted, whatever other projects have',
    async run({ store }) {
      const { executions } = store;
      const ann = await worker(store, 'ann');
      await running(store, ann);
      for (const pipeline of ['a', 'b', 'c'] as readonly string[] as readonly PipelineName[]) {
        await mustSubmit(store, { pipeline, lane: 'batch' });
        await mustSubmit(store, { pipeline, lane: 'batch', project: OTHER_PROJECT });
        const concurrency = { key: pipeline, limit: 5 };
        await mustSubmit(store, { pipeline, project: OTHER_PROJECT, concurrency });
      }
      await mustSubmit(store, { delayMs: 60_000, project: OTHER_PROJECT });
      assert.deepEqual(await executions.depth({ max: 10, project: OTHER_PROJECT }), [
        { lane: 'interactive', ready: 3, running: 0 },
        { lane: 'batch', ready: 3, running: 0 },
      ]);
      const most = await executions.depth({ max: 2, project: OTHER_PROJECT });
      assert.deepEqual(
        most.map(({ ready }) => ready),
        [2, 2],
      );
      assert.deepEqual((await executions.depth({ max: 10 }))[1], {
        ...{ lane: 'batch', ready: 6, running: 0 },
      });
      const { project } = (await executions.read(await mustSubmit(store))) ?? {};
      assert.deepEqual((await executions.depth({ max: 10, project } as CountDepth))[0], {
        ...{ lane: 'interactive', ready: 1, running: 1 },
      });
      const none = { max: 10, project: 'nobody' as ProjectName };
      assert.deepEqual(await executions.depth(none), NONE);
    },
  },
  {
    upholds: 'X-94',
    name: 'the backlog has the age of each queue, and counts open questions and dead letters by pipeline',
    async run({ store, advance }) {
      const { executions } = store;
      const none = { queues: [], awaits: [], deadLetters: [] };
      assert.deepEqual(await executions.backlog(), none);
      const ann = await worker(store, 'ann', LONG);
      await parkedOn(store, ann);
      const failed = { status: 'failed', deadLetter: letter() } as const;
      await ended(store, ann, failed);
      await ended(store, ann, { ...failed, project: OTHER_PROJECT });
      const again = await ended(store, ann, failed);
      await mustRedrive(store, again);
      await mustSubmit(store, { delayMs: 60_000, pipeline: OTHER_PIPELINE });
      await mustSubmit(store, { lane: 'batch', concurrency: { key: 'k', limit: 1 } });
      await advance(2_000);
      await mustSubmit(store, { pipeline: OTHER_PIPELINE, project: OTHER_PROJECT });
      const found = await executions.backlog();
      const ages = new Map(found.queues.map(({ pipeline, oldestMs }) => [pipeline, oldestMs]));
      assert.deepEqual([...ages.keys()].sort(), [PIPELINE, OTHER_PIPELINE].sort());
      assert.ok((ages.get(PIPELINE) ?? 0) >= 2_000);
      assert.ok((ages.get(OTHER_PIPELINE) ?? 2_000) < 2_000);
      const counted = (waiting: readonly BacklogEntry[]) =>
        waiting.map(({ pipeline, count }) => [pipeline, count]);
      assert.deepEqual(counted(found.awaits), [[PIPELINE, 1]]);
      assert.ok((found.awaits[0]?.oldestMs ?? 0) >= 2_000);
      assert.deepEqual(counted(found.deadLetters), [[PIPELINE, 2]]);
      const other = await executions.backlog({ project: OTHER_PROJECT });
      assert.deepEqual(
        other.queues.map(({ pipeline }) => pipeline),
        [OTHER_PIPELINE],
      );
      assert.deepEqual(counted(other.deadLetters), [[PIPELINE, 1]]);
      assert.deepEqual(other.awaits, []);
      assert.deepEqual(await executions.backlog({ project: 'nobody' as ProjectName }), none);
    },
  },
];
