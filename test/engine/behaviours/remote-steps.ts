import assert from 'node:assert/strict';
import { StepFailed } from '../../../src/engine/failures.ts';
import { hostStep, pipeline, remoteStep } from '../../../src/engine/pipeline.ts';
import type { Behaviour } from '../stage.ts';

interface Sums {
  readonly numbers: readonly number[];
}

const sum = remoteStep<Sums, number>({ name: 'sum' });
const hosted = hostStep(
  sum,
  ({ numbers }) => {
    if (numbers.includes(13)) throw Object.assign(new Error('unlucky'), { category: 'permanent' });
    return numbers.reduce((total, each) => total + each, 0);
  },
  { retry: { attempts: 3, initialMs: 1 } },
);

const caller = pipeline({
  name: 'caller',
  async run(ctx, input: Sums) {
    const before = await ctx.step('before', () => 1);
    const total = await ctx.call(sum, { numbers: [...input.numbers, before] });
    return ctx.step('after', () => total * 2);
  },
});

export const REMOTE_STEPS: readonly Behaviour[] = [
  {
    name: 'the worker that hosts a remote step runs it, and the caller gets its result',
    async run(stage) {
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [caller]);
      const handle = await holdfast.submit(caller, { numbers: [1, 2] });
      // No worker hosts it yet. The caller waits until one starts.
      await stage.worker(stage.holdfast(), [hosted]);
      assert.equal(await handle.result(), 8);
    },
  },
  {
    name: 'a remote step that fails for good fails like a step, with its category and code',
    async run(stage) {
      const catches = pipeline({
        name: 'catches',
        run: (ctx) =>
          ctx.call(sum, { numbers: [13] }).catch((error: unknown) => {
            assert(error instanceof StepFailed);
            return [error.failure.category, error.failure.message];
          }),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [catches, hosted]);
      const handle = await holdfast.submit(catches, undefined);
      assert.deepEqual(await handle.result(), ['permanent', 'unlucky']);
    },
  },
  {
    name: 'concurrent calls of a remote step each get their own result, in replays too',
    async run(stage) {
      let runs = 0;
      const beside = pipeline({
        name: 'beside',
        async run(ctx) {
          runs += 1;
          const totals = await Promise.all(
            [1, 2, 3].map((n) => ctx.call(sum, { numbers: [n, n] })),
          );
          await ctx.sleep(1);
          return totals;
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [beside, hosted]);
      const handle = await holdfast.submit(beside, undefined);
      assert.deepEqual(await handle.result(), [2, 4, 6]);
      assert.ok(runs > 0);
    },
  },
];
