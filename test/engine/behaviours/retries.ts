import assert from 'node:assert/strict';
import { StepError } from '../../../src/engine/failures.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Behaviour } from '../stage.ts';

const QUICK = { initialMs: 1, maxMs: 2 } as const;

export const RETRIES: readonly Behaviour[] = [
  {
    name: 'a failed step is tried again, and each failure is recorded',
    async run(stage) {
      let tries = 0;
      const flaky = pipeline({
        name: 'flaky',
        run: (ctx) =>
          ctx.step(
            'call',
            () => {
              tries += 1;
              if (tries < 3) throw new Error(`no ${tries}`);
              return tries;
            },
            { retry: QUICK },
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [flaky]);
      const handle = await holdfast.submit(flaky, undefined);
      assert.equal(await handle.result(), 3);
      const failures = (await holdfast.history(handle.id)).filter(
        ({ kind }) => kind === 'step-failed',
      );
      assert.equal(failures.length, 2);
    },
  },
  {
    name: 'a step gives up after its attempts, and the code may catch that and continue',
    async run(stage) {
      let tries = 0;
      const careful = pipeline({
        name: 'careful',
        async run(ctx) {
          try {
            await ctx.step(
              'call',
              () => {
                tries += 1;
                throw Object.assign(new Error('down'), { code: 'EDOWN' });
              },
              { retry: { ...QUICK, attempts: 3 } },
            );
            return 'reached';
          } catch (error) {
            assert.ok(error instanceof Error && error.name === 'StepFailed');
            const { failure } = error as unknown as { failure: { code: string } };
            return ctx.step('plan b', () => `after ${failure.code}`);
          }
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [careful]);
      const handle = await holdfast.submit(careful, undefined);
      assert.equal(await handle.result(), 'after EDOWN');
      assert.equal(tries, 3);
    },
  },
  {
    name: 'a permanent failure is not tried again, by category or by rule',
    async run(stage) {
      const counts = { category: 0, rule: 0 };
      const strict = pipeline({
        name: 'strict',
        async run(ctx) {
          await ctx
            .step('category', () => {
              counts.category += 1;
              throw new StepError('never', { category: 'permanent' });
            })
            .catch(() => undefined);
          await ctx
            .step(
              'rule',
              () => {
                counts.rule += 1;
                throw Object.assign(new Error('bad request'), { code: 'E400' });
              },
              { retry: { ...QUICK, rules: [{ when: 'E400', do: 'fail' }] } },
            )
            .catch(() => undefined);
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [strict]);
      const handle = await holdfast.submit(strict, undefined);
      await handle.result();
      assert.deepEqual(counts, { category: 1, rule: 1 });
    },
  },
  {
    name: 'a denial costs no attempt',
    async run(stage) {
      let tries = 0;
      const denied = pipeline({
        name: 'denied',
        run: (ctx) =>
          ctx.step(
            'call',
            () => {
              tries += 1;
              if (tries <= 4) throw new StepError('full', { category: 'denied', retryAfterMs: 1 });
              return tries;
            },
            { retry: { ...QUICK, attempts: 1 } },
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [denied]);
      const handle = await holdfast.submit(denied, undefined);
      assert.equal(await handle.result(), 5);
    },
  },
  {
    name: 'an attempt that takes too long is aborted and tried again',
    async run(stage) {
      let tries = 0;
      let wasAborted = false;
      const slow = pipeline({
        name: 'slow',
        run: (ctx) =>
          ctx.step(
            'call',
            ({ signal }) => {
              tries += 1;
              if (tries > 1) return 'in time';
              signal.addEventListener('abort', () => {
                wasAborted = true;
              });
              return new Promise<string>(() => undefined);
            },
            { timeoutMs: 20, retry: QUICK },
          ),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [slow]);
      const handle = await holdfast.submit(slow, undefined);
      assert.equal(await handle.result(), 'in time');
      assert.ok(wasAborted);
      const failed = (await holdfast.history(handle.id)).find(({ kind }) => kind === 'step-failed');
      assert.match(failed?.body ?? '', /"category":"unknown"/);
    },
  },
  {
    name: 'retry budgets survive a crash',
    async run(stage) {
      let tries = 0;
      const budget = pipeline({
        name: 'budget',
        run: (ctx) =>
          ctx.step(
            'call',
            () => {
              tries += 1;
              throw new Error('down');
            },
            // Long enough to crash in between, also on a busy machine.
            { retry: { attempts: 2, initialMs: 800, jitter: 0 } },
          ),
      });
      const holdfast = stage.holdfast({ parkAfterMs: 1_000 });
      const first = await stage.worker(holdfast, [budget]);
      const handle = await holdfast.submit(budget, undefined);
      await stage.untilHistory(holdfast, handle.id, (events) =>
        events.some(({ kind }) => kind === 'step-failed'),
      );
      await stage.crash(first);
      await stage.worker(holdfast, [budget]);
      await assert.rejects(handle.result(), { name: 'ExecutionFailed' });
      assert.equal(tries, 2);
    },
  },
];
