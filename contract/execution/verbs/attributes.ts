// Attributes that the owner of an execution changes, and the lists that find it by them.

import assert from 'node:assert/strict';
import type { Attributes } from '../../../src/execution/execution.ts';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { AttributeFilter } from '../../../src/store/contract/execution-reads.ts';
import type { CoordinatorStore, OwnerWrite } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  endSessionOf,
  finishing,
  type Held,
  later,
  mustClaim,
  mustRead,
  mustSubmit,
  PROJECT,
  parking,
  running,
  step,
  worker,
  writing,
} from '../worker.ts';

function changing(held: Held, attributes: Attributes): OwnerWrite {
  return { ...writing(held, { kind: 'progressed' }), attributes };
}

/** Lists of one filter use the index of labels, and lists of two compare the row. */
async function isFoundBy(
  { executions }: CoordinatorStore,
  id: ExecutionId,
  filter: AttributeFilter,
): Promise<boolean> {
  const plain = { project: PROJECT, limit: 100 };
  const alone = await executions.find({ ...plain, attributes: [filter] });
  const checked = await executions.find({ ...plain, status: ['running'], attributes: [filter] });
  assert.deepEqual(alone.ids, checked.ids);
  return alone.ids.includes(id);
}

const BEFORE = { stage: 'queued', amount: 3, isRush: false, customer: 'c-1' };

export const attributeCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-132, X-22',
    name: 'an owner replaces the attributes, and lists find the execution by the new ones only',
    async run({ store }) {
      const about = { attributes: BEFORE, tags: ['red'], traceparent: '00-1-2-03', key: 'k' };
      const held = await running(store, await worker(store), { ...about, intent: 'i' });
      const before = await mustRead(store, held.id);
      const attributes = { stage: 'packed', amount: 7.5, isRush: true, customer: 'c-1', box: '7' };
      expectKind(await store.executions.record(changing(held, attributes)), 'recorded');
      assert.deepEqual(await mustRead(store, held.id), { ...before, attributes });
      const finds = (filter: AttributeFilter) => isFoundBy(store, held.id, filter);
      for (const [name, equals] of Object.entries(attributes)) {
        assert.equal(await finds({ name, equals }), true, `${name} is ${equals}`);
      }
      for (const [name, equals] of Object.entries(BEFORE)) {
        assert.equal(await finds({ name, equals }), name === 'customer', `${name} was ${equals}`);
      }
      assert.equal(await finds({ name: 'amount', min: 7, max: 8 }), true);
      assert.equal(await finds({ name: 'amount', max: 5 }), false);
      const red = await store.executions.find({ project: PROJECT, limit: 9, tag: 'red' });
      assert.deepEqual(red.ids, [held.id]);
      // A value of another type is another value.
      const typed = { ...attributes, box: 7, isRush: 'true' };
      expectKind(await store.executions.record(changing(later(held), typed)), 'recorded');
      assert.equal(await finds({ name: 'box', equals: '7' }), false);
      assert.equal(await finds({ name: 'box', equals: 7 }), true);
      assert.equal(await finds({ name: 'isRush', equals: true }), false);
    },
  },
  {
    upholds: 'X-132',
    name: 'a write without attributes leaves them, and an empty set removes all',
    async run({ store }) {
      const held = await running(store, await worker(store), { attributes: BEFORE });
      expectKind(await store.executions.record(writing(held)), 'recorded');
      assert.deepEqual((await mustRead(store, held.id)).attributes, BEFORE);
      expectKind(await store.executions.record(changing(later(held), {})), 'recorded');
      assert.deepEqual((await mustRead(store, held.id)).attributes, {});
      assert.equal(await isFoundBy(store, held.id, { name: 'amount' }), false);
      assert.equal(await isFoundBy(store, held.id, { name: 'stage' }), false);
    },
  },
  {
    upholds: 'X-132, X-13',
    name: 'every write of an owner may change attributes, and the next claim gets them',
    async run({ store }) {
      const ann = await worker(store);
      const { executions } = store;
      const first = await running(store, ann);
      const to = (stage: string) => ({ attributes: { stage } });
      expectKind(
        await executions.park({ ...parking(first, { wakeInMs: 0 }), ...to('parked') }),
        'parked',
      );
      const second = await mustClaim(store, ann, first.id);
      assert.deepEqual(second.claimed.execution.attributes, { stage: 'parked' });
      const back = { ...writing(second, { kind: 'given-back' }), ...to('returned') };
      expectKind(await executions.giveBack(back), 'given-back');
      const third = await mustClaim(store, ann, first.id);
      assert.deepEqual(third.claimed.execution.attributes, { stage: 'returned' });
      expectKind(await executions.finish({ ...finishing(third), ...to('done') }), 'finished');
      assert.deepEqual((await mustRead(store, first.id)).attributes, { stage: 'done' });
      const query = { project: PROJECT, limit: 9, attributes: [{ name: 'stage', equals: 'done' }] };
      assert.deepEqual((await executions.find(query)).ids, [first.id]);
    },
  },
  {
    upholds: 'X-132, X-1',
    name: 'attributes of a refused write are not kept: of a replaced worker, and of another seq',
    async run({ store }) {
      const ann = await worker(store, 'ann');
      const id = await mustSubmit(store, { attributes: BEFORE });
      const held = await mustClaim(store, ann, id);
      const ahead = changing(later(held, 3), { stage: 'wrong' });
      assert.equal(expectKind(await store.executions.record(ahead), 'refused').why, 'seq-taken');
      await endSessionOf(store, ann);
      const next = await mustClaim(store, await worker(store, 'bob'), id);
      const late = changing(held, { stage: 'late' });
      assert.equal(expectKind(await store.executions.record(late), 'refused').why, 'superseded');
      assert.deepEqual((await mustRead(store, id)).attributes, BEFORE);
      assert.equal(await isFoundBy(store, id, { name: 'stage', equals: 'late' }), false);
      const both = { ...writing(next, step('a'), step('b')), attributes: { stage: 'right' } };
      expectKind(await store.executions.record(both), 'recorded');
      // A repeated write has no further effect.
      expectKind(await store.executions.record(changing(later(next, 2), {})), 'recorded');
      expectKind(await store.executions.record(both), 'recorded');
      assert.deepEqual((await mustRead(store, id)).attributes, {});
    },
  },
];
