import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { RepinExecution } from '../../../src/features/releases/port.ts';
import { expectKind } from '../../lease/expect.ts';
import { stamp } from '../audit/auditing.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  claimAll,
  commanding,
  kindsOf,
  mustFinish,
  mustRead,
  mustSubmit,
  nextId,
  OTHER_PROJECT,
  PROJECT,
  payload,
  writing,
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

function repinning(
  id: ExecutionId,
  to: string,
  options: Partial<RepinExecution> = {},
): RepinExecution {
  return { id, project: PROJECT, to, body: payload({ by: 'olga' }), ...options };
}

export const repinningCases: readonly ExecutionCase[] = [
  {
    upholds: 'RE-8, J-1',
    name: 'workers of the new release claim a repinned execution; its history and the audit record the repin',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      await mustRegister(store, 'v2');
      const id = await mustSubmit(store);
      const request = repinning(id, 'v2', { from: 'v1', seq: 1, audit: stamp('repin') });
      assert.deepEqual(await executions.repinExecution(request), {
        kind: 'repinned',
        id,
        release: 'v2',
      });
      const again = await executions.repinExecution(repinning(id, 'v2'));
      assert.equal(again.kind, 'no-change');
      assert.equal((await mustRead(store, id)).release, 'v2');
      assert.deepEqual(await kindsOf(store, id), ['submitted', 'moved']);
      const [record] = await executions.audit({ project: PROJECT, limit: 9 });
      assert.deepEqual(
        [record?.action, record?.before?.['release'], record?.after?.['release']],
        ['repin', 'v1', 'v2'],
      );
      const [old, fresh] = [await workerOf(store, 'v1'), await workerOf(store, 'v2')];
      assert.deepEqual(await claimAll(store, old, { release: 'v1' }), []);
      assert.equal((await mustClaimOf(store, fresh, 'v2')).id, id);
    },
  },
  {
    upholds: 'RE-8',
    name: 'a repin unblocks a blocked execution; a paused one stays paused',
    async run({ store }) {
      await mustActivate(store, 'v1');
      await mustRegister(store, 'v2');
      const id = await mustSubmit(store);
      const ann = await workerOf(store, 'v1');
      const held = await mustClaimOf(store, ann, 'v1');
      const blocked = { ...writing(held, { kind: 'blocked' }), blocked: true };
      expectKind(await store.executions.giveBack(blocked), 'given-back');
      expectKind(await store.executions.pause(commanding(id)), 'done');
      assert.deepEqual((await mustRead(store, id)).holds, ['paused', 'blocked']);
      expectKind(await store.executions.repinExecution(repinning(id, 'v2')), 'repinned');
      assert.deepEqual((await mustRead(store, id)).holds, ['paused']);
    },
  },
  {
    upholds: 'RE-6, RE-8',
    needs: 'two-clients',
    name: 'when a repin to a release and its retirement race, exactly one succeeds',
    async run({ store, another }) {
      const other = await another();
      await mustActivate(store, 'v0');
      const id = await mustSubmit(store);
      for (let round = 1; round <= 12; round += 1) {
        const name = `v${round}`;
        await mustRegister(store, name);
        const [repinned, retired] = await Promise.all([
          (round % 2 === 0 ? store : other).executions.repinExecution(repinning(id, name)),
          (round % 3 === 0 ? other : store).executions.changeRollout(changing('retire', { name })),
        ]);
        assert.equal(
          repinned.kind === 'repinned',
          retired.kind === 'refused',
          `${repinned.kind} ${name}`,
        );
        if (repinned.kind === 'repinned') refusedBy(retired, 'release-pinned');
        else refusedBy(repinned, 'release-retired');
      }
    },
  },
  {
    upholds: 'RE-8, Y-23',
    name: 'repins of a job store their outcomes and refusals, and repeats return them',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      await mustRegister(store, 'v2');
      const job = nextId();
      const runs = await mustSubmit(store);
      const held = await mustClaimOf(store, await workerOf(store, 'v1'), 'v1');
      const idle = await mustSubmit(store);
      const repin = (id: ExecutionId) =>
        executions.repinExecution(repinning(id, 'v2', { from: 'v1', job }));
      const first = [await repin(runs), await repin(idle)];
      assert.deepEqual(
        first.map((each) => (each.kind === 'refused' ? each.why : each.kind)),
        ['repin-while-running', 'repinned'],
      );
      expectKind(await executions.repinExecution(repinning(idle, 'v1')), 'repinned');
      await mustFinish(store, held);
      assert.deepEqual([await repin(runs), await repin(idle)], first);
      assert.equal((await mustRead(store, idle)).release, 'v1');
      const items = await executions.jobItems({ job, limit: 9 });
      assert.deepEqual(
        new Map(items.map(({ target, outcome }) => [target, outcome])),
        new Map([
          [runs, 'repin-while-running'],
          [idle, 'repinned'],
        ]),
      );
      // Another job has its own result.
      expectKind(
        await executions.repinExecution(repinning(idle, 'v2', { job: nextId() })),
        'repinned',
      );
    },
  },
  {
    upholds: 'RE-8, Y-23',
    needs: 'two-clients',
    name: 'two workers that do one item of a job at once repin it once',
    async run({ store, another }) {
      const other = await another();
      await mustActivate(store, 'v1');
      await mustRegister(store, 'v2');
      for (let round = 0; round < 8; round += 1) {
        const id = await mustSubmit(store);
        const request = repinning(id, 'v2', { from: 'v1', job: nextId() });
        const results = await Promise.all(
          [store, other, store].map(({ executions }) => executions.repinExecution(request)),
        );
        for (const each of results) expectKind(each, 'repinned');
        assert.deepEqual(await kindsOf(store, id), ['submitted', 'moved']);
      }
    },
  },
  {
    upholds: 'RE-8, RE-16',
    name: 'a repin is refused if the execution runs, ended, went on, is unknown or pinned elsewhere, or the release is missing',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      for (const name of ['v2', 'old']) await mustRegister(store, name);
      await mustChange(store, 'retire', { name: 'old' });
      const id = await mustSubmit(store);
      const why = async (request: RepinExecution, expected: string) =>
        refusedBy(await executions.repinExecution(request), expected);
      await why(repinning(id, 'v9'), 'release-unknown');
      await why(repinning(id, 'old'), 'release-retired');
      await why(repinning(id, 'v2', { from: 'v3' }), 'pinned-elsewhere');
      await why(repinning(id, 'v2', { from: null }), 'pinned-elsewhere');
      await why(repinning(id, 'v2', { seq: 2 }), 'execution-went-on');
      await why(repinning(nextId(), 'v2'), 'execution-unknown');
      await why(repinning(id, 'v2', { project: OTHER_PROJECT }), 'execution-unknown');
      const held = await mustClaimOf(store, await workerOf(store, 'v1'), 'v1');
      await why(repinning(id, 'v2'), 'repin-while-running');
      await mustFinish(store, held);
      await why(repinning(id, 'v2'), 'already-ended');
      assert.equal((await mustRead(store, id)).release, 'v1');
    },
  },
];
