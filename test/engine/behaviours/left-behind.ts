// Answers of the store that come when their execution has left this process: nothing is timed then. A timer
// would keep the process from ending, and call what is over.

import assert from 'node:assert/strict';
import { type Pipeline, pipeline } from '../../../src/engine/pipeline.ts';
import type { Worker } from '../../../src/engine/worker/worker-options.ts';
import type { ExecutionStore } from '../../../src/store/contract/execution-store.ts';
import { systemTimers, type Timers } from '../../../src/support/timer.ts';
import { type Behaviour, type Stage, turns } from '../stage.ts';

/** Longer than what a worker waits for, shorter than what is parked. */
const LONG_MS = 50_000;

/** Knows which long waits were begun and neither ended nor cancelled. */
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

/** The worker crashes before an answer reaches it; then nothing long may be timed any more. */
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

/** Leaves before the answer to the write of such an event is known. */
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
    name: 'no retry is timed in a run that is over',
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
    name: 'no end of an await is timed in a run that is over',
    async run(stage) {
      const asking = pipeline({
        name: 'asking',
        run: (ctx) => ctx.await('approval', { timeoutMs: LONG_MS }),
      });
      await assertUntimed(stage, asking, beforeRecorded('await-opened'));
    },
  },
  {
    name: 'no deadline is timed of an execution that has left before it began',
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
    name: 'a worker that crashed leaves no timer behind',
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
