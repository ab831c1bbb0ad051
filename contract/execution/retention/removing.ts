// A removal deletes everything of an execution, once it is due (F-1, F-4, F-8).

import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import { expectKind } from '../../lease/expect.ts';
import { answering, interactionId, mustOpen, opening } from '../awaits/awaiting.ts';
import { allInteractions } from '../check-awaits.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { ended } from '../repair/repairing.ts';
import {
  finishing,
  mustFinish,
  mustSubmit,
  nextId,
  OTHER_PROJECT,
  PROJECT,
  payload,
  running,
  step,
  submitting,
  worker,
  writing,
} from '../worker.ts';
import { ARCHIVED, mustKeep, mustRemove, removableIds } from './keeping.ts';

export const removingCases: readonly ExecutionCase[] = [
  {
    upholds: 'F-1',
    name: 'the store’s clock decides when an execution is due, and without a retention time it stays',
    async run({ store, advance }) {
      const ann = await worker(store);
      const id = await ended(store, ann, { status: 'completed' });
      const { keepMs: _, ...silent } = { id, project: PROJECT, keepMs: 0 };
      assert.deepEqual(await store.executions.remove(silent), { kind: 'kept', why: 'not-due' });
      await mustKeep(store, id, { keepMs: 5_000, why: 'not-due' });
      await advance(4_999);
      assert.deepEqual(await removableIds(store, { endedMs: 5_000 }), []);
      await mustKeep(store, id, { keepMs: 5_000, why: 'not-due' });
      await advance(1);
      assert.deepEqual(await removableIds(store, { endedMs: 5_000 }), [id]);
      await mustRemove(store, id, { keepMs: 5_000 });
    },
  },
  {
    upholds: 'F-4',
    name: 'a removal deletes all rows of one execution and of no other, and repeating it returns unknown',
    async run({ store }) {
      const ann = await worker(store);
      const labels = { tags: ['vip', 'vip'], attributes: { city: 'Bern', size: 3, paid: true } };
      const held = await running(store, ann, { key: 'order-17', ...labels });
      const other = await mustSubmit(store, { ...labels });
      const request = {
        ...writing(held, step('ask')),
        awaits: [opening(held.id)],
        attachments: [{ name: 'note', type: 'text/plain', bytes: new Uint8Array([1]) }],
      };
      expectKind(await store.executions.record(request), 'recorded');
      const finish = { ...finishing({ ...held, seq: held.seq + 1 }), leavesAwaits: true };
      expectKind(await store.executions.finish(finish), 'finished');
      await mustRemove(store, held.id);
      const { id } = held;
      assert.deepEqual(await store.executions.history({ id, after: 0, limit: 10 }), []);
      assert.deepEqual(await store.executions.inbox({ id, after: 0, limit: 10 }), []);
      assert.deepEqual(await store.executions.attachments(id), []);
      assert.deepEqual(await allInteractions(store), []);
      for (const filter of [{ tag: 'vip' }, { attributes: [{ name: 'size', min: 1 }] }]) {
        const { ids } = await store.executions.find({ project: PROJECT, limit: 9, ...filter });
        assert.deepEqual(ids, [other]);
      }
      assert.equal(await store.executions.archived(id), undefined);
      const again = { id, project: PROJECT, keepMs: 0 };
      assert.deepEqual(await store.executions.remove(again), { kind: 'kept', why: 'unknown' });
    },
  },
  {
    upholds: 'F-4',
    name: 'after a removal the key is free, and a submit with it creates a new execution',
    async run({ store }) {
      const ann = await worker(store);
      const id = await ended(store, ann, { status: 'completed', key: 'order-17', intent: 'a' });
      const request = submitting({ key: 'order-17', intent: 'b' });
      const taken = expectKind(await store.executions.submit(request), 'refused');
      assert.equal(taken.why, 'key-conflict');
      await mustRemove(store, id);
      const fresh = expectKind(await store.executions.submit(request), 'submitted');
      assert.deepEqual([fresh.id, fresh.existing], [request.id, false]);
    },
  },
  {
    upholds: 'F-4, F-12',
    name: 'values kept apart stay, since another execution may have the same',
    async run({ store }) {
      const ann = await worker(store);
      const digest = 'b'.repeat(64);
      const kept = { project: PROJECT, digest };
      await store.executions.putBlob({ ...kept, bytes: new Uint8Array([7]) });
      const input = payload({ ref: digest, size: 1 });
      const id = await ended(store, ann, { status: 'completed', input });
      await mustSubmit(store, { input });
      await mustRemove(store, id);
      assert.deepEqual(await store.executions.getBlob(kept), new Uint8Array([7]));
    },
  },
  {
    upholds: 'F-4',
    name: 'a project cannot remove or list another project’s executions',
    async run({ store }) {
      const ann = await worker(store);
      const id = await ended(store, ann, { status: 'completed', project: OTHER_PROJECT });
      await mustKeep(store, id, { why: 'unknown' });
      const query = { limit: 10, endedMs: 0 };
      const own = await store.executions.removable({ ...query, project: PROJECT });
      assert.deepEqual(own.items, []);
      const [found] = (await store.executions.removable({ ...query, project: OTHER_PROJECT }))
        .items;
      assert.deepEqual([found?.id, found?.status], [id, 'completed']);
      await mustRemove(store, id, { project: OTHER_PROJECT });
    },
  },
  {
    upholds: 'F-8',
    name: 'the cursor of a project’s page is never another project’s execution',
    async run({ store }) {
      const ann = await worker(store);
      const own = [];
      for (let n = 0; n < 3; n += 1) {
        own.push(await ended(store, ann, { status: 'completed' }));
        await ended(store, ann, { status: 'completed', project: OTHER_PROJECT });
      }
      const seen: unknown[] = [];
      for (let after: ExecutionId | undefined; ; ) {
        const from = after === undefined ? {} : { after };
        const query = { limit: 1, endedMs: 0, project: PROJECT, ...from };
        const { items, next } = await store.executions.removable(query);
        if (next === undefined) break;
        seen.push([items.map(({ id }) => id), next]);
        after = next;
      }
      assert.deepEqual(
        seen,
        own.map((id) => [[id], id]),
      );
    },
  },
  {
    upholds: 'F-8',
    name: 'a page counts the executions it looked at, and has a cursor until the end',
    async run({ store }) {
      const ann = await worker(store);
      const ids = [];
      for (let n = 0; n < 5; n += 1) ids.push(await ended(store, ann, { status: 'completed' }));
      await mustSubmit(store);
      for (const limit of [1, 2, 3, 6, 100]) {
        assert.deepEqual(await removableIds(store, { limit }), ids, `pages of ${limit}`);
      }
      const before = ids[2];
      assert.ok(before !== undefined);
      const page = await store.executions.removable({ limit: 10, endedMs: 0, before });
      assert.deepEqual(
        page.items.map(({ id }) => id),
        ids.slice(0, 2),
      );
    },
  },
  {
    upholds: 'F-6',
    name: 'an execution that changed since it was archived stays',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await mustOpen(store, held);
      const finish = { ...finishing({ ...held, seq: held.seq + 1 }), leavesAwaits: true };
      expectKind(await store.executions.finish(finish), 'finished');
      expectKind(await store.executions.answer(answering(interactionId(held.id))), 'refused');
      await mustKeep(store, held.id, { archived: ARCHIVED, why: 'changed' });
      await mustRemove(store, held.id, { archived: { ...ARCHIVED, seen: { late: 1 } } });
    },
  },
  {
    upholds: 'F-6',
    name: 'an execution that was re-driven since it was archived stays',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await mustFinish(store, held);
      const seen = { late: 0, redrivenBy: nextId() };
      await mustKeep(store, held.id, { archived: { ...ARCHIVED, seen }, why: 'changed' });
      await mustRemove(store, held.id, { archived: ARCHIVED });
    },
  },
];
