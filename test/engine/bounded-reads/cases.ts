// One request reads a bounded number of rows of its project, and a list goes on from there.

import assert from 'node:assert/strict';
import { stamp } from '../../../contract/execution/audit/auditing.ts';
import { mustOpen, OTHER_CALL } from '../../../contract/execution/awaits/awaiting.ts';
import { mustActivate } from '../../../contract/execution/releases/releasing.ts';
import { ended, letter } from '../../../contract/execution/repair/repairing.ts';
import { ARCHIVED, mustRemove } from '../../../contract/execution/retention/keeping.ts';
import {
  claimAll,
  commanding,
  heldOf,
  mustFinish,
  mustSubmit,
  PIPELINE,
  PROJECT,
  running,
  worker,
} from '../../../contract/execution/worker.ts';
import { Holdfast } from '../../../src/engine/holdfast.ts';
import type { TerminalStatus } from '../../../src/execution/execution.ts';
import type {
  CallKey,
  ExecutionId,
  InteractionId,
  PipelineName,
} from '../../../src/execution/names.ts';
import { interactionPage } from '../../../src/features/awaits/api.ts';
import type { ListInteractions } from '../../../src/features/awaits/port.ts';
import type { TrendsMessage } from '../../../src/features/overview/messages.ts';
import type { PipelineCounts } from '../../../src/features/overview/model.ts';
import { openServer } from '../../../src/server/serve.ts';
import { LIST_ROWS_MAX } from '../../../src/store/contract/execution-reads.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { COUNTED_PIPELINES_MAX } from '../../../src/store/sql/census.ts';
import { inLanes } from '../../../src/support/turns.ts';
import { until } from '../../server/coordinator.ts';

/** Operations at once that take a connection each. */
const LANES = 16;

interface BoundedCase {
  readonly name: string;
  readonly run: (store: CoordinatorStore) => Promise<void>;
}

interface Found {
  readonly items: readonly object[];
  readonly cursor?: string;
}

const times = <Made>(make: (nth: number) => Promise<Made>): Promise<Made[]> =>
  Promise.all(Array.from({ length: LIST_ROWS_MAX }, (_, nth) => make(nth)));

/** The filter matches only the oldest row, after as many as one page checks. */
async function expectOldest(
  read: (query: { readonly limit: number; readonly cursor?: string }) => Promise<Found>,
): Promise<void> {
  const first = await read({ limit: 10 });
  assert.deepEqual(first.items, []);
  assert.ok(first.cursor !== undefined, 'there are older rows');
  const second = await read({ limit: 10, cursor: first.cursor });
  assert.equal(second.items.length, 1);
  assert.equal(second.cursor, undefined);
}

