import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { MoveExecution } from '../../../src/features/releases/port.ts';
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

function moving(id: ExecutionId, to: string, options: Partial<MoveExecution> = {}): MoveExecution {
  return { id, project: PROJECT, to, body: payload({ by: 'olga' }), ...options };
}

export const movingCases: readonly ExecutionCase[] = [
  {
    upholds: 'RE-8, J-1',
    name: 'an execution that is moved is claimed by workers of the other release, and its history and the audit say so',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      await mustRegister(store, 'v2');
      const id = await mustSubmit(store);
      const request = moving(id, 'v2', { from: 'v1', seq: 1, audit: stamp('move') });
      assert.deepEqual(await executions.moveExecution(request), {
        kind: 'moved',
        id,
        release: 'v2',
      });
      const again = await executions.moveExecution(moving(id, 'v2'));
      assert.equal(again.kind, 'no-change');
      assert.equal((await mustRead(store, id)).release, 'v2');
      assert.deepEqual(await kindsOf(store, id), ['submitted', 'moved']);
      const [record] = await executions.audit({ project: PROJECT, limit: 9 });
      assert.deepEqual(
        [record?.act, record?.before?.['release'], record?.after?.['release']],
        ['move', 'v1', 'v2'],
      );
      const [old, fresh] = [await workerOf(store, 'v1'), await workerOf(store, 'v2')];
      assert.deepEqual(await claimAll(store, old, { release: 'v1' }), []);
      assert.equal((await mustClaimOf(store, fresh, 'v2')).id, id);
    },
  },
  {
    upholds: 'RE-8',
    name: 'what was blocked goes on after a move; what is paused stays so',
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
      expectKind(await store.executions.moveExecution(moving(id, 'v2')), 'moved');
      assert.deepEqual((await mustRead(store, id)).holds, ['paused']);
    },
  },
  {
    upholds: 'RE-6, RE-8',
    needs: 'two-clients',
    name: 'of a move to a release and its retirement exactly one wins',
    async run({ store, another }) {
      const other = await another();
      await mustActivate(store, 'v0');
      const id = await mustSubmit(store);
      for (let round = 1; round <= 12; round += 1) {
        const name = `v${round}`;
        await mustRegister(store, name);
        const [moved, retired] = await Promise.all([
          (round % 2 === 0 ? store : other).executions.moveExecution(moving(id, name)),
          (round % 3 === 0 ? other : store).executions.changeRollout(changing('retire', { name })),
        ]);
        assert.equal(moved.kind === 'moved', retired.kind === 'refused', `${moved.kind} ${name}`);
        if (moved.kind === 'moved') refusedBy(retired, 'release-pinned');
        else refusedBy(moved, 'release-retired');
      }
    },
  },
  {
    upholds: 'RE-8, Y-23',
    name: 'moves of a job leave their outcomes, refusals too, and are answered from them',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      await mustRegister(store, 'v2');
      const job = nextId();
      const runs = await mustSubmit(store);
      const held = await mustClaimOf(store, await workerOf(store, 'v1'), 'v1');
      const idle = await mustSubmit(store);
      const ask = (id: ExecutionId) =>
        executions.moveExecution(moving(id, 'v2', { from: 'v1', job }));
      const first = [await ask(runs), await ask(idle)];
      assert.deepEqual(
        first.map((each) => (each.kind === 'refused' ? each.why : each.kind)),
        ['move-while-running', 'moved'],
      );
      expectKind(await executions.moveExecution(moving(idle, 'v1')), 'moved');
      await mustFinish(store, held);
      assert.deepEqual([await ask(runs), await ask(idle)], first);
      assert.equal((await mustRead(store, idle)).release, 'v1');
      const items = await executions.jobItems({ job, limit: 9 });
      assert.deepEqual(
        new Map(items.map(({ target, outcome }) => [target, outcome])),
        new Map([
          [runs, 'move-while-running'],
          [idle, 'moved'],
        ]),
      );
      // Another job asks for itself.
      expectKind(await executions.moveExecution(moving(idle, 'v2', { job: nextId() })), 'moved');
    },
  },
  {
    upholds: 'RE-8, Y-23',
    needs: 'two-clients',
    name: 'who does an item of a job at once with another moves it once',
    async run({ store, another }) {
      const other = await another();
      await mustActivate(store, 'v1');
      await mustRegister(store, 'v2');
      for (let round = 0; round < 8; round += 1) {
        const id = await mustSubmit(store);
        const request = moving(id, 'v2', { from: 'v1', job: nextId() });
        const answers = await Promise.all(
          [store, other, store].map(({ executions }) => executions.moveExecution(request)),
        );
        for (const each of answers) expectKind(each, 'moved');
        assert.deepEqual(await kindsOf(store, id), ['submitted', 'moved']);
      }
    },
  },
  {
    upholds: 'RE-8, RE-16',
    name: 'a move is refused of what runs, has ended, has gone on, is not known, or is pinned elsewhere, and to what is not there',
    async run({ store }) {
      const { executions } = store;
      await mustActivate(store, 'v1');
      for (const name of ['v2', 'old']) await mustRegister(store, name);
      await mustChange(store, 'retire', { name: 'old' });
      const id = await mustSubmit(store);
      const why = async (request: MoveExecution, expected: string) =>
        refusedBy(await executions.moveExecution(request), expected);
      await why(moving(id, 'v9'), 'release-unknown');
      await why(moving(id, 'old'), 'release-retired');
      await why(moving(id, 'v2', { from: 'v3' }), 'pinned-elsewhere');
      await why(moving(id, 'v2', { from: null }), 'pinned-elsewhere');
      await why(moving(id, 'v2', { seq: 2 }), 'execution-went-on');
      await why(moving(nextId(), 'v2'), 'execution-unknown');
      await why(moving(id, 'v2', { project: OTHER_PROJECT }), 'execution-unknown');
      const held = await mustClaimOf(store, await workerOf(store, 'v1'), 'v1');
      await why(moving(id, 'v2'), 'move-while-running');
      await mustFinish(store, held);
      await why(moving(id, 'v2'), 'already-ended');
      assert.equal((await mustRead(store, id)).release, 'v1');
    },
  },
];
