// Answers of the store that arrive after their execution has left this process. They must set no
// timer, since it would keep the process alive and call ended code.

import assert from 'node:assert/strict';
import { type Pipeline, pipeline } from '../../../src/engine/pipeline.ts';
import type { Worker } from '../../../src/engine/worker/worker-options.ts';
import type { ExecutionStore } from '../../../src/store/contract/execution-store.ts';
import { systemTimers, type Timers } from '../../../src/support/timer.ts';
import { type Behaviour, type Stage, turns } from '../stage.ts';

/** Longer than a worker's own waits, and shorter than the limit for parking. */
const LONG_MS = 50_000;

/** Tracks long waits that have begun and have neither ended nor been cancelled. */
function counted(): { readonly timers: Timers; readonly long: Set<object> } {
  const long = new Set<object>();
  const after: Timers['after'] = (ms, callback) => {
    const timer = {};
    if (ms > LONG_MS / 2) long.add(timer);
    const cancel = systemTimers.after(ms, () => {
      long.delete(timer);
      callback();
    });
    return () => {
      long.delete(timer);
      cancel();
    };
  };
  return { timers: { ...systemTimers, after }, long };
}

type Answering = (executions: ExecutionStore, leave: () => void) => Partial<ExecutionStore>;

/** Crashes the worker before an answer reaches it. Afterwards no long timer may be left. */
async function assertUntimed(
  stage: Stage,
  code: Pipeline<unknown, unknown>,
  answering: Answering,
): Promise<void> {
  const { timers, long } = counted();
  let worker: Worker | undefined;
  const left = Promise.withResolvers<void>();
  const leave = (): void => {
    worker?.crash();
    left.resolve();
  };
  const holdfast = stage.holdfastWith(
    (executions) => answering(executions, leave),
    {},
    { timers, parkAfterMs: 60_000 },
  );
  const { id } = await holdfast.submit(code, undefined, { deadlineMs: LONG_MS });
  await holdfast.signal(id, { name: 'hello' });
  worker = await stage.worker(holdfast, [code]);
  await left.promise;
  await turns();
  assert.equal(long.size, 0);
}

/** Leaves before the answer to the write of such an event arrives. */
function beforeRecorded(kind: string): Answering {
  return (executions, leave) => ({
    record: async (request) => {
      const answer = await executions.record(request);
      if (request.events.some((event) => event.kind === kind)) leave();
      return answer;
    },
  });
}

export const LEFT_BEHIND: readonly Behaviour[] = [
  {
    name: 'a run that is over sets no timer for a retry',
    async run(stage) {
      const failing = pipeline({
        name: 'failing',
        run: (ctx) =>
          ctx.step('fail', () => Promise.reject(new Error('Not yet.')), {
            retry: { initialMs: LONG_MS, maxMs: LONG_MS, jitter: 0 },
          }),
      });
      await assertUntimed(stage, failing, beforeRecorded('step-failed'));
    },
  },
  {
    name: 'a run that is over sets no timer for the end of an await',
    async run(stage) {
      const asking = pipeline({
        name: 'asking',
        run: (ctx) => ctx.await('approval', { timeoutMs: LONG_MS }),
      });
      await assertUntimed(stage, asking, beforeRecorded('await-opened'));
    },
  },
  {
    name: 'an execution that left before it began sets no timer for its deadline',
    async run(stage) {
      const plain = pipeline({ name: 'plain', run: () => 1 });
      await assertUntimed(stage, plain, (executions, leave) => ({
        inbox: async (query) => {
          const answer = await executions.inbox(query);
          leave();
          return answer;
        },
      }));
    },
  },
  {
    name: 'a crashed worker leaves no timer behind',
    without: { 'over REST': 'requests to a coordinator are timed too' },
    async run(stage) {
      const { timers, long } = counted();
      const holdfast = stage.holdfast({ timers });
      const plain = pipeline({ name: 'plain', run: () => 1 });
      const worker = await stage.worker(holdfast, [plain], { ttlMs: LONG_MS });
      assert.ok(long.size >= 1, 'its session lapses at some time');
      await stage.crash(worker);
      await turns();
      assert.equal(long.size, 0);
    },
  },
];
