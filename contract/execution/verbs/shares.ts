// Lanes, limits and projects.

import assert from 'node:assert/strict';
import type { Lane } from '../../../src/execution/execution.ts';
import type { ProjectName } from '../../../src/execution/names.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  type ClaimedResult,
  claimAll,
  claiming,
  claimOnce,
  endSessionOf,
  mustSubmit,
  OTHER_PIPELINE,
  OTHER_PROJECT,
  PIPELINE,
  PROJECT,
  PROJECTS,
  THIRD_PROJECT,
  worker,
} from '../worker.ts';

async function submitMany(
  store: CoordinatorStore,
  count: number,
  options: { readonly lane?: Lane; readonly project?: ProjectName },
): Promise<void> {
  for (let nth = 0; nth < count; nth += 1) await mustSubmit(store, options);
}

function byProject({ claims }: ClaimedResult): readonly number[] {
  return PROJECTS.map(
    (project) => claims.filter(({ execution }) => execution.project === project).length,
  );
}

export const shareCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-11',
    name: 'each lane has its own limit, and a lane that was not requested is not claimed',
    async run({ store }) {
      const ann = await worker(store);
      await submitMany(store, 5, { lane: 'interactive' });
      await submitMany(store, 5, { lane: 'batch' });
      const lanes = async (shares: readonly { lane: Lane; limit: number }[]) => {
        const { claims } = await claimOnce(store, claiming(ann, 0, { shares }));
        const count = (lane: Lane) =>
          claims.filter(({ execution }) => execution.lane === lane).length;
        return [count('interactive'), count('batch')];
      };
      assert.deepEqual(
        await lanes([
          { lane: 'interactive', limit: 3 },
          { lane: 'batch', limit: 1 },
        ]),
        [3, 1],
      );
      assert.deepEqual(await lanes([{ lane: 'batch', limit: 2 }]), [0, 2]);
      assert.deepEqual(
        await lanes([
          { lane: 'interactive', limit: 0 },
          { lane: 'batch', limit: 0 },
        ]),
        [0, 0],
      );
      assert.deepEqual(
        await lanes([
          { lane: 'interactive', limit: 9 },
          { lane: 'batch', limit: 9 },
        ]),
        [2, 2],
      );
    },
  },
  {
    upholds: 'X-11',
    name: 'the limit of a lane covers all pipelines together',
    async run({ store }) {
      const ann = await worker(store);
      for (const pipeline of [PIPELINE, OTHER_PIPELINE, PIPELINE, OTHER_PIPELINE]) {
        await mustSubmit(store, { pipeline });
      }
      const both = claiming(ann, 3, { pipelines: [PIPELINE, OTHER_PIPELINE] });
      assert.equal((await claimOnce(store, both)).claims.length, 3);
      assert.equal((await claimOnce(store, both)).claims.length, 1);
    },
  },
  {
    upholds: 'X-11, X-60',
    name: 'a project with a thousand times the work gets no more than its fair share of a claim',
    async run({ store, advance }) {
      const ann = await worker(store);
      await submitMany(store, 60, { project: PROJECT });
      await advance(1_000);
      await submitMany(store, 3, { project: OTHER_PROJECT });
      await submitMany(store, 3, { project: THIRD_PROJECT });
      const claim = () => claimOnce(store, claiming(ann, 6));
      assert.deepEqual(byProject(await claim()), [2, 2, 2]);
      const second = await claim();
      assert.deepEqual(byProject(second), [2, 1, 1]);
      assert.equal(second.more, true);
      assert.deepEqual(byProject(await claim()), [6, 0, 0]);
    },
  },
  {
    upholds: 'X-11, X-60',
    name: 'if a claim is too small for all projects, the dice decide which project comes first',
    async run({ store, advance }) {
      const ann = await worker(store);
      await submitMany(store, 20, { project: PROJECT });
      await advance(1_000);
      await submitMany(store, 5, { project: OTHER_PROJECT });
      await submitMany(store, 5, { project: THIRD_PROJECT });
      const claim = (limit: number, dice?: number) =>
        claimOnce(store, claiming(ann, limit, dice === undefined ? {} : { dice }));
      assert.deepEqual(byProject(await claim(1)), [1, 0, 0], 'the longest ready');
      assert.deepEqual(byProject(await claim(1, 0)), [1, 0, 0]);
      assert.deepEqual(byProject(await claim(1, 0.4)), [0, 1, 0]);
      assert.deepEqual(byProject(await claim(1, 0.9)), [0, 0, 1]);
      assert.deepEqual(byProject(await claim(2, 0.9)), [1, 0, 1]);
      assert.deepEqual(byProject(await claim(2, 0.4)), [0, 1, 1]);
    },
  },
  {
    upholds: 'X-11, X-60',
    name: 'a share that does not divide evenly is rounded up, and the limit still holds',
    async run({ store }) {
      const ann = await worker(store);
      for (const project of PROJECTS) await submitMany(store, 10, { project });
      const result = await claimOnce(store, claiming(ann, 4));
      const parts = byProject(result);
      assert.equal(result.claims.length, 4);
      assert.ok(Math.max(...parts) <= 2, `${parts}`);
    },
  },
  {
    upholds: 'X-11',
    name: 'a project without ready executions takes no share from others',
    async run({ store }) {
      const ann = await worker(store);
      await submitMany(store, 4, { project: PROJECT });
      await mustSubmit(store, { project: OTHER_PROJECT, delayMs: 1_000 });
      await mustSubmit(store, { project: OTHER_PROJECT, lane: 'batch' });
      const shares = [{ lane: 'interactive', limit: 4 }] as const;
      const result = await claimOnce(store, claiming(ann, 0, { shares }));
      assert.deepEqual(byProject(result), [4, 0, 0]);
    },
  },
  {
    upholds: 'X-11, X-7',
    name: 'executions of dead workers count as ready, and count towards the limit',
    async run({ store }) {
      const ann = await worker(store, 'ann');
      await submitMany(store, 6, { project: PROJECT });
      assert.equal((await claimOnce(store, claiming(ann, 10))).claims.length, 6);
      await endSessionOf(store, ann);
      await submitMany(store, 6, { project: OTHER_PROJECT });
      const bob = await worker(store, 'bob');
      const first = await claimOnce(store, claiming(bob, 4));
      assert.deepEqual(byProject(first), [2, 2, 0]);
      assert.equal(first.more, true);
    },
  },
  {
    upholds: 'X-11',
    name: 'a claim for one project takes and reports no ready, gated or lost execution of another',
    async run({ store, advance }) {
      const ann = await worker(store, 'ann');
      const concurrency = { key: 'printer', limit: 9 };
      for (const project of PROJECTS) await submitMany(store, 2, { project });
      assert.equal((await claimOnce(store, claiming(ann, 100))).claims.length, 6);
      await endSessionOf(store, ann);
      for (const project of PROJECTS) {
        await submitMany(store, 1, { project });
        await mustSubmit(store, { project, concurrency });
        await mustSubmit(store, { project, delayMs: project === OTHER_PROJECT ? 5_000 : 1_000 });
      }
      const bob = await worker(store, 'bob');
      const only = { project: OTHER_PROJECT };
      const claims = await claimAll(store, bob, only);
      assert.deepEqual(byProject({ claims } as ClaimedResult), [0, 4, 0]);
      const { nextReadyInMs, more } = await claimOnce(store, claiming(bob, 100, only));
      assert.deepEqual({ nextReadyInMs, more }, { nextReadyInMs: 5_000, more: false });
      await advance(1_000);
      // Before and after all others in the order of names.
      for (const name of ['a', 'zoo']) {
        const elsewhere = { project: name as ProjectName };
        const none = await claimOnce(store, claiming(bob, 100, elsewhere));
        assert.equal(none.claims.length, 0);
        assert.equal(none.nextReadyInMs, undefined);
      }
      assert.deepEqual(
        byProject({ claims: await claimAll(store, bob) } as ClaimedResult),
        [5, 0, 5],
      );
    },
  },
  {
    upholds: 'X-11',
    name: 'cancelled and paused executions do not affect the next claim',
    async run({ store }) {
      const ann = await worker(store);
      for (let nth = 0; nth < 50; nth += 1) {
        const id = await mustSubmit(store);
        const body = '{}' as never;
        if (nth % 5 !== 0) await store.executions.cancel({ id, project: PROJECT, body });
        else await store.executions.pause({ id, project: PROJECT, body });
      }
      const last = await mustSubmit(store);
      const { claims } = await claimOnce(store, claiming(ann, 1));
      assert.deepEqual(
        claims.map(({ execution }) => execution.id),
        [last],
      );
    },
  },
];
