// Figures for operators: what a project has now, and how its executions ended (X-91 … X-93).

import assert from 'node:assert/strict';
import type { ExecutionId, PipelineName } from '../../../src/execution/names.ts';
import type { PipelineCounts } from '../../../src/features/overview/model.ts';
import type { ReadEnded } from '../../../src/features/overview/port.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { type Instant, toInstant } from '../../../src/support/clock.ts';
import { expectKind } from '../../lease/expect.ts';
import { parkedOn } from '../awaits/awaiting.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { ended, letter, mustRedrive } from '../repair/repairing.ts';
import {
  claimAll,
  commanding,
  heldOf,
  mustFinish,
  mustSubmit,
  OTHER_PIPELINE,
  OTHER_PROJECT,
  PIPELINE,
  PROJECT,
  running,
  worker,
} from '../worker.ts';

const MINUTE = 60_000;

function exactly(count: number): { readonly count: number; readonly capped: false } {
  return { count, capped: false };
}

async function countsOf(
  store: CoordinatorStore,
  pipeline = PIPELINE,
): Promise<PipelineCounts | undefined> {
  const { pipelines } = await store.executions.figures({ project: PROJECT });
  return pipelines.find((each) => each.pipeline === pipeline);
}

/** Everything that ended in the hour before now, in sums of one minute. */
async function endedIn(
  store: CoordinatorStore,
  now: Instant,
  query: Partial<ReadEnded> = {},
): ReturnType<CoordinatorStore['executions']['endedCounts']> {
  return store.executions.endedCounts({
    project: PROJECT,
    stepMs: MINUTE,
    from: toInstant(Math.floor(now / MINUTE) * MINUTE - 60 * MINUTE),
    to: toInstant(now + MINUTE),
    intervalMs: MINUTE,
    ...query,
  });
}

/** Rolls up until everything is in, and returns the number of calls. */
async function rollUpAll(store: CoordinatorStore): Promise<number> {
  for (let calls = 1; calls < 100; calls += 1) {
    if (!(await store.executions.rollUp()).more) return calls;
  }
  throw new Error('X-92: `more` does not end');
}

