import assert from 'node:assert/strict';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged } from '../expect.ts';
import {
  commanding,
  mustPark,
  mustSubmit,
  nextId,
  OTHER_PROJECT,
  PROJECT,
  running,
  signalling,
  worker,
} from '../worker.ts';

export const projectCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-21',
    name: 'commands of another project do not find an execution, whatever its status',
    async run({ store }) {
      const ann = await worker(store);
      const { executions } = store;
      const busy = await running(store, ann);
      const waiting = await running(store, ann);
      await mustPark(store, waiting);
      const queued = await mustSubmit(store);
      const gone = await mustSubmit(store);
      await executions.cancel(commanding(gone));
      const project = { project: OTHER_PROJECT };
      for (const id of [busy.id, waiting.id, queued, gone, nextId()]) {
        for (const operation of [
          () => executions.cancel(commanding(id, project)),
          () => executions.pause(commanding(id, project)),
          () => executions.resume(commanding(id, project)),
          () => executions.signal({ ...signalling(id), ...project }),
        ]) {
          await expectRefusedUnchanged(store, 'execution-unknown', operation);
        }
      }
    },
  },
  {
    upholds: 'X-21, X-22',
    name: 'a list shows one project',
    async run({ store }) {
      const mine = await mustSubmit(store, { tags: ['a'] });
      const theirs = await mustSubmit(store, { tags: ['a'], project: OTHER_PROJECT });
      for (const [project, id] of [
        [PROJECT, mine],
        [OTHER_PROJECT, theirs],
      ] as const) {
        for (const filter of [{}, { tag: 'a' }, { status: ['queued'] as const }]) {
          const { ids } = await store.executions.find({ project, limit: 10, ...filter });
          assert.deepEqual(ids, [id]);
        }
      }
    },
  },
];
