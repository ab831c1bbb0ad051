// Counts of refused writes (J-11, J-12).

import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import {
  REFUSED_WRITES_MAX,
  type RefusedWrite,
  type RefusedWrites,
} from '../../../src/features/audit/model.ts';
import type { ListRefusals, RefusalPlace } from '../../../src/features/audit/port.ts';
import { toFence } from '../../../src/lease/fence.ts';
import type { Owner, SessionId } from '../../../src/lease/names.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { laterBy } from '../../../src/support/clock.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  mustClaim,
  mustGiveBack,
  mustSubmit,
  nextId,
  OTHER_PROJECT,
  PROJECT,
  worker,
} from '../worker.ts';

const FENCE = 2 ** 40 + 7;
const SESSION = '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e' as SessionId;

function refusing(execution: ExecutionId, options: Partial<RefusedWrites> = {}): RefusedWrites {
  return {
    ...{ execution, fence: toFence(FENCE), verb: 'record', project: PROJECT },
    ...{ why: 'superseded', newest: toFence(FENCE + 1), count: 1, firstAgoMs: 0, lastAgoMs: 0 },
    transport: 'http',
    session: SESSION,
    owner: 'worker-1' as Owner,
    ...options,
  };
}

async function all(
  store: CoordinatorStore,
  query: Partial<ListRefusals> = {},
): Promise<readonly RefusedWrite[]> {
  const found: RefusedWrite[] = [];
  const limit = query.limit ?? 1_000;
  for (let before: RefusalPlace | undefined; ; ) {
    const cursor = before === undefined ? {} : { before };
    const page = await store.executions.refusals({ project: PROJECT, ...query, limit, ...cursor });
    found.push(...page);
    before = page.at(-1);
    if (before === undefined || page.length < limit) return found;
  }
}

