import assert from 'node:assert/strict';
import type { PipelineName, ProjectName } from '../../../src/execution/names.ts';
import { replayName } from '../../../src/execution/route.ts';
import { workerState } from '../../../src/features/releases/model.ts';
import type { SessionId } from '../../../src/lease/names.ts';
import type { Claim, CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import type { OpenedSession } from '../../lease/opened-session.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  claimAll,
  claimIds,
  endSessionOf,
  mustSubmit,
  OTHER_PROJECT,
  PIPELINE,
  PROJECT,
  worker,
} from '../worker.ts';
import {
  announcing,
  mustActivate,
  mustChange,
  mustRegister,
  refusedBy,
  workerOf,
} from './releasing.ts';

async function idsOf(store: CoordinatorStore, who: OpenedSession, release: string) {
  return (await claimAll(store, who, { release })).map(({ execution }) => execution.id);
}

export const routingCases: readonly ExecutionCase[] = [
  {
    upholds: 'RE-9',
    name: 'a pinned execution goes only to workers that announced its release; an unpinned one goes to any worker',
    async run({ store }) {
      const plain = await mustSubmit(store);
      await mustActivate(store, 'v1');
      const pinned = await mustSubmit(store);
      await mustActivate(store, 'v2');
      const ann = await worker(store, 'ann');
      assert.deepEqual(await claimIds(store, ann), [plain]);
      // It claims for a release that it has not announced.
      assert.deepEqual(await idsOf(store, ann, 'v1'), []);
      assert.deepEqual(await idsOf(store, await workerOf(store, 'v2'), 'v2'), []);
      const plain2 = await mustSubmit(store, { project: OTHER_PROJECT });
      const bob = await workerOf(store, 'v1');
      const claims = await claimAll(store, bob, { release: 'v1' });
      assert.deepEqual(
        new Set(claims.map(({ execution }) => execution.id)),
        new Set([pinned, plain2]),
      );
      const own = claims.find(({ execution }) => execution.id === pinned);
      assert.deepEqual([own?.execution.release, own?.execution.pipeline], ['v1', 'orders']);
    },
  },
  {
    upholds: 'RE-9, RE-19',
    name: 'a worker whose digest, contract or release is not the registered one is refused and claims nothing',
    async run({ store }) {
      await mustActivate(store, 'v1');
      await mustRegister(store, 'v1', { project: OTHER_PROJECT, digest: 'sha256:elsewhere' });
      const id = await mustSubmit(store);
      const ann = await worker(store, 'ann');
      const { executions } = store;
      const own = { project: PROJECT };
      const good = announcing(ann.id, 'v1', own);
      assert.ok(good.release !== undefined);
      const other = { ...good, release: { ...good.release, digest: 'sha256:other' } };
      refusedBy(await executions.announce(other), 'release-differs');
      // A refused announcement is not stored.
      assert.equal((await executions.workers({ limit: 9 }))[0]?.release, undefined);
      assert.deepEqual(await idsOf(store, ann, 'v1'), []);
      const drifted = { ...good, release: { ...good.release, contracts: {} } };
      refusedBy(await executions.announce(drifted), 'release-differs');
      refusedBy(await executions.announce(announcing(ann.id, 'v9', own)), 'release-unknown');
      // An announcement for all projects must match in all of them.
      refusedBy(await executions.announce(announcing(ann.id, 'v1')), 'release-differs');
      assert.deepEqual(await idsOf(store, ann, 'v1'), []);
      await mustRegister(store, 'old');
      await mustChange(store, 'retire', { name: 'old' });
      refusedBy(await executions.announce(announcing(ann.id, 'old', own)), 'release-retired');
      assert.deepEqual(await executions.announce(good), { kind: 'announced' });
      // The worker matched before, and does not any more.
      refusedBy(await executions.announce(other), 'release-differs');
      assert.deepEqual(await idsOf(store, ann, 'v1'), []);
      assert.deepEqual(await executions.announce(good), { kind: 'announced' });
      assert.deepEqual(await idsOf(store, ann, 'v1'), [id]);
    },
  },
  {
    upholds: 'RE-9, RE-19',
    name: 'a worker may show the digest of any artifact of its release, and of no other',
    async run({ store }) {
      await mustRegister(store, 'v1', { artifacts: [{ name: 'mailer', digest: 'sha256:mailer' }] });
      await mustRegister(store, 'v2', { artifacts: [{ name: 'mailer', digest: 'sha256:newer' }] });
      await mustChange(store, 'activate', { name: 'v1' });
      const id = await mustSubmit(store);
      const ann = await worker(store, 'ann');
      const { executions } = store;
      const good = announcing(ann.id, 'v1');
      assert.ok(good.release !== undefined);
      const showing = (digest: string, contracts = good.release?.contracts ?? {}) =>
        executions.announce({ ...good, release: { name: 'v1', digest, contracts } });
      refusedBy(await showing('sha256:newer'), 'release-differs');
      refusedBy(await showing('sha256:mailer', {}), 'release-differs');
      assert.deepEqual(await idsOf(store, ann, 'v1'), []);
      assert.deepEqual(await showing('sha256:mailer'), { kind: 'announced' });
      assert.deepEqual(await idsOf(store, ann, 'v1'), [id]);
    },
  },
  {
    upholds: 'RE-9, RE-19',
    name: 'a worker that announces another release, another project or none loses its earlier release',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      await mustRegister(store, 'v2');
      await mustRegister(store, 'v1', { project: OTHER_PROJECT });
      const id = await mustSubmit(store);
      const ann = await worker(store, 'ann');
      const own = { project: PROJECT };
      for (const other of [
        announcing(ann.id, 'v2', own),
        announcing(ann.id, 'v1', { project: OTHER_PROJECT }),
        announcing(ann.id, undefined, own),
      ]) {
        expectKind(await executions.announce(announcing(ann.id, 'v1', own)), 'announced');
        expectKind(await executions.announce(other), 'announced');
        assert.deepEqual(await idsOf(store, ann, 'v1'), [], JSON.stringify(other));
      }
      expectKind(await executions.announce(announcing(ann.id, 'v1', own)), 'announced');
      assert.deepEqual(await idsOf(store, ann, 'v1'), [id]);
    },
  },
  {
    upholds: 'RE-10',
    name: 'a preflight replay goes only to workers that announced its release in its project, not to those that name its pipeline',
    async run({ store }) {
      const { executions } = store;
      await mustRegister(store, 'v1');
      await mustRegister(store, 'v2');
      await mustRegister(store, 'v2', { project: OTHER_PROJECT });
      const replay = replayName('v2', PIPELINE);
      const id = await mustSubmit(store, { pipeline: replay });
      const asked = { pipelines: [replay] };
      const idsFor = async (who: OpenedSession, options: Partial<Claim> = {}) =>
        (await claimAll(store, who, { ...asked, ...options })).map(({ execution }) => execution.id);
      const ann = await worker(store, 'ann');
      const own = { project: PROJECT };
      assert.deepEqual(await idsFor(ann), []);
      assert.deepEqual(await idsFor(ann, { release: 'v2' }), []);
      // Naming the replay pipeline does not make a worker one of that release.
      for (const other of [
        announcing(ann.id, undefined, { pipelines: [PIPELINE, replay] }),
        announcing(ann.id, 'v1', own),
        announcing(ann.id, 'v2', { project: OTHER_PROJECT }),
      ]) {
        expectKind(await executions.announce(other), 'announced');
        assert.deepEqual(await idsFor(ann), [], JSON.stringify(other));
        assert.deepEqual(await idsFor(ann, { release: 'v2' }), [], JSON.stringify(other));
      }
      const good = announcing(ann.id, 'v2', own);
      assert.ok(good.release !== undefined);
      const differs = { ...good, release: { ...good.release, digest: 'sha256:other' } };
      refusedBy(await executions.announce(differs), 'release-differs');
      assert.deepEqual(await idsFor(ann, { release: 'v2' }), []);
      const bob = await workerOf(store, 'v2', 'bob');
      assert.deepEqual(await idsFor(bob), [id]);
      await endSessionOf(store, bob);
      assert.deepEqual(await idsFor(ann), [], 'nor a replay that a dead worker left');
      expectKind(await executions.announce(good), 'announced');
      assert.deepEqual(await idsFor(ann, { release: 'v2' }), [id]);
    },
  },
  {
    upholds: 'RE-9',
    name: 'a dead worker’s pinned execution goes only to its release, and its wait costs no attempt',
    async run({ store }) {
      await mustActivate(store, 'v1');
      const id = await mustSubmit(store);
      const ann = await workerOf(store, 'v1', 'ann');
      assert.deepEqual(await idsOf(store, ann, 'v1'), [id]);
      await endSessionOf(store, ann);
      await mustRegister(store, 'v2');
      const other = await workerOf(store, 'v2', 'other');
      for (let round = 0; round < 5; round += 1) {
        assert.deepEqual(await idsOf(store, other, 'v2'), []);
        assert.deepEqual(await claimIds(store, other), []);
        // It claims for the release without announcing it.
        assert.deepEqual(await idsOf(store, other, 'v1'), []);
      }
      const bob = await workerOf(store, 'v1', 'bob');
      const [claim] = await claimAll(store, bob, { release: 'v1' });
      assert.deepEqual([claim?.execution.id, claim?.previous], [id, 'lost']);
      assert.equal(claim?.execution.claimsWithoutProgress, 1);
    },
  },
  {
    upholds: 'RE-11',
    name: 'workers are listed by session, page by page',
    async run({ store }) {
      const { executions } = store;
      const sessions: string[] = [];
      for (const owner of ['ann', 'bob', 'cleo']) {
        const { id } = await worker(store, owner);
        sessions.push(id);
        await executions.announce(announcing(id, undefined, { project: PROJECT }));
      }
      for (const limit of [1, 2, 9]) {
        const seen: string[] = [];
        for (let page = await executions.workers({ limit }); page.length > 0; ) {
          seen.push(...page.map(({ session }) => session));
          page = await executions.workers({ limit, after: seen.at(-1) as SessionId });
        }
        assert.deepEqual(seen, sessions.toSorted());
      }
    },
  },
  {
    upholds: 'RE-21',
    name: 'the input schema of a pipeline is that of the last worker of the project that announced one',
    async run({ store, advance }) {
      const { executions } = store;
      const schemaOf = (project: ProjectName, pipeline = PIPELINE) =>
        executions.announcedInput({ project, pipeline });
      const one = { type: 'object', properties: { to: { type: 'string' } } };
      const two = { type: 'object', required: ['to'] };
      const ann = await worker(store, 'ann');
      const bob = await worker(store, 'bob');
      const own = { project: PROJECT };
      assert.equal(await schemaOf(PROJECT), undefined);
      await executions.announce(announcing(ann.id, undefined, { ...own, inputs: { orders: one } }));
      await executions.announce(announcing(ann.id, undefined, own));
      assert.deepEqual(JSON.parse((await schemaOf(PROJECT)) ?? 'null'), one);
      assert.equal(await schemaOf(OTHER_PROJECT), undefined, 'it works for one project');
      assert.equal(await schemaOf(PROJECT, 'other' as PipelineName), undefined);
      await advance(1);
      await executions.announce(announcing(bob.id, undefined, { inputs: { orders: two } }));
      for (const project of [PROJECT, OTHER_PROJECT]) {
        assert.deepEqual(JSON.parse((await schemaOf(project)) ?? 'null'), two);
      }
      await executions.announce(announcing(bob.id, undefined, { inputs: {} }));
      assert.deepEqual(JSON.parse((await schemaOf(PROJECT)) ?? 'null'), one);
      assert.equal(await schemaOf(OTHER_PROJECT), undefined);
    },
  },
  {
    upholds: 'RE-11, RE-21',
    name: 'a worker is starting, ready, draining or gone by its announcement and session; after two silent periods it is stuck',
    async run({ store, now, advance }) {
      const { executions } = store;
      const ann = await worker(store, 'ann');
      const own = { project: PROJECT };
      const state = async () => {
        const [found] = await executions.workers({ project: PROJECT, limit: 9 });
        assert.ok(found !== undefined);
        return workerState(found, now());
      };
      for (const each of ['starting', 'ready', 'draining'] as const) {
        await executions.announce(announcing(ann.id, undefined, { ...own, state: each }));
        assert.equal(await state(), each);
      }
      await executions.announce(announcing(ann.id, undefined, own));
      await advance(10_000);
      assert.equal(await state(), 'ready');
      await advance(1);
      assert.equal(await state(), 'stuck');
      await executions.announce(announcing(ann.id, undefined, own));
      assert.equal(await state(), 'ready');
      await endSessionOf(store, ann);
      assert.equal(await state(), 'gone');
      refusedBy(await executions.announce(announcing(ann.id, undefined, own)), 'session-not-live');
      const [record] = await executions.workers({ limit: 9 });
      assert.deepEqual([record?.owner, record?.room, record?.project], ['ann', 10, PROJECT]);
      assert.deepEqual(await executions.workers({ project: OTHER_PROJECT, limit: 9 }), []);
      const bob = await worker(store, 'bob');
      await executions.announce(announcing(bob.id));
      const owners = async (project: ProjectName): Promise<readonly string[]> =>
        (await executions.workers({ project, limit: 9 })).map(({ owner }) => owner).sort();
      assert.deepEqual(
        await owners(OTHER_PROJECT),
        ['bob'],
        'a worker for all projects works for each',
      );
      assert.deepEqual(await owners(PROJECT), ['ann', 'bob']);
    },
  },
];
