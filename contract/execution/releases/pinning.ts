import assert from 'node:assert/strict';
import { bucketOf } from '../../../src/features/releases/model.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { letter, redriving } from '../repair/repairing.ts';
import {
  childOf,
  finishing,
  mustFinish,
  mustRead,
  mustRecord,
  mustSubmit,
  OTHER_PROJECT,
  PIPELINE,
  PROJECT,
  submitting,
} from '../worker.ts';
import {
  changing,
  mustActivate,
  mustChange,
  mustClaimOf,
  mustRegister,
  refusedBy,
  workerOf,
} from './releasing.ts';

const OF = { project: PROJECT, pipeline: PIPELINE };

export const pinningCases: readonly ExecutionCase[] = [
  {
    upholds: 'RE-5',
    name: 'an execution is pinned to the release that is active at its submission, and stays pinned',
    async run({ store }) {
      const before = await mustSubmit(store);
      await mustActivate(store, 'v1');
      const first = await mustSubmit(store);
      const elsewhere = await mustSubmit(store, { project: OTHER_PROJECT });
      await mustActivate(store, 'v2');
      const second = await mustSubmit(store, { key: 'k', intent: 'i' });
      const again = submitting({ key: 'k', intent: 'i' });
      assert.deepEqual(await store.executions.submit(again), {
        kind: 'submitted',
        id: second,
        existing: true,
      });
      const pins = [before, first, elsewhere, second].map((id) => mustRead(store, id));
      assert.deepEqual(
        (await Promise.all(pins)).map(({ release, pipeline }) => [release, pipeline]),
        [
          [undefined, PIPELINE],
          ['v1', PIPELINE],
          [undefined, PIPELINE],
          ['v2', PIPELINE],
        ],
      );
      const listed = await store.executions.find({ ...OF, limit: 9 });
      assert.deepEqual(listed.ids, [second, first, before]);
      const queued = await store.executions.find({ ...OF, status: ['queued'], limit: 1 });
      assert.deepEqual(queued.ids, [second]);
    },
  },
  {
    upholds: 'RE-5',
    name: 'the canary gets its percentage, and the same key or id always gets the same release',
    async run({ store }) {
      await mustActivate(store, 'v1');
      await mustRegister(store, 'v2');
      await mustChange(store, 'set-canary', { name: 'v2', percent: 30 });
      const submits = Array.from({ length: 100 }, (_, nth) =>
        submitting(nth % 2 === 0 ? {} : { key: `order-${nth}`, intent: 'i' }),
      );
      await Promise.all(submits.map((each) => store.executions.submit(each)));
      let canaries = 0;
      for (const submit of submits) {
        const isCanary = bucketOf(submit) < 30;
        canaries += isCanary ? 1 : 0;
        assert.equal((await mustRead(store, submit.id)).release, isCanary ? 'v2' : 'v1');
      }
      assert.ok(canaries > 10 && canaries < 60, `${canaries} of 100`);
    },
  },
  {
    upholds: 'RE-5',
    name: 'a submit or a re-drive can name a release that exists and is not retired',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      for (const name of ['v2', 'old']) await mustRegister(store, name);
      await mustChange(store, 'retire', { name: 'old' });
      const id = await mustSubmit(store, { release: 'v2', key: 'k', intent: 'i' });
      assert.equal((await mustRead(store, id)).release, 'v2');
      refusedBy(await executions.submit(submitting({ release: 'v9' })), 'release-unknown');
      refusedBy(await executions.submit(submitting({ release: 'old' })), 'release-retired');
      const ann = await workerOf(store, 'v2');
      const held = await mustClaimOf(store, ann, 'v2');
      await mustFinish(store, held, { status: 'failed', deadLetter: letter() });
      assert.equal((await executions.deadLetter(id))?.release, 'v2');
      assert.equal((await executions.deadLetter(id))?.pipeline, PIPELINE);
      for (const release of ['v9', 'old']) {
        const bad = redriving(id, { submit: submitting({ release, redriveOf: id }) });
        assert.equal((await executions.redrive(bad)).kind, 'refused');
      }
      const plain = redriving(id, { submit: submitting({ redriveOf: id }) });
      expectKind(await executions.redrive(plain), 'submitted');
      assert.equal((await mustRead(store, plain.submit.id)).release, 'v1');
    },
  },
  {
    upholds: 'RE-5',
    name: 'children and successors are pinned by their own pipeline’s rollout at that time',
    async run({ store }) {
      await mustActivate(store, 'v1');
      await mustSubmit(store);
      const held = await mustClaimOf(store, await workerOf(store, 'v1'), 'v1');
      await mustActivate(store, 'v2');
      const child = childOf(held.id, 'child:c#1', { pipeline: PIPELINE });
      const next = submitting();
      const later = { ...held, seq: held.seq + 1 };
      const recorded = await store.executions.record({
        ...{ id: held.id, fence: held.fence, session: held.session, seq: held.seq },
        events: [{ kind: 'child-spawned', name: 'c' }],
        children: [child],
      });
      expectKind(recorded, 'recorded');
      expectKind(await store.executions.finish(finishing(later, { successor: next })), 'finished');
      for (const { id } of [child, next]) {
        assert.equal((await mustRead(store, id)).release, 'v2');
      }
      assert.equal((await mustRead(store, held.id)).release, 'v1');
      const [summary] = await store.executions.children({ parent: held.id, limit: 9 });
      assert.equal(summary?.pipeline, PIPELINE);
    },
  },
  {
    upholds: 'RE-6',
    name: 'a release counts its open pinned executions, and can be retired when there are none',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      await mustSubmit(store);
      await mustActivate(store, 'v2');
      await mustSubmit(store);
      await mustSubmit(store);
      const counts = async () =>
        (await executions.pinned(OF)).map(({ release, open }) => [release, open]);
      assert.deepEqual(await counts(), [
        ['v1', 1],
        ['v2', 2],
      ]);
      const retire = changing('retire', { name: 'v1' });
      const refused = refusedBy(await executions.changeRollout(retire), 'release-pinned');
      assert.equal(refused['pinned'], 1);
      const ann = await workerOf(store, 'v1');
      const held = await mustClaimOf(store, ann, 'v1');
      refusedBy(await executions.changeRollout(retire), 'release-pinned');
      await mustFinish(store, await mustRecord(store, held));
      assert.deepEqual(await counts(), [['v2', 2]]);
      await mustChange(store, 'retire', { name: 'v1' });
      const stored = await executions.release({ ...OF, name: 'v1' });
      assert.notEqual(stored?.retiredAt, undefined);
      assert.equal((await executions.rollout(OF)).previous, undefined);
      const again = await executions.changeRollout(retire);
      assert.equal(again.kind, 'no-change');
    },
  },
  {
    upholds: 'RE-6',
    needs: 'two-clients',
    name: 'when a submit to a release and its retirement race, exactly one wins',
    async run({ store, another }) {
      const other = await another();
      for (let round = 1; round <= 12; round += 1) {
        const name = `v${round}`;
        await mustRegister(store, name);
        const submit = submitting({ release: name });
        const [submitted, retired] = await Promise.all([
          (round % 2 === 0 ? store : other).executions.submit(submit),
          (round % 3 === 0 ? other : store).executions.changeRollout(changing('retire', { name })),
        ]);
        const isSubmitted = submitted.kind === 'submitted';
        assert.equal(isSubmitted, retired.kind === 'refused', `${submitted.kind} ${retired.kind}`);
        if (isSubmitted) refusedBy(retired, 'release-pinned');
        else refusedBy(submitted, 'release-retired');
      }
    },
  },
  {
    upholds: 'RE-5, RE-6',
    name: 'a submit that races an activation and a retirement is not pinned to the retired release',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v0');
      const known = { key: 'k', intent: 'i' };
      await mustRegister(store, 'other');
      await mustSubmit(store, { ...known, release: 'other' });
      for (let round = 1; round <= 5; round += 1) {
        const [old, name] = [`v${round - 1}`, `v${round}`];
        await mustRegister(store, name);
        const submits = [submitting(), submitting()] as const;
        const [, , retired] = await Promise.all([
          executions.submit(submitting(known)),
          executions.changeRollout(changing('activate', { name })),
          executions.changeRollout(changing('retire', { name: old })),
          ...submits.map((each) => executions.submit(each)),
        ]);
        for (const { id } of submits) {
          const { release } = await mustRead(store, id);
          if (release === old) assert.equal(retired.kind, 'refused');
          else assert.equal(release, name);
        }
      }
    },
  },
  {
    upholds: 'RE-5, RE-6',
    needs: 'two-clients',
    name: 'while releases change, every submit is pinned to a release that was active then, and none is lost',
    async run({ store, another }) {
      const other = await another();
      await mustActivate(store, 'v0');
      for (let round = 1; round <= 12; round += 1) {
        const name = `v${round}`;
        await mustRegister(store, name);
        const old = `v${round - 1}`;
        // Each submit has its own key, so it is a transaction of several statements, which takes
        // longer.
        const submits = Array.from({ length: 20 }, (_, nth) =>
          submitting({ concurrency: { key: `${round}/${nth}`, limit: 1 } }),
        );
        const over = async () => {
          await mustChange(store, 'activate', { name });
          return other.executions.changeRollout(changing('retire', { name: old }));
        };
        const [retired] = await Promise.all([
          over(),
          ...submits.map((each, nth) => (nth % 2 ? store : other).executions.submit(each)),
        ]);
        for (const { id } of submits) {
          const { release } = await mustRead(store, id);
          assert.ok(release === name || release === old, release);
          if (release === old) assert.equal(retired.kind, 'refused', `${id} is pinned to ${old}`);
        }
      }
    },
  },
];
