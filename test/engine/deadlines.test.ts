import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestHoldfast } from '../../contract/index.ts';
import type { Context } from '../../src/engine/context.ts';
import type { ExecutionFailed } from '../../src/engine/failures.ts';
import { pipeline } from '../../src/engine/pipeline.ts';

/** When and how it ended, in milliseconds after its submit, and how often its step ran. */
async function endOf(
  code: (ctx: Context, work: () => void) => Promise<unknown>,
  options: { readonly deadlineMs: number; readonly delayMs?: number },
): Promise<{ readonly afterMs: number; readonly code?: string; readonly runs: number }> {
  let runs = 0;
  const work = (): void => {
    runs += 1;
  };
  const timed = pipeline({ name: 'timed', run: (ctx) => code(ctx, work) });
  await using stage = await openTestHoldfast({ pipelines: [timed] });
  const { holdfast } = stage;
  const handle = await holdfast.submit(timed, undefined, options);
  // Not with `stage.advance`, which also runs the periodic duties of workers.
  for (let steps = 0; steps < 40; steps += 1) await stage.clock.advance(100);
  const { submittedAt, endedAt, status } = (await holdfast.read(handle.id)) ?? assert.fail();
  if (endedAt === undefined) return { afterMs: Number.NaN, runs, code: status };
  const failed = await handle.result().then(
    () => ({}),
    ({ failure }: ExecutionFailed) => ({ code: failure?.code ?? '' }),
  );
  return { afterMs: endedAt - submittedAt, runs, ...failed };
}

const failedAt = (afterMs: number, runs: number) => ({ afterMs, runs, code: 'deadline-passed' });

test('an execution that sleeps ends at its deadline', async () => {
  const end = await endOf((ctx) => ctx.sleep(60_000), { deadlineMs: 700 });
  assert.deepEqual(end, failedAt(700, 0));
});

test('an execution that waits for a signal ends at its deadline', async () => {
  const end = await endOf((ctx) => ctx.receive('never'), { deadlineMs: 700 });
  assert.deepEqual(end, failedAt(700, 0));
});

test('an execution that waits for its next attempt ends at its deadline, without that attempt', async () => {
  const end = await endOf(
    (ctx, work) =>
      ctx.step(
        'charge',
        () => {
          work();
          throw new Error('again');
        },
        { retry: { attempts: 3, initialMs: 60_000, maxMs: 60_000 } },
      ),
    { deadlineMs: 700 },
  );
  assert.deepEqual(end, failedAt(700, 1));
});

test('an execution that is delayed beyond its deadline ends at its deadline and runs nothing', async () => {
  const end = await endOf((ctx, work) => ctx.step('charge', work), {
    deadlineMs: 700,
    delayMs: 60_000,
  });
  assert.deepEqual(end, failedAt(700, 0));
});

test('a child that is delayed beyond its deadline ends at its deadline', async () => {
  const late = pipeline({ name: 'late', run: () => 'never' });
  const parent = pipeline({
    name: 'parent',
    run: async (ctx) => {
      const child = await ctx.spawn(late, undefined, { delayMs: 60_000, deadlineMs: 700 });
      return child.result().then(String, ({ failure }: ExecutionFailed) => failure?.code);
    },
  });
  await using stage = await openTestHoldfast({ pipelines: [parent, late] });
  const handle = await stage.holdfast.submit(parent, undefined);
  for (let steps = 0; steps < 10; steps += 1) await stage.clock.advance(100);
  const { status } = (await stage.holdfast.read(handle.id)) ?? assert.fail();
  assert.equal(status, 'completed');
  assert.equal(await handle.result(), 'deadline-passed');
});