export const refusalCases: readonly ExecutionCase[] = [
  {
    upholds: 'J-11, J-14',
    name: 'refused writes are counted by execution, fence and verb, with the last reason and the store’s time',
    async run({ store, advance, now }) {
      const id = nextId();
      const { executions } = store;
      const refusal = refusing(id, {
        why: 'claim-ended',
        count: 2,
        firstAgoMs: 900,
        lastAgoMs: 100,
      });
      const { newest: _, ...first } = refusal;
      await executions.noteRefusals([first]);
      const { firstAgoMs: _first, lastAgoMs: _last, ...same } = first;
      const firstAt = laterBy(now(), -900);
      assert.deepEqual(await all(store), [{ ...same, firstAt, lastAt: laterBy(now(), -100) }]);
      await advance(60_000);
      const later = refusing(id, { count: 3, firstAgoMs: 50, owner: 'worker-2' as Owner });
      await executions.noteRefusals([later, refusing(id, { verb: 'finish' })]);
      const [finish, record, ...rest] = (await all(store)).toSorted((a, b) =>
        a.verb < b.verb ? -1 : 1,
      );
      assert.deepEqual(rest, []);
      assert.equal(finish?.count, 1);
      const { firstAgoMs: _f, lastAgoMs: _l, ...newest } = later;
      assert.deepEqual(record, { ...newest, count: 5, firstAt, lastAt: now() });
      // A late report keeps its earlier time.
      await executions.noteRefusals([{ ...first, lastAgoMs: 59_000, firstAgoMs: 90_000 }]);
      const [merged] = await all(store, { execution: id, limit: 1 });
      const counted = (await all(store)).find(({ verb }) => verb === 'record');
      assert.equal(merged?.execution, id);
      const before = { count: 7, firstAt: laterBy(now(), -90_000) };
      assert.deepEqual(counted, { ...newest, ...before, lastAt: now() });
    },
  },
  {
    upholds: 'J-15',
    name: 'a refused write counts from the end of its session, or from the next claim if that session lives',
    async run({ store, advance }) {
      const { executions, sessions } = store;
      const ann = await worker(store);
      await mustSubmit(store);
      const { id, fence } = await mustClaim(store, ann);
      const late = refusing(id, { fence, session: ann.id, transport: 'sqs' });
      await executions.noteRefusals([late]);
      const read = async (): Promise<RefusedWrite | undefined> =>
        (await all(store, { execution: id }))[0];
      assert.equal((await read())?.lateMs, undefined);
      await sessions.end({ id: ann.id, by: { kind: 'operator', actor: 'olga', reason: 'stuck' } });
      await advance(3_000);
      await executions.noteRefusals([{ ...late, lastAgoMs: 1_000, transport: 'grpc' }]);
      assert.equal((await read())?.lateMs, 2_000);
      await advance(10_000);
      await executions.noteRefusals([{ ...late, transport: 'stream' }]);
      const { lateMs, transport, count } = (await read()) ?? {};
      assert.deepEqual([lateMs, transport, count], [13_000, 'stream', 3]);
      // The same worker gave it back and claimed it again.
      const bob = await worker(store, 'bob');
      const first = await mustClaim(store, bob, id);
      await mustGiveBack(store, first);
      await advance(5_000);
      await mustClaim(store, bob, id);
      await advance(700);
      await executions.noteRefusals([refusing(id, { fence: first.fence, session: bob.id })]);
      const [again] = await all(store, { execution: id });
      assert.equal(again?.lateMs, 700);
    },
  },
  {
    upholds: 'J-11, J-14',
    name: 'processes that count the same refusals at once lose no count',
    needs: 'two-clients',
    async run({ store, another }) {
      const stores = [store, await another()];
      const ids = Array.from({ length: 50 }, nextId);
      for (let round = 0; round < 5; round += 1) {
        await Promise.all(
          stores.map(({ executions }, nth) =>
            executions.noteRefusals(
              (nth === 0 ? ids : ids.toReversed()).map((id) => refusing(id, { count: nth + 1 })),
            ),
          ),
        );
      }
      const counts = (await all(store)).map(({ count }) => count);
      assert.deepEqual(counts, Array<number>(50).fill(15));
    },
  },
  {
    upholds: 'J-12, X-21',
    name: 'refused writes are listed by last time, newest first, page by page, for a project or an execution',
    async run({ store, advance }) {
      const ids = Array.from({ length: 7 }, nextId);
      const fences = [FENCE, FENCE + 5];
      for (const id of ids) {
        await store.executions.noteRefusals(
          fences.map((fence) => refusing(id, { fence: toFence(fence) })),
        );
        if (ids.indexOf(id) % 2 === 0) await advance(1_000);
      }
      await store.executions.noteRefusals([refusing(nextId(), { project: OTHER_PROJECT })]);
      const found = await all(store);
      const expected = ids.toReversed().flatMap((id) => fences.toReversed().map((f) => [id, f]));
      assert.deepEqual(
        found.map(({ execution, fence, lastAt }) => [lastAt, execution, fence]),
        expected
          .map(([id, fence]) => [
            found.find(({ execution }) => execution === id)?.lastAt,
            id,
            fence,
          ])
          .toSorted((a, b) => Number(b[0]) - Number(a[0])),
      );
      for (const limit of [1, 2, 3]) assert.deepEqual(await all(store, { limit }), found);
      const of = await all(store, { execution: ids[2] as ExecutionId, limit: 1 });
      assert.deepEqual(
        of.map(({ execution, fence }) => [execution, fence]),
        fences.toReversed().map((fence) => [ids[2], fence]),
      );
      assert.equal((await all(store, { project: OTHER_PROJECT })).length, 1);
      const foreign = { project: OTHER_PROJECT, execution: ids[2] as ExecutionId };
      assert.deepEqual(await all(store, foreign), []);
      await store.executions.noteRefusals([]);
    },
  },
  {
    upholds: 'J-12',
    name: '100,000 refused writes of 20,000 executions leave the 10,000 newest rows, and other projects keep theirs',
    async run({ store, advance }) {
      const ids = Array.from({ length: 20_000 }, nextId);
      await store.executions.noteRefusals([refusing(nextId(), { project: OTHER_PROJECT })]);
      for (let from = 0; from < ids.length; from += 500) {
        const some = ids.slice(from, from + 500);
        await store.executions.noteRefusals(some.map((id) => refusing(id, { count: 5 })));
        await advance(1);
      }
      const kept = await all(store);
      assert.equal(kept.length, REFUSED_WRITES_MAX);
      assert.deepEqual(
        new Set(kept.map(({ execution }) => execution)),
        new Set(ids.slice(-REFUSED_WRITES_MAX)),
      );
      assert.ok(kept.every(({ count }) => count === 5));
      assert.equal((await all(store, { project: OTHER_PROJECT })).length, 1);
    },
  },
];