export const BOUNDED_CASES: readonly BoundedCase[] = [
  {
    name: 'Y-12: a page checks 10,000 dead letters, and groups count the newest 10,000',
    async run(store) {
      const project = PROJECT;
      const ann = await worker(store);
      await ended(store, ann, { deadLetter: letter({ step: 'step:old#1', code: 'old' }) });
      await times(() => mustSubmit(store));
      const claims = await claimAll(store, ann);
      await times((nth) => {
        const held = heldOf(claims[nth] as (typeof claims)[number], ann);
        return mustFinish(store, held, { status: 'failed', deadLetter: letter() });
      });
      const { repair } = new Holdfast({ store });
      const old = { project, step: 'step:old#1' };
      await expectOldest((page) => repair.deadLetters({ ...old, ...page }));
      await expectOldest((page) => repair.deadLetters({ ...old, open: true, ...page }));
      await expectOldest((page) => repair.deadLetters({ ...old, pipeline: 'orders', ...page }));
      const found = await repair.deadLetters({ project, code: 'old' });
      assert.equal(found.items.length, 1, 'an index finds the code');
      for (const open of [true, false]) {
        const groups = await repair.deadLetterGroups({ project, open });
        assert.deepEqual(
          groups.map(({ step, count }) => [step, count]),
          [['step:charge#1', LIST_ROWS_MAX]],
        );
      }
    },
  },
  {
    name: 'J-7: a page checks 10,000 records of the audit',
    async run(store) {
      const target = { kind: 'session', id: 'nightly' } as const;
      const record = (actor: string): Promise<void> =>
        store.executions.recordOperation({
          ...{ project: PROJECT, target },
          audit: stamp('end-session', { actor }),
        });
      await record('ada');
      await inLanes(
        Array.from({ length: LIST_ROWS_MAX }, () => 'olga'),
        LANES,
        record,
      );
      const { audit } = new Holdfast({ store });
      const filter = { project: PROJECT, target, actor: 'ada' };
      await expectOldest((page) => audit.list({ ...filter, ...page }));
      assert.equal((await audit.list({ project: PROJECT, actor: 'ada' })).items.length, 1);
    },
  },
  {
    name: 'W-10: a page checks 10,000 interactions',
    async run(store) {
      const ann = await worker(store);
      const name = 'signature';
      await mustOpen(store, await running(store, ann), { call: OTHER_CALL, name, assignee: 'ada' });
      await mustOpen(store, await running(store, ann), { items: LIST_ROWS_MAX, assignee: 'olga' });
      const read = (
        query: Partial<ListInteractions>,
        { limit, cursor }: { readonly limit: number; readonly cursor?: string },
      ): Promise<Found> =>
        interactionPage(store.executions, {
          ...{ project: PROJECT, limit, ...query },
          ...(cursor === undefined ? {} : { before: cursor as InteractionId }),
        });
      await expectOldest((page) => read({ name }, page));
      await expectOldest((page) => read({ open: true, call: OTHER_CALL }, page));
      // By due time the oldest comes first, so a page does not reach the newest.
      const call = 'await:last#1' as CallKey;
      await mustOpen(store, await running(store, ann), { call, name: 'last' });
      const query = { project: PROJECT, name: 'last', limit: 10 };
      const first = await store.executions.dueInteractions(query);
      assert.ok(first.items.length === 0 && first.next !== undefined);
      const rest = { ...query, after: first.next };
      const { items, next } = await store.executions.dueInteractions(rest);
      assert.deepEqual([items.length, next], [1, undefined]);
      const counted = await store.executions.countInteractions({ project: PROJECT });
      assert.deepEqual(counted, { count: LIST_ROWS_MAX, capped: true });
      const found = await read({ name, open: true }, { limit: 10 });
      assert.equal(found.items.length, 1, 'an index finds the name');
    },
  },
  {
    name: 'X-41: the depth of a project counts its first 1,000 pipelines',
    async run(store) {
      for (let nth = 0; nth <= COUNTED_PIPELINES_MAX; nth += 1) {
        await mustSubmit(store, { pipeline: `p${String(nth).padStart(4, '0')}` as PipelineName });
      }
      const [interactive] = await store.executions.depth({ max: 10_000, project: PROJECT });
      assert.equal(interactive?.ready, COUNTED_PIPELINES_MAX);
      const [all] = await store.executions.depth({ max: 10_000 });
      assert.equal(all?.ready, COUNTED_PIPELINES_MAX + 1);
    },
  },
  {
    name: 'X-91: the pipelines of a project share the rows that one look at it counts',
    async run(store) {
      const submit = (nth: number): Promise<ExecutionId> =>
        mustSubmit(store, { pipeline: `p${nth}` as PipelineName });
      await Promise.all(Array.from({ length: 750 }, (_, nth) => submit(nth % 600)));
      await Promise.all(Array.from({ length: 400 }, () => submit(0)));
      const { pipelines } = await store.executions.figures({ project: PROJECT });
      assert.equal(pipelines.length, 600);
      assert.deepEqual(
        pipelines.filter(({ pipeline }) => ['p0', 'p1', 'p599'].includes(pipeline)).map(readyIn),
        ['p0 more than 333', 'p1 2', 'p599 1'],
      );
    },
  },
  {
    name: 'X-22: a pipeline with many releases is listed and counted as a whole',
    async run(store) {
      const orders = PIPELINE;
      const near = `${PIPELINE}\u0001` as PipelineName;
      await mustSubmit(store, { pipeline: near });
      const ids: ExecutionId[] = [];
      for (let nth = 0; nth < 120; nth += 1) {
        if (nth > 0) await mustActivate(store, `v${nth}`);
        ids.unshift(await mustSubmit(store), await mustSubmit(store));
        ids.sort().reverse();
      }
      const { find, count } = store.executions;
      for (const [sort, all] of [
        ['newest', ids],
        ['oldest', ids.toReversed()],
      ] as const) {
        const query = { project: PROJECT, pipeline: orders, sort };
        const first = await find({ ...query, limit: 100 });
        assert.deepEqual(first.ids, all.slice(0, 100));
        const rest = await find({
          ...query,
          limit: 1_000,
          ...(first.next && { after: first.next }),
        });
        assert.deepEqual(rest.ids, all.slice(100));
      }
      const query = { project: PROJECT, limit: 1 };
      assert.deepEqual(await count({ ...query, pipeline: orders }), { count: 240 });
      assert.deepEqual(await count({ ...query, pipeline: near }), { count: 1 });
      assert.deepEqual(await count({ ...query, pipeline: orders, release: 'v7' }), { count: 2 });
    },
  },
];