export const overviewCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-91',
    name: 'executions are counted by pipeline and status, and other projects do not count',
    async run({ store, now }) {
      const none = await store.executions.figures({ project: PROJECT });
      assert.deepEqual(none.pipelines, []);
      const ann = await worker(store);
      await mustSubmit(store, { project: OTHER_PROJECT });
      const [other] = await claimAll(store, ann);
      await mustFinish(store, heldOf(other as NonNullable<typeof other>, ann));
      for (const status of ['completed', 'completed', 'failed', 'cancelled'] as const) {
        await ended(store, ann, { status });
      }
      await parkedOn(store, ann);
      await running(store, ann);
      const paused = await mustSubmit(store);
      await store.executions.pause(commanding(paused));
      await mustSubmit(store, { pipeline: OTHER_PIPELINE });
      const at = now();
      const figures = await store.executions.figures({ project: PROJECT });
      assert.equal(figures.at, at);
      assert.deepEqual(figures.pipelines, [
        {
          pipeline: PIPELINE,
          statuses: {
            queued: exactly(1),
            running: exactly(1),
            waiting: exactly(1),
            completed: exactly(2),
            failed: exactly(1),
            cancelled: exactly(1),
          },
          ready: exactly(0),
        },
        {
          pipeline: OTHER_PIPELINE,
          statuses: { queued: exactly(1) },
          ready: exactly(1),
          oldestReadyAt: at,
        },
      ]);
    },
  },
  {
    upholds: 'X-91',
    name: 'the oldest ready execution of a pipeline is the one that is ready for longest',
    async run({ store, advance, now }) {
      const first = now();
      await mustSubmit(store, { lane: 'batch' });
      await advance(5_000);
      await mustSubmit(store, { lane: 'batch' });
      await mustSubmit(store, { concurrency: { key: 'k', limit: 5 } });
      await mustSubmit(store, { delayMs: MINUTE });
      const counts = await countsOf(store);
      assert.deepEqual(counts?.ready, exactly(3));
      assert.equal(counts?.oldestReadyAt, first);
      assert.deepEqual(counts?.statuses, { queued: exactly(4) });
    },
  },
  {
    upholds: 'X-91',
    name: 'blocked executions are counted by pipeline, paused or not, until they are resumed',
    async run({ store }) {
      const { executions } = store;
      const ann = await worker(store);
      const block = async (pipeline: PipelineName): Promise<ExecutionId> => {
        const id = await mustSubmit(store, { pipeline });
        const [claimed] = await claimAll(store, ann, { pipelines: [pipeline] });
        assert(claimed !== undefined);
        const events = [{ kind: 'blocked' }] as const;
        const back = { ...heldOf(claimed, ann), events, blocked: true };
        expectKind(await executions.giveBack(back), 'given-back');
        return id;
      };
      const first = await block(PIPELINE);
      const second = await block(PIPELINE);
      await block(OTHER_PIPELINE);
      await executions.pause(commanding(second));
      await executions.pause(commanding(await mustSubmit(store)));
      await mustSubmit(store, { project: OTHER_PROJECT });
      const counts = await countsOf(store);
      assert.deepEqual(counts?.blocked, exactly(2));
      assert.deepEqual(counts?.statuses, { queued: exactly(3) });
      assert.deepEqual((await countsOf(store, OTHER_PIPELINE))?.blocked, exactly(1));
      await executions.resume(commanding(first));
      assert.deepEqual((await countsOf(store))?.blocked, exactly(1));
      await executions.resume(commanding(second));
      assert.equal((await countsOf(store))?.blocked, undefined);
    },
  },
  {
    upholds: 'X-91',
    name: 'open dead letters with the same code and step family are one cause',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const firstAt = now();
      await ended(store, ann, { deadLetter: letter({ step: 'step:row-5#1' }) });
      await advance(3_600_000);
      const bob = await worker(store, 'bob');
      const deadLetter = letter({ step: 'step:row-61#2', reason: 'Newest.' });
      const newest = await ended(store, bob, { deadLetter });
      const stuck = letter({ code: 'timed-out' });
      await ended(store, bob, { status: 'quarantined', deadLetter: stuck });
      const redriven = await ended(store, bob, { deadLetter: letter({ step: 'step:row-7#1' }) });
      await mustRedrive(store, redriven);
      const { deadLetters } = await store.executions.figures({ project: PROJECT });
      const { causes, ...all } = deadLetters;
      assert.deepEqual(all, {
        ...exactly(3),
        quarantined: exactly(1),
        lastHour: exactly(2),
      });
      assert.deepEqual(causes, [
        {
          ...{ pipeline: PIPELINE, code: 'declined', step: 'row-*', count: 2, lastHour: 1 },
          ...{ firstAt, lastAt: now(), newest, message: 'Newest.' },
        },
        {
          ...{ pipeline: PIPELINE, code: 'timed-out', step: 'charge', count: 1, lastHour: 1 },
          ...{ firstAt: now(), lastAt: now(), newest: causes[1]?.newest },
          message: 'The card was declined.',
        },
      ]);
    },
  },
  {
    upholds: 'X-91',
    name: 'open questions are counted, with those whose time limit has passed',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const none = await store.executions.figures({ project: PROJECT });
      assert.deepEqual(none.questions, { open: exactly(0), overdue: exactly(0) });
      await parkedOn(store, ann, { items: 2 });
      await parkedOn(store, ann, { timeoutMs: 1_000 });
      await parkedOn(store, ann, { timeoutMs: 90_000 });
      const nextDueAt = toInstant(now() + 90_000);
      await advance(2_000);
      const { questions } = await store.executions.figures({ project: PROJECT });
      assert.deepEqual(questions, { open: exactly(4), overdue: exactly(1), nextDueAt });
    },
  },
  {
    upholds: 'X-92',
    name: 'each ended execution is in the rollups once, however often they are updated',
    async run({ store, advance, now, another }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await advance(1_500);
      await mustFinish(store, held);
      const first = toInstant(Math.floor(now() / MINUTE) * MINUTE);
      await advance(2 * MINUTE);
      await ended(store, ann, { status: 'failed' });
      await ended(store, ann, { status: 'completed' });
      await ended(store, ann, { status: 'completed', project: OTHER_PROJECT });
      const second = toInstant(Math.floor(now() / MINUTE) * MINUTE);
      await rollUpAll(store);
      await advance(10_000);
      await Promise.all([rollUpAll(store), rollUpAll(await another())]);
      await rollUpAll(store);
      const { byInterval, byPipeline, until } = await endedIn(store, now());
      // 1,500 ms are in the bucket from 2^(42/4) to 2^(43/4) ms.
      assert.deepEqual(byInterval, [
        { at: first, status: 'completed', bucket: 42, count: 1, maxMs: 1_500 },
        { at: second, status: 'completed', bucket: 0, count: 1, maxMs: 0 },
        { at: second, status: 'failed', bucket: 0, count: 1, maxMs: 0 },
      ]);
      assert.deepEqual(byPipeline, [
        { pipeline: PIPELINE, status: 'completed', bucket: 0, count: 1, maxMs: 0 },
        { pipeline: PIPELINE, status: 'completed', bucket: 42, count: 1, maxMs: 1_500 },
        { pipeline: PIPELINE, status: 'failed', bucket: 0, count: 1, maxMs: 0 },
      ]);
      assert.ok(until !== undefined && until > second && until <= now());
    },
  },
  {
    upholds: 'X-92',
    needs: 'two-clients',
    name: 'processes that roll up at once count each execution once',
    async run({ store, advance, now, another }) {
      const ann = await worker(store, 'ann', { ttlMs: 86_400_000 });
      const stores = [store, await another()];
      for (let round = 0; round < 8; round += 1) {
        await ended(store, ann, { status: 'completed' });
        await advance(10_000);
        const nths = [1, 2, 3, 4, 5, 6];
        await Promise.all(nths.map((nth) => (stores[nth % 2] ?? store).executions.rollUp()));
      }
      await rollUpAll(store);
      const { byPipeline } = await endedIn(store, now());
      assert.deepEqual(
        byPipeline.map(({ count }) => count),
        [8],
      );
    },
  },
  {
    upholds: 'X-92',
    name: 'rollups are deleted when they are older than their length is kept',
    async run({ store, advance, now }) {
      const ann = await worker(store, 'ann', { ttlMs: 86_400_000 });
      await ended(store, ann, { status: 'completed' });
      const at = now();
      await advance(MINUTE);
      await rollUpAll(store);
      await advance(27 * 3_600_000);
      await rollUpAll(store);
      assert.deepEqual((await endedIn(store, at)).byInterval, []);
      const hour = 3_600_000;
      const hours = { stepMs: hour, intervalMs: hour, from: toInstant(at - (at % hour)) };
      const [kept] = (await endedIn(store, at, hours)).byInterval;
      assert.deepEqual(kept, {
        at: hours.from,
        status: 'completed',
        bucket: 0,
        count: 1,
        maxMs: 0,
      });
    },
  },
  {
    upholds: 'X-93',
    name: 'sums of rollups can have one pipeline, and longer intervals',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      await ended(store, ann, { status: 'completed' });
      await advance(3 * MINUTE);
      await ended(store, ann, { status: 'completed' });
      await mustSubmit(store, { pipeline: OTHER_PIPELINE });
      const [other] = await claimAll(store, ann, { pipelines: [OTHER_PIPELINE] });
      await mustFinish(store, heldOf(other as NonNullable<typeof other>, ann));
      await advance(MINUTE);
      await rollUpAll(store);
      const counted = async (query: Partial<ReadEnded>): Promise<readonly number[]> =>
        (await endedIn(store, now(), query)).byInterval.map(({ count }) => count);
      assert.deepEqual(await counted({}), [1, 2]);
      assert.deepEqual(await counted({ intervalMs: 120 * MINUTE }), [3]);
      assert.deepEqual(await counted({ pipeline: PIPELINE }), [1, 1]);
      assert.deepEqual(await counted({ pipeline: OTHER_PIPELINE }), [1]);
      assert.deepEqual(await counted({ pipeline: PIPELINE, release: 'v2' }), []);
      assert.deepEqual(await counted({ project: OTHER_PROJECT }), []);
    },
  },
];
