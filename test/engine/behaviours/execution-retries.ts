// Retries of a whole execution whose code threw.

import assert from 'node:assert/strict';
import { StepError } from '../../../src/engine/failures.ts';
import { type PipelineOptions, pipeline } from '../../../src/engine/pipeline.ts';
import type { HistoryEvent } from '../../../src/execution/history.ts';
import type { Behaviour, Stage } from '../stage.ts';

const QUICK = { attempts: 3, initialMs: 1, maxMs: 2 } as const;
const ONCE = { retry: { attempts: 1 } } as const;
const LONG = { attempts: 3, initialMs: 600_000, maxMs: 600_000 } as const;

let pipelines = 0;

type Code = PipelineOptions<unknown, unknown>['run'];

function retried(run: Code, executionRetry: typeof QUICK | typeof LONG = QUICK) {
  pipelines += 1;
  return pipeline({ name: `retried ${pipelines}`, executionRetry, run });
}

/** Throws on each of the first calls. */
function failing(times: number): { readonly calls: () => number; run(): number } {
  let calls = 0;
  return {
    calls: () => calls,
    run() {
      calls += 1;
      if (calls <= times) throw new Error(`no ${calls}`);
      return calls;
    },
  };
}

async function retriesOf(stage: Stage, id: string): Promise<readonly object[]> {
  const events = await stage.holdfast().history(id);
  return events.flatMap(({ kind, body }) => {
    const { why, attempt, redo } = JSON.parse(body ?? '{}') as Record<string, unknown>;
    return kind === 'given-back' && why === 'retrying' ? { attempt, redo } : [];
  });
}

function endsOf(events: readonly HistoryEvent[], name: string): number {
  return events.filter(({ kind, name: of }) => kind === 'step-completed' && of === name).length;
}