/** Long on PostgreSQL, which runs the same scripts; a test of its own checks their plans. */
export const SCRIPT_CASES: readonly BoundedCase[] = [
  {
    name: 'F-7: a page checks 10,000 archived executions',
    async run(store) {
      const ann = await worker(store);
      const archive = async (ids: readonly ExecutionId[], status: TerminalStatus) => {
        const claims = await claimAll(store, ann);
        await Promise.all(claims.map((each) => mustFinish(store, heldOf(each, ann), { status })));
        const removed = { project: PROJECT, archived: ARCHIVED };
        await inLanes(ids, LANES, (id) => mustRemove(store, id, removed));
      };
      await archive([await mustSubmit(store, { tags: ['old'] })], 'failed');
      await archive(await times(() => mustSubmit(store, { tags: ['old'] })), 'completed');
      const { archive: archives } = new Holdfast({ store });
      const failed = { project: PROJECT, status: 'failed' } as const;
      await expectOldest((page) => archives.list({ ...failed, pipeline: PIPELINE, ...page }));
      await expectOldest((page) => archives.list({ ...failed, tag: 'old', ...page }));
      assert.equal((await archives.list(failed)).items.length, 1, 'an index finds the status');
    },
  },
  {
    name: 'X-91: a count that a look did not finish is a lower bound, in each of many pipelines',
    async run(store) {
      const submit = (pipeline: string, count: number): Promise<unknown> =>
        Promise.all(
          Array.from({ length: count }, () =>
            mustSubmit(store, { pipeline: pipeline as PipelineName }),
          ),
        );
      const first = 300;
      const ann = await worker(store);
      await submit(PIPELINE, first);
      for (const each of await claimAll(store, ann)) await mustFinish(store, heldOf(each, ann));
      const others = 997;
      for (let nth = 0; nth < others; nth += 1) await submit(`x${nth}`, 1);
      await submit(PIPELINE, 10);
      const shown = async (): Promise<readonly string[]> => {
        const { pipelines } = await store.executions.figures({ project: PROJECT });
        return pipelines.filter(({ pipeline }) => !pipeline.startsWith('x')).map(shownIn);
      };
      // A thousand pipelines count 200 rows each.
      assert.deepEqual(await shown(), ['orders: queued 10, completed 190+, ready 10']);
      await submit('many', 2 * LIST_ROWS_MAX);
      await submit('late', first);
      assert.deepEqual(await shown(), [
        'late: queued 0+, running 0+, waiting 0+, completed 0+, ready 199+',
        'many: queued 10000+, running 0+, waiting 0+, completed 0+, ready 199+',
        'orders: queued 10+, running 0+, waiting 0+, completed 0+, ready 10',
      ]);
    },
  },
  {
    name: 'X-93: a trend reads 10,000 counts, and its reply has 1,000 pipelines',
    async run(store) {
      const ids = await times((nth) => mustSubmit(store, { pipeline: `p${nth}` as PipelineName }));
      const last = await mustSubmit(store);
      await inLanes(ids, LANES, (id) => store.executions.cancel(commanding(id)));
      await store.executions.cancel(commanding(last));
      const { endedAt = Infinity } = (await store.executions.read(last)) ?? {};
      const server = await openServer({ store, port: 0, auth: 'off', maintenance: false });
      const trends = async (query: string) => {
        const response = await fetch(`${server.url}/v1/trends${query}`);
        return (await response.json()) as TrendsMessage;
      };
      // Executions count once they ended a second ago.
      const { total, capped, pipelines, intervalMs } = await until(async () => {
        const found = await trends(`?rangeMs=3600000&to=${new Date().toISOString()}`);
        return Date.parse(found.until ?? '') >= endedAt ? found : undefined;
      });
      await server.close();
      assert.deepEqual(
        [total.ended.cancelled, capped, pipelines.length],
        [LIST_ROWS_MAX, true, 1_000],
      );
      assert.equal(intervalMs, 3_600_000, 'the longest intervals have the fewest counts');
    },
  },
];

function shownIn({ pipeline, statuses, ready }: PipelineCounts): string {
  const all = Object.entries({ ...statuses, ready });
  const shown = all.map(([name, { count, capped }]) => `${name} ${count}${capped ? '+' : ''}`);
  return `${pipeline}: ${shown.join(', ')}`;
}

function readyIn({ pipeline, ready }: PipelineCounts): string {
  return `${pipeline}${ready.capped ? ' more than' : ''} ${ready.count}`;
}
