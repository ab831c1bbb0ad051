import assert from 'node:assert/strict';
import type { ProjectName } from '../../../src/execution/names.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  childOf,
  claimAll,
  finishing,
  later,
  mustClaim,
  mustRead,
  mustRecord,
  OTHER_PIPELINE,
  OTHER_PROJECT,
  PROJECT,
  payload,
  running,
  step,
  worker,
  writing,
} from '../worker.ts';

export const recordCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-13, X-4',
    name: 'a record appends its events with seq, time and fence, and leaves the row as it is',
    async run({ store, advance, now }) {
      const held = await running(store, await worker(store));
      const before = await mustRead(store, held.id);
      await advance(70);
      const events = [step('pay'), { kind: 'timer-set', name: 'wait' }] as const;
      const result = await store.executions.record(writing(held, ...events));
      assert.deepEqual(result, { kind: 'recorded', inboxCount: 0, at: now() });
      const { seq: _, ...row } = await mustRead(store, held.id);
      const { seq: __, ...rest } = before;
      assert.deepEqual(row, rest);
      const stored = await store.executions.history({ id: held.id, after: 2, limit: 9 });
      const { fence } = held;
      assert.deepEqual(stored, [
        { ...events[0], seq: 3, at: now(), fence },
        { ...events[1], seq: 4, at: now(), fence },
      ]);
    },
  },
  {
    upholds: 'X-13',
    name: 'the row keeps the last given progress',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const { executions } = store;
      const progress = payload({ percent: 10 });
      expectKind(await executions.record({ ...writing(held), progress }), 'recorded');
      assert.equal((await mustRead(store, held.id)).progress, progress);
      await mustRecord(store, later(held), step('ship'));
      assert.equal((await mustRead(store, held.id)).progress, progress);
      const more = payload({ percent: 20 });
      const bare = { ...later(held, 2), events: [], progress: more };
      expectKind(await executions.record(bare), 'recorded');
      assert.equal((await mustRead(store, held.id)).progress, more);
    },
  },
  {
    upholds: 'X-13',
    name: 'a record submits its children in the same step, and an existing child stays as it is',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const [one, two] = [childOf(held.id, 'child:a#1'), childOf(held.id, 'child:b#1')];
      const spawn = (request: ReturnType<typeof writing>) => store.executions.record(request);
      const first = writing(held, { kind: 'child-spawned', name: 'a' });
      expectKind(await spawn({ ...first, children: [one] }), 'recorded');
      const second = writing(later(held), { kind: 'child-spawned', name: 'b' });
      expectKind(await spawn({ ...second, children: [one, two] }), 'recorded');
      const claims = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      assert.deepEqual(
        claims.map(({ execution }) => execution.id).toSorted(),
        [one.id, two.id].toSorted(),
      );
      assert.deepEqual((await mustRead(store, one.id)).parent, { id: held.id, call: 'child:a#1' });
      assert.equal((await mustRead(store, one.id)).seq, 2);
    },
  },
  {
    upholds: 'X-13, X-1',
    name: 'a refused write adds no children, attachments or progress',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const child = childOf(held.id, 'child:a#1');
      const request = {
        ...writing({ ...held, seq: held.seq + 5 }),
        children: [child],
        progress: payload(1),
        attachments: [{ name: 'a', type: 'text/plain', bytes: new Uint8Array([1]) }],
      };
      expectKind(await store.executions.record(request), 'refused');
      assert.equal(await store.executions.read(child.id), undefined);
      assert.deepEqual(await store.executions.attachments(held.id), []);
      assert.equal((await mustRead(store, held.id)).progress, undefined);
    },
  },
  {
    upholds: 'X-13, X-4',
    name: 'every write of an owner may add children, attachments and progress',
    async run({ store }) {
      const ann = await worker(store);
      const extras = (id: typeof first.id, name: string) => ({
        children: [childOf(id, `child:${name}#1`)],
        attachments: [{ name, type: 'text/plain', bytes: new Uint8Array([7]) }],
        progress: payload(name),
      });
      const first = await running(store, ann);
      const { executions } = store;
      const parked = writing(first, { kind: 'parked' });
      const timer = { wakeInMs: 0, wakeAfter: 0, inboxSeen: 0 };
      expectKind(
        await executions.park({ ...parked, ...timer, ...extras(first.id, 'a') }),
        'parked',
      );
      const second = await mustClaim(store, ann, first.id);
      const back = writing(second, { kind: 'given-back' });
      expectKind(await executions.giveBack({ ...back, ...extras(first.id, 'b') }), 'given-back');
      const third = await mustClaim(store, ann, first.id);
      const end = { ...writing(third, { kind: 'completed' }), status: 'completed' } as const;
      expectKind(await executions.finish({ ...end, ...extras(first.id, 'c') }), 'finished');
      const children = await executions.children({ parent: first.id, limit: 10 });
      assert.equal(children.length, 3);
      const names = (await executions.attachments(first.id)).map(({ name }) => name);
      assert.deepEqual(names.toSorted(), ['a', 'b', 'c']);
      assert.equal((await mustRead(store, first.id)).progress, payload('c'));
    },
  },
  {
    upholds: 'X-4, X-1, X-52',
    name: 'a write repeated exactly from another project is refused as unknown',
    async run({ store }) {
      const ann = await worker(store);
      const { executions } = store;
      const held = await running(store, ann);
      const { id } = held;
      const recorded = writing(held);
      expectKind(await executions.record({ ...recorded, project: PROJECT }), 'recorded');
      const park = { wakeInMs: 0, wakeAfter: 0, inboxSeen: 0 };
      const parked = { ...writing(later(held), { kind: 'parked' }), ...park };
      expectKind(await executions.park(parked), 'parked');
      const back = writing(await mustClaim(store, ann, id), { kind: 'given-back' });
      expectKind(await executions.giveBack(back), 'given-back');
      const ended = finishing(await mustClaim(store, ann, id));
      expectKind(await executions.finish(ended), 'finished');
      const repeated = (project: ProjectName) =>
        Promise.all([
          executions.record({ ...recorded, project }),
          executions.park({ ...parked, project }),
          executions.giveBack({ ...back, project }),
          executions.finish({ ...ended, project }),
        ]);
      const kinds = (await repeated(PROJECT)).map(({ kind }) => kind);
      assert.deepEqual(kinds, ['recorded', 'parked', 'given-back', 'finished']);
      const unknown = { kind: 'refused', why: 'execution-unknown', id };
      assert.deepEqual(await repeated(OTHER_PROJECT), [unknown, unknown, unknown, unknown]);
    },
  },
];