export const EXECUTION_RETRIES: readonly Behaviour[] = [
  {
    name: 'X-133: a step that failed for good begins anew, and recorded steps do not run again',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [before, flaky] = [failing(0), failing(2)];
      const keys = new Set<string>();
      const code = retried(async (ctx) => {
        await ctx.step('before', before.run);
        const run = (step: { readonly idempotencyKey: string }): number => {
          keys.add(step.idempotencyKey);
          return flaky.run();
        };
        return ctx.step('flaky', run, ONCE);
      });
      await stage.worker(holdfast, [code]);
      const { id, result } = await holdfast.submit(code, undefined);
      assert.equal(await result(), 3);
      assert.equal(before.calls(), 1);
      assert.equal(keys.size, 1);
      const redo = 'step:flaky#1';
      assert.deepEqual(await retriesOf(stage, id), [
        { attempt: 1, redo },
        { attempt: 2, redo },
      ]);
      assert.equal((await holdfast.read(id))?.status, 'completed');
    },
  },
  {
    name: 'X-133: code that throws outside a step runs again, until its attempts are used up',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [step, outside] = [failing(0), failing(9)];
      const code = retried(async (ctx) => {
        await ctx.step('once', step.run);
        return outside.run();
      });
      await stage.worker(holdfast, [code]);
      const { id, result } = await holdfast.submit(code, undefined);
      await assert.rejects(result(), /no 3/);
      assert.deepEqual([step.calls(), outside.calls()], [1, 3]);
      const { items } = await holdfast.repair.deadLetters({ pipeline: code.name });
      assert.deepEqual(
        items.map((letter) => letter.execution),
        [id],
      );
      assert.equal((await retriesOf(stage, id)).length, 2);
    },
  },
  {
    name: 'X-133: attempts count over crashes, and another worker goes on with the same results',
    async run(stage) {
      const holdfast = stage.holdfast();
      const kept = failing(0);
      const second = Promise.withResolvers<void>();
      let calls = 0;
      const code = retried(async (ctx) => {
        await ctx.step('kept', kept.run);
        const run = (): unknown => {
          calls += 1;
          if (calls === 4) return 'done';
          if (calls !== 2) throw new Error(`no ${calls}`);
          second.resolve();
          return new Promise(() => undefined);
        };
        return ctx.step('flaky', run, ONCE);
      });
      const worker = await stage.worker(holdfast, [code]);
      const { id, result } = await holdfast.submit(code, undefined);
      await second.promise;
      await stage.crash(worker);
      await stage.worker(holdfast, [code]);
      assert.equal(await result(), 'done');
      assert.equal(kept.calls(), 1);
      assert.deepEqual(await retriesOf(stage, id), [
        { attempt: 1, redo: 'step:flaky#1' },
        { attempt: 2, redo: 'step:flaky#1' },
      ]);
    },
  },
  {
    name: 'X-133: steps are undone once, and only after the last attempt',
    async run(stage) {
      const holdfast = stage.holdfast();
      const undone: string[] = [];
      const booked = failing(0);
      const compensate = (name: string) => ({ compensate: () => void undone.push(name) });
      const code = retried(async (ctx) => {
        await ctx.step('book', booked.run, compensate('book'));
        assert.deepEqual(undone, []);
        // Each attempt may have had its effect, so it is undone too.
        await ctx.step('pay', () => Promise.reject(new Error('no reply')), {
          ...ONCE,
          ...compensate('pay'),
        });
      });
      await stage.worker(holdfast, [code]);
      const { id, result } = await holdfast.submit(code, undefined);
      await assert.rejects(result(), /no reply/);
      assert.equal((await holdfast.read(id))?.status, 'compensated');
      assert.deepEqual([booked.calls(), undone], [1, ['pay', 'book']]);
      assert.equal((await retriesOf(stage, id)).length, 2);
    },
  },
  {
    name: 'X-133: a step beside the failed one keeps its result, though it ended later',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [slow, flaky] = [failing(0), failing(1)];
      const failed = Promise.withResolvers<void>();
      const code = retried(async (ctx) => {
        const beside = ctx.step('slow', async () => {
          await failed.promise;
          return slow.run();
        });
        const fails = ctx.step('flaky', flaky.run, ONCE).catch((error: unknown) => {
          failed.resolve();
          throw error;
        });
        return Promise.all([beside, fails]);
      });
      await stage.worker(holdfast, [code]);
      const { id, result } = await holdfast.submit(code, undefined);
      assert.deepEqual(await result(), [1, 2]);
      const history = await holdfast.history(id);
      assert.deepEqual([endsOf(history, 'slow'), slow.calls(), flaky.calls()], [1, 1, 2]);
    },
  },
  {
    name: 'X-133: a permanent failure, a bug and a rule are final, and so is a failure that code acted on',
    async run(stage) {
      const holdfast = stage.holdfast();
      const refuse = new StepError('declined', { category: 'permanent' });
      const permanent = retried((ctx) => ctx.step('pay', () => Promise.reject(refuse)));
      const handled = retried(async (ctx) => {
        try {
          await ctx.step('pay', () => Promise.reject(new Error('down')), ONCE);
        } catch (error) {
          await ctx.step('tell', () => undefined);
          throw error;
        }
      });
      const ruled = pipeline({
        name: 'retried by rule',
        executionRetry: { ...QUICK, rules: [{ when: 'EFINAL', do: 'fail' }] },
        run() {
          throw Object.assign(new Error('final'), { code: 'EFINAL' });
        },
      });
      const bug = retried(() => {
        throw new TypeError('a mistake');
      });
      const all = [permanent, handled, ruled, bug];
      await stage.worker(holdfast, all);
      for (const code of all) {
        const { id } = await holdfast.submit(code as typeof bug, undefined);
        const { status } = await stage.until(holdfast, id, (execution) => {
          return execution.endedAt !== undefined || execution.holds.includes('blocked');
        });
        assert.equal(status, code === bug ? 'queued' : 'failed', code.name);
        assert.deepEqual(await retriesOf(stage, id), [], code.name);
      }
    },
  },
  {
    name: 'X-133: a cancel ends an execution that waits for its next attempt, and explain names that attempt',
    async run(stage) {
      const holdfast = stage.holdfast();
      const code = retried(() => {
        throw new Error('not yet');
      }, LONG);
      await stage.worker(holdfast, [code]);
      const { id } = await holdfast.submit(code, undefined);
      await stage.untilHistory(holdfast, id, (events) => events.at(-1)?.kind === 'given-back');
      const found = await holdfast.explain(id);
      assert.equal(found?.code, 'retrying');
      assert.match(
        found?.sentence ?? '',
        /^Attempt 1 failed: not yet .*The execution runs again at /,
      );
      await holdfast.cancel(id);
      assert.equal((await holdfast.read(id))?.status, 'cancelled');
      // Past its deadline it could not run, so it fails at once, with its own failure.
      const hurried = await holdfast.submit(code, undefined, { deadlineMs: 60_000 });
      await assert.rejects(hurried.result(), /not yet/);
    },
  },
  {
    name: 'X-133: attributes and signals of a failed attempt do not reach the next one twice',
    async run(stage) {
      const holdfast = stage.holdfast();
      const flaky = failing(1);
      const code = retried(async (ctx) => {
        const value = await ctx.receive('word');
        try {
          await ctx.step('flaky', flaky.run, ONCE);
        } catch (error) {
          ctx.setAttributes({ stage: 'failed' });
          throw error;
        }
        ctx.setAttributes({ stage: 'done' });
        return [value, ctx.attributes];
      });
      await stage.worker(holdfast, [code]);
      const { id, result } = await holdfast.submit(code, undefined);
      await holdfast.signal(id, { name: 'word', value: 'hello' });
      assert.deepEqual(await result(), ['hello', { stage: 'done' }]);
      assert.deepEqual((await holdfast.read(id))?.attributes, { stage: 'done' });
    },
  },
  {
    name: 'X-133, Y-20: a re-drive reuses the results of all attempts, without the failures before them',
    async run(stage) {
      const holdfast = stage.holdfast();
      const [first, second] = [failing(1), failing(2)];
      const code = retried(
        async (ctx) => {
          const one = await ctx.step('first', first.run, ONCE);
          return [one, await ctx.step('second', second.run, { retry: { attempts: 1 } })];
        },
        { ...QUICK, attempts: 2 } as never,
      );
      await stage.worker(holdfast, [code]);
      const { id, result } = await holdfast.submit(code, undefined);
      await assert.rejects(result(), /no 1/);
      const again = await holdfast.repair.redrive(id);
      assert.deepEqual(await holdfast.result(again.id), [2, 3]);
      assert.equal(first.calls(), 2);
    },
  },
];
