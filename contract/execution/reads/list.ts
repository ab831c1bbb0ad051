import assert from 'node:assert/strict';
import type { ExecutionId, PipelineName } from '../../../src/execution/names.ts';
import type { ListExecutions, ListPosition } from '../../../src/store/contract/execution-reads.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { ended, letter, mustRedrive, redriving } from '../repair/repairing.ts';
import {
  childOf,
  claimAll,
  commanding,
  heldOf,
  later,
  mustClaim,
  mustFinish,
  mustPark,
  mustRead,
  mustSubmit,
  OTHER_PIPELINE,
  OTHER_PROJECT,
  PIPELINE,
  PROJECT,
  running,
  worker,
  writing,
} from '../worker.ts';

async function listIds(
  store: CoordinatorStore,
  query: Partial<ListExecutions> = {},
): Promise<readonly ExecutionId[]> {
  const { ids } = await store.executions.find({ project: PROJECT, limit: 100, ...query });
  return ids;
}

export const listCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-22',
    name: 'a list ends with the id down to which it looks, whatever it is filtered by',
    async run({ store }) {
      const about = { tags: ['red'], attributes: { size: 1, name: 'ann' } };
      const ids: ExecutionId[] = [];
      for (let nth = 0; nth < 4; nth += 1) {
        const id = await mustSubmit(store, about);
        await store.executions.pause(commanding(id));
        ids.unshift(id);
      }
      const [newest, , downTo] = ids as [ExecutionId, ExecutionId, ExecutionId];
      const filters: readonly Partial<ListExecutions>[] = [
        ...[{ tag: 'red' }, { hold: 'paused' }, { status: ['queued'], tag: 'red' }],
        { attributes: [{ name: 'size', equals: 1 }], tag: 'red' },
        { attributes: [{ name: 'name', equals: 'ann' }], hold: 'paused' },
        { attributes: [{ name: 'size' }], hold: 'paused' },
        { attributes: [{ name: 'size', min: 0 }], tag: 'red' },
      ] as const;
      for (const filter of filters) {
        const what = JSON.stringify(filter);
        assert.deepEqual(await listIds(store, { ...filter, downTo }), ids.slice(0, 3), what);
        const below = { ...filter, downTo, before: newest };
        assert.deepEqual(await listIds(store, below), ids.slice(1, 3), what);
        // There are few rows, so a page can look at all of them.
        const query = { project: PROJECT, limit: 100, ...filter };
        assert.equal((await store.executions.find(query)).next, undefined, what);
      }
    },
  },
  {
    upholds: 'X-22',
    name: 'lists leave out the engine’s own executions, with any filter, unless the filter names their pipeline',
    async run({ store }) {
      const pipeline = 'holdfast.answer/order' as PipelineName;
      const tags = ['red'];
      const attributes = { size: 1 };
      const ann = await worker(store);
      const busy = await running(store, ann, { tags, attributes });
      const own = await mustSubmit(store, { pipeline, tags, attributes });
      const users = await mustSubmit(store, { tags, attributes });
      const filters: readonly Partial<ListExecutions>[] = [
        ...[{}, { tag: 'red' }, { attributes: [{ name: 'size', equals: 1 }] }],
        { status: ['queued', 'running'] },
      ];
      for (const filter of filters) {
        const found = await listIds(store, filter);
        assert.deepEqual(new Set(found), new Set([users, busy.id]), JSON.stringify(filter));
        assert.deepEqual(await listIds(store, { ...filter, pipeline }), [own]);
      }
      await store.executions.pause(commanding(own));
      assert.deepEqual(await listIds(store, { hold: 'paused' }), []);
      assert.deepEqual(await listIds(store, { hold: 'paused', pipeline }), [own]);
    },
  },
  {
    upholds: 'X-22',
    name: 'lists are newest first and continue below a cursor, whatever changes meanwhile',
    async run({ store }) {
      const ids: ExecutionId[] = [];
      for (let nth = 0; nth < 7; nth += 1) ids.push(await mustSubmit(store));
      const newest = ids.toReversed();
      assert.deepEqual(await listIds(store), newest);
      const first = await listIds(store, { limit: 3 });
      assert.deepEqual(first, newest.slice(0, 3));
      await mustSubmit(store);
      const before = first.at(-1);
      assert(before !== undefined);
      assert.deepEqual(await listIds(store, { limit: 3, before }), newest.slice(3, 6));
      const last = newest.at(-1);
      assert(last !== undefined);
      assert.deepEqual(await listIds(store, { before: last }), []);
    },
  },
  {
    upholds: 'X-22',
    name: 'lists are filtered by one or several statuses and by pipeline',
    async run({ store }) {
      const ann = await worker(store);
      const done = await running(store, ann);
      await mustFinish(store, done);
      const waiting = await running(store, ann);
      await mustPark(store, waiting);
      const busy = await running(store, ann);
      const queued = await mustSubmit(store);
      const other = await mustSubmit(store, { pipeline: OTHER_PIPELINE });
      const gone = await mustSubmit(store, { pipeline: OTHER_PIPELINE });
      await store.executions.cancel(commanding(gone));
      assert.deepEqual(await listIds(store, { status: ['completed'] }), [done.id]);
      assert.deepEqual(await listIds(store, { status: ['running'] }), [busy.id]);
      assert.deepEqual(await listIds(store, { status: ['queued', 'waiting'] }), [
        other,
        queued,
        waiting.id,
      ]);
      assert.deepEqual(await listIds(store, { pipeline: OTHER_PIPELINE }), [gone, other]);
      const both = { pipeline: OTHER_PIPELINE, status: ['queued'] } as const;
      assert.deepEqual(await listIds(store, both), [other]);
      const next = { status: ['completed', 'cancelled'], limit: 1 } as const;
      assert.deepEqual(await listIds(store, next), [gone]);
      assert.deepEqual(await listIds(store, { ...next, before: gone }), [done.id]);
    },
  },
  {
    upholds: 'X-22',
    name: 'lists are filtered by tag',
    async run({ store }) {
      const one = await mustSubmit(store, { tags: ['eu', 'vip'] });
      const two = await mustSubmit(store, { tags: ['eu'] });
      await mustSubmit(store, { tags: ['eu'], project: OTHER_PROJECT });
      await mustSubmit(store, { tags: ['EU', 'e'] });
      assert.deepEqual(await listIds(store, { tag: 'eu' }), [two, one]);
      assert.deepEqual(await listIds(store, { tag: 'vip' }), [one]);
      assert.deepEqual(await listIds(store, { tag: 'eu', limit: 1 }), [two]);
      assert.deepEqual(await listIds(store, { tag: 'eu', before: two }), [one]);
      assert.deepEqual(await listIds(store, { tag: 'none' }), []);
    },
  },
  {
    upholds: 'X-22',
    name: 'lists are filtered by attribute, equal by value and type, or within a range',
    async run({ store }) {
      const of = (attributes: Record<string, string | number | boolean>) =>
        mustSubmit(store, { attributes });
      const text = await of({ total: '10' });
      const small = await of({ total: 2.5 });
      const ten = await of({ total: 10, gift: true });
      const big = await of({ total: 100, gift: false });
      const named = (filter: object) =>
        listIds(store, { attributes: [{ name: 'total', ...filter }] });
      assert.deepEqual(await named({ equals: 10 }), [ten]);
      assert.deepEqual(await named({ equals: '10' }), [text]);
      assert.deepEqual(await named({ min: 10 }), [big, ten]);
      assert.deepEqual(await named({ max: 10 }), [ten, small]);
      assert.deepEqual(await named({ min: 3, max: 50 }), [ten]);
      assert.deepEqual(await listIds(store, { attributes: [{ name: 'gift', equals: true }] }), [
        ten,
      ]);
      assert.deepEqual(
        await listIds(store, { attributes: [{ name: 'gift', equals: 'true' }] }),
        [],
      );
      const paged = { attributes: [{ name: 'total', min: 0 }], limit: 2 };
      assert.deepEqual(await listIds(store, paged), [big, ten]);
      assert.deepEqual(await listIds(store, { ...paged, before: ten }), [small]);
    },
  },
  {
    upholds: 'X-22',
    name: 'lists are filtered by hold, also for executions with several holds',
    async run({ store }) {
      const ann = await worker(store);
      const one = { concurrency: { key: 'one', limit: 1 } };
      const drifted = await running(store, ann);
      const block = { ...writing(drifted, { kind: 'blocked' }), blocked: true };
      expectKind(await store.executions.giveBack(block), 'given-back');
      const first = await running(store, ann, one);
      const [behind, both, eu] = [
        await mustSubmit(store, one),
        await mustSubmit(store, one),
        await mustSubmit(store, { tags: ['eu'], attributes: { total: 5 } }),
      ];
      const free = await mustSubmit(store);
      await mustSubmit(store, { ...one, project: OTHER_PROJECT });
      for (const id of [both, eu, drifted.id]) await store.executions.pause(commanding(id));
      assert.deepEqual(await listIds(store, { hold: 'concurrency-limit' }), [both, behind]);
      assert.deepEqual(await listIds(store, { hold: 'blocked' }), [drifted.id]);
      const paused = { hold: 'paused' } as const;
      assert.deepEqual(await listIds(store, paused), [eu, both, drifted.id]);
      assert.deepEqual(await listIds(store, { ...paused, limit: 2 }), [eu, both]);
      assert.deepEqual(await listIds(store, { ...paused, limit: 2, before: both }), [drifted.id]);
      assert.deepEqual(await listIds(store, { ...paused, tag: 'eu' }), [eu]);
      const five = { name: 'total', equals: 5 };
      assert.deepEqual(await listIds(store, { ...paused, attributes: [five] }), [eu]);
      assert.deepEqual(await listIds(store, { hold: 'blocked', attributes: [five] }), []);
      assert.deepEqual(await listIds(store, { ...paused, status: ['waiting'] }), []);
      assert.deepEqual(await listIds(store, { ...paused, pipeline: OTHER_PIPELINE }), []);
      await store.executions.resume(commanding(drifted.id));
      await store.executions.cancel(commanding(eu));
      assert.deepEqual(await listIds(store, { hold: 'blocked' }), []);
      assert.deepEqual(await listIds(store, paused), [both]);
      assert.equal((await listIds(store)).length, 6);
      assert((await listIds(store)).includes(first.id) && free !== undefined);
    },
  },
  {
    upholds: 'X-22',
    name: 'filters combine',
    async run({ store }) {
      const wanted = { tags: ['eu'], attributes: { total: 5 }, pipeline: OTHER_PIPELINE };
      const hit = await mustSubmit(store, wanted);
      await mustSubmit(store, { ...wanted, tags: [] });
      await mustSubmit(store, { ...wanted, attributes: {} });
      await mustSubmit(store, { tags: ['eu'], attributes: { total: 5 } });
      const gone = await mustSubmit(store, wanted);
      await store.executions.cancel(commanding(gone));
      const query = {
        tag: 'eu',
        attributes: [{ name: 'total', equals: 5 }],
        pipeline: OTHER_PIPELINE,
        status: ['queued'],
      } as const;
      assert.deepEqual(await listIds(store, query), [hit]);
    },
  },
  {
    upholds: 'X-22',
    name: 'children are listed oldest first, in pages, with their status',
    async run({ store }) {
      const ann = await worker(store);
      const parent = await running(store, ann);
      const submits = [1, 2, 3, 4, 5].map((nth) => childOf(parent.id, `child:${nth}#1`));
      for (const submit of submits) {
        expectKind(await store.executions.submit(submit), 'submitted');
      }
      const [first] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      assert(first !== undefined);
      await mustFinish(store, heldOf(first, ann));
      const ids = submits.map(({ id }) => id);
      const all = await store.executions.children({ parent: parent.id, limit: 100 });
      assert.deepEqual(
        all,
        ids.map((id) => ({
          id,
          pipeline: OTHER_PIPELINE,
          status: id === first.execution.id ? 'completed' : 'running',
        })),
      );
      const page = { parent: parent.id, limit: 2 };
      const second = ids[1];
      assert(second !== undefined);
      const [one, two] = [
        await store.executions.children(page),
        await store.executions.children({ ...page, after: second }),
      ];
      assert.deepEqual(
        [...one, ...two].map(({ id }) => id),
        ids.slice(0, 4),
      );
    },
  },
  {
    upholds: 'X-95, Y-20',
    name: 'a key finds the execution and its re-drives, until they are removed',
    async run({ store, advance }) {
      const ann = await worker(store);
      const about = { tags: ['eu'], deadLetter: letter() };
      const first = await ended(store, ann, { ...about, key: 'order/17' });
      await ended(store, ann, { ...about, key: 'order/170' });
      const again = async (of: ExecutionId): Promise<ExecutionId> => {
        const { submit } = redriving(of);
        const keyed = { ...submit, lineageKey: 'order/17', lineage: first, tags: ['eu'] };
        const id = await mustRedrive(store, of, { submit: keyed });
        await mustFinish(store, await mustClaim(store, ann, id), { status: 'failed' });
        return id;
      };
      const second = await again(first);
      const third = await again(second);
      assert.equal((await mustRead(store, third)).lineageKey, 'order/17');
      const found = async (query: Partial<ListExecutions>): Promise<readonly ExecutionId[]> => {
        const all = { project: PROJECT, limit: 10, ...query };
        return (await store.executions.find(all)).ids;
      };
      const chain = [third, second, first];
      assert.deepEqual(await found({ key: 'order/17' }), chain);
      assert.deepEqual(await found({ key: 'order/17', sort: 'oldest' }), chain.toReversed());
      assert.deepEqual(await found({ key: 'order/17', before: third }), [second, first]);
      // The key is checked row by row, as another filter has fewer rows.
      assert.deepEqual(await found({ keyPrefix: 'order/17', parent: first }), []);
      assert.equal((await found({ keyPrefix: 'order/', tag: 'eu' })).length, 4);
      assert.deepEqual(await found({ key: 'order/17', tag: 'eu', limit: 2 }), [third, second]);
      assert.deepEqual(await found({ key: 'order/17', code: 'declined' }), [first]);
      assert.deepEqual(await found({ key: 'order/17', project: OTHER_PROJECT }), []);
      await advance(1_000);
      for (const [id, rest] of [
        [first, [third, second]],
        [second, [third]],
        [third, []],
      ] as const) {
        const removed = await store.executions.remove({ id, project: PROJECT, keepMs: 0 });
        expectKind(removed, 'removed');
        assert.deepEqual(await found({ key: 'order/17' }), rest);
      }
    },
  },
  {
    upholds: 'X-95',
    name: 'a list has one key, a prefix of keys, the children of one execution, or one code of failure',
    async run({ store }) {
      const ann = await worker(store);
      const first = await mustSubmit(store, { key: 'order/17' });
      const second = await mustSubmit(store, { key: 'order/18', lane: 'batch' });
      const third = await mustSubmit(store, { key: 'bill/17' });
      await mustSubmit(store, { key: 'order/17', project: OTHER_PROJECT });
      const plain = await mustSubmit(store);
      const [claimed] = await claimAll(store, ann, { pipelines: [PIPELINE], project: PROJECT });
      const held = heldOf(claimed as NonNullable<typeof claimed>, ann);
      const children = [childOf(held.id, 'child:a#1'), childOf(held.id, 'child:a#2')];
      const write = { ...writing(held), children };
      expectKind(await store.executions.record(write), 'recorded');
      const letter = {
        category: 'permanent',
        code: 'declined',
        reason: 'No.',
        attempts: 1,
      } as const;
      await mustFinish(store, later(held), { status: 'failed', deadLetter: letter });
      const found = async (query: Partial<ListExecutions>): Promise<readonly ExecutionId[]> => {
        const all = { project: PROJECT, limit: 10, ...query };
        return (await store.executions.find(all)).ids;
      };
      const ids = children.map(({ id }) => id);
      assert.deepEqual(await found({ key: 'order/17' }), [first]);
      assert.deepEqual(await found({ key: 'order/1' }), []);
      assert.deepEqual(await found({ keyPrefix: 'order/' }), [second, first]);
      assert.deepEqual(await found({ keyPrefix: 'order/', limit: 1 }), [second]);
      assert.deepEqual(await found({ keyPrefix: 'order/', before: second }), [first]);
      assert.deepEqual(await found({ keyPrefix: 'order/', downTo: second }), [second]);
      assert.deepEqual(await found({ parent: held.id }), ids.toReversed());
      assert.deepEqual(await found({ parent: held.id, status: ['failed'] }), []);
      assert.deepEqual(await found({ parent: second }), held.id === second ? ids.toReversed() : []);
      assert.deepEqual(await found({ code: 'declined' }), [held.id]);
      assert.deepEqual(await found({ code: 'declined', status: ['completed'] }), []);
      const top = [plain, third, second, first];
      assert.deepEqual(await found({ topLevel: true }), top);
      assert.deepEqual(await found({ topLevel: true, downTo: third }), [plain, third]);
      assert.deepEqual(await found({ downTo: third, before: ids[0] as ExecutionId }), [
        plain,
        third,
      ]);
      assert.deepEqual(await found({ parent: held.id, topLevel: true }), []);
    },
  },
  {
    upholds: 'X-95',
    name: 'a list and its count have executions whose dead letter was re-driven, or was not',
    async run({ store }) {
      const ann = await worker(store);
      const old = await ended(store, ann, { deadLetter: letter() });
      const left = await ended(store, ann, { deadLetter: letter() });
      await ended(store, ann, { status: 'cancelled' });
      const again = await mustRedrive(store, old);
      const queued = await mustSubmit(store);
      const both = async (query: Partial<ListExecutions> = {}) =>
        Promise.all([true, false].map((redriven) => listIds(store, { redriven, ...query })));
      assert.deepEqual(await both(), [[old], [left]]);
      assert.deepEqual(await both({ status: ['failed'] }), [[old], [left]]);
      assert.deepEqual(await both({ status: ['queued'] }), [[], []]);
      assert.deepEqual(await both({ sort: 'ended' }), [[old], [left]]);
      assert.deepEqual(await listIds(store, { status: ['queued'] }), [queued, again]);
      const count = (redriven: boolean) =>
        store.executions.count({ project: PROJECT, limit: 10, redriven });
      assert.deepEqual([await count(false), await count(true)], [{ count: 1 }, { count: 1 }]);
    },
  },
  {
    upholds: 'X-95',
    name: 'several attributes, tag, code, parent and key combine, and each finds the same',
    async run({ store }) {
      const of = (attributes: Record<string, string | number | boolean>, key: string) =>
        mustSubmit(store, { attributes, key, tags: ['eu'] });
      const odd = 'a"b\\$.c\n\u2028?';
      const hit = await of(
        { total: 10, region: 'north', gift: true, [odd]: -1e-7, 'a=b': 1 },
        'order/1',
      );
      await of({ total: 10, region: 'south', gift: true }, 'order/2');
      await of({ total: 99, region: 'north', gift: true }, 'order/3');
      await of({ total: '10', region: 'north', gift: 'true' }, 'order/4');
      await of({ total: 10, region: 'north', gift: false }, 'bill/1');
      await mustSubmit(store, { tags: ['eu'], key: 'order/5' });
      const total = { name: 'total', min: 5, max: 50 };
      const region = { name: 'region', equals: 'north' };
      const gift = { name: 'gift', equals: true };
      const all = { tag: 'eu', keyPrefix: 'order/', topLevel: true } as const;
      for (const attributes of [
        [total, region, gift],
        [gift, total, region],
        [region, gift, { name: 'total', equals: 10 }],
        [region, gift, { name: 'total', equals: 10, min: 10, max: 11 }],
        [{ name: 'a=b' }],
        [{ name: odd, equals: -1e-7 }, { name: 'a=b' }],
        [{ name: odd, min: -1e-6, max: 1e21 }, region],
      ]) {
        const what = JSON.stringify(attributes);
        assert.deepEqual(await listIds(store, { ...all, attributes }), [hit], what);
        assert.deepEqual(await listIds(store, { ...all, attributes, tag: 'us' }), [], what);
        assert.deepEqual(await listIds(store, { ...all, attributes, code: 'x' }), [], what);
        assert.deepEqual(await listIds(store, { ...all, attributes, parent: hit }), [], what);
      }
      const none = { name: 'total', equals: 10, min: 11 };
      assert.deepEqual(await listIds(store, { attributes: [none] }), []);
      assert.deepEqual(await listIds(store, { attributes: [none, region] }), []);
      const found = await store.executions.count({ project: PROJECT, limit: 1, ...all });
      assert.deepEqual(found, { count: 5 });
    },
  },
  {
    upholds: 'X-95',
    name: 'a list by worker has what its live session runs now, by owner or by session',
    async run({ store }) {
      const ann = await worker(store);
      const busy = await running(store, ann, { tags: ['eu'] });
      const done = await running(store, ann);
      await mustFinish(store, done);
      await mustSubmit(store);
      for (const name of [ann.id, ann.owner]) {
        assert.deepEqual(await listIds(store, { worker: name }), [busy.id]);
        assert.deepEqual(await listIds(store, { worker: name, tag: 'eu' }), [busy.id]);
        assert.deepEqual(await listIds(store, { worker: name, tag: 'us' }), []);
      }
      assert.deepEqual(await listIds(store, { worker: 'nobody' }), []);
    },
  },
  {
    upholds: 'X-95',
    name: 'a list is sorted by submission or by end, with any filter, and continues after a position',
    async run({ store, advance }) {
      const ann = await worker(store);
      const about = { tags: ['eu'], attributes: { size: 1 }, key: 'order/1' };
      const first = await running(store, ann, about);
      const second = await running(store, ann, { ...about, key: 'order/2' });
      const open = await mustSubmit(store, { ...about, key: 'order/3' });
      await mustFinish(store, second);
      await advance(5);
      await mustFinish(store, first);
      const filters: readonly Partial<ListExecutions>[] = [
        ...[{}, { tag: 'eu' }, { attributes: [{ name: 'size', min: 1 }] }, { keyPrefix: 'order/' }],
        { topLevel: true, attributes: [{ name: 'size', equals: 1 }] },
        { pipeline: PIPELINE, status: ['completed', 'queued'] },
      ];
      const pagesOf = async (query: Partial<ListExecutions>): Promise<readonly string[]> => {
        const ids: string[] = [];
        for (let after: ListPosition | undefined; ; ) {
          const from = after && { after };
          const page = { project: PROJECT, limit: 1, ...query, ...from };
          const found = await store.executions.find(page);
          ids.push(...found.ids);
          after = found.next;
          if (after === undefined) return ids;
          assert.equal(after.endedAt !== undefined, query.sort === 'ended', JSON.stringify(query));
        }
      };
      for (const filter of filters) {
        const what = JSON.stringify(filter);
        const newest = [open, second.id, first.id];
        assert.deepEqual(await pagesOf({ ...filter, sort: 'newest' }), newest, what);
        assert.deepEqual(await pagesOf({ ...filter, sort: 'oldest' }), newest.toReversed(), what);
        const ended = [first.id, second.id];
        assert.deepEqual(await pagesOf({ ...filter, sort: 'ended' }), ended, what);
        const below = { ...filter, before: open, downTo: second.id };
        for (const sort of ['newest', 'oldest', 'ended'] as const) {
          assert.deepEqual(await pagesOf({ ...below, sort }), [second.id], what);
        }
      }
    },
  },
  {
    upholds: 'X-95',
    name: 'executions are found by when they ended, in every order and with other filters',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const [early, late] = [await running(store, ann), await running(store, ann)];
      const inside = await running(store, ann, { tags: ['eu'] });
      const second = await running(store, ann);
      await mustFinish(store, early);
      await advance(10);
      const endedFrom = now();
      await mustFinish(store, inside);
      await advance(10);
      await mustFinish(store, second);
      await advance(10);
      const endedTo = now();
      await mustFinish(store, late);
      await mustSubmit(store);
      const found = async (query: Partial<ListExecutions>): Promise<readonly string[]> => {
        const { ids, next } = await store.executions.find({ project: PROJECT, limit: 2, ...query });
        if (next === undefined) return ids;
        return [...ids, ...(await found({ ...query, after: next }))];
      };
      const range = { endedFrom, endedTo };
      assert.deepEqual(await found(range), [second.id, inside.id]);
      assert.deepEqual(await found({ ...range, limit: 1 }), [second.id, inside.id]);
      assert.deepEqual(await found({ ...range, sort: 'oldest' }), [inside.id, second.id]);
      const byEnd = { ...range, sort: 'ended', limit: 1 } as const;
      assert.deepEqual(await found(byEnd), [second.id, inside.id]);
      assert.deepEqual(await found({ ...byEnd, tag: 'eu' }), [inside.id]);
      assert.deepEqual(await found({ ...range, tag: 'eu' }), [inside.id]);
      assert.deepEqual(await found({ ...range, status: ['failed'] }), []);
      assert.deepEqual(await found({ endedTo: endedFrom }), [early.id]);
      assert.deepEqual(await found({ endedFrom: endedTo, sort: 'ended' }), [late.id]);
      const { count } = await store.executions.count({ ...range, project: PROJECT, limit: 1 });
      assert.equal(count, 2);
    },
  },
  {
    upholds: 'X-114',
    name: 'the filter for stale owners finds executions of lapsed, overdue and ended sessions, and no others',
    async run({ store, advance }) {
      const found = async (
        query: Partial<ListExecutions> = {},
      ): Promise<readonly ExecutionId[]> => {
        const all = { project: PROJECT, limit: 10, staleOwner: true, ...query };
        return (await store.executions.find(all)).ids;
      };
      const own = async (name: string, options: Parameters<typeof worker>[2] = {}) => {
        const who = await worker(store, name, options);
        const id = await mustSubmit(store);
        await mustClaim(store, who, id);
        return { id, who };
      };
      const ann = await own('ann', { ttlMs: 60_000, graceMs: 10_000 });
      const bob = await own('bob');
      assert.deepEqual(await found(), []);
      await advance(50_000);
      assert.deepEqual(await found(), [ann.id]);
      const { id, owner } = ann.who;
      expectKind(await store.sessions.heartbeat({ id, owner }), 'alive');
      assert.deepEqual(await found(), []);
      await advance(60_000);
      assert.deepEqual(await found(), [ann.id]);
      const by = { kind: 'operator', actor: 'olga', reason: 'gone' } as const;
      await store.sessions.end({ id: bob.who.id, by });
      assert.deepEqual(await found(), [bob.id, ann.id]);
      assert.deepEqual(await found({ worker: 'ann' }), [ann.id]);
      assert.deepEqual(await found({ worker: 'cleo' }), []);
      assert.deepEqual(await found({ status: ['queued'] }), []);
      assert.deepEqual(await found({ project: OTHER_PROJECT }), []);
      // A child session is as stale as its parent.
      const cleo = await worker(store, 'cleo');
      const child = await worker(store, 'child', { parent: cleo.id });
      await store.sessions.sweep({ limit: 100 });
      assert.equal((await claimAll(store, child)).length, 2);
      assert.deepEqual(await found(), []);
      await store.sessions.end({ id: cleo.id, by });
      assert.deepEqual(await found(), [bob.id, ann.id]);
    },
  },
];
