import assert from 'node:assert/strict';
import { type Context, ExecutionCancelled, pipeline } from '../../../src/index.ts';
import type { Stage } from '../../engine/stage.ts';
import {
  behaviour,
  cited,
  missing,
  played,
  type Scenario,
  untilWaiting,
  withWorker,
} from '../scenario.ts';

/** A message that is a value or an error. */
type Sent = { readonly value: string } | { readonly error: string };

async function received(ctx: Context, name: string): Promise<string> {
  const sent = (await ctx.receive<Sent>(name)) as Sent;
  if ('error' in sent) throw new Error(sent.error);
  return sent.value;
}

/** Runs code that waits for messages, sends them in this order, and returns the result. */
async function receiving(
  stage: Stage,
  run: (ctx: Context) => Promise<unknown>,
  messages: readonly (readonly [name: string, sent: Sent])[],
): Promise<unknown> {
  const combining = pipeline({ name: 'combining', run });
  const holdfast = await withWorker(stage, combining);
  const { id, result } = await holdfast.submit(combining, undefined);
  for (const [name, value] of messages) await holdfast.signal(id, { name, value });
  return result();
}

/** Cancels code that waits in a scope, and returns what it saw. */
async function cancelled(
  stage: Stage,
  wait: (ctx: Context) => Promise<unknown>,
): Promise<readonly unknown[]> {
  const seen: unknown[] = [];
  const never = pipeline({ name: 'never', run: (ctx) => ctx.receive('never') });
  const waits = pipeline({
    name: 'waits',
    run: (ctx) =>
      ctx.scope(
        async () => {
          await wait(ctx).catch((error: unknown) => {
            seen.push(error instanceof ExecutionCancelled);
            throw error;
          });
        },
        { onCancel: (cleanup) => cleanup.step('clean up', () => void seen.push('clean')) },
      ),
  });
  const holdfast = await withWorker(stage, waits, never);
  const { id, result } = await holdfast.submit(waits, undefined);
  await untilWaiting(stage, holdfast, id);
  await holdfast.cancel(id);
  await assert.rejects(result(), { status: 'cancelled' });
  return seen;
}

export const CONTROL: readonly Scenario[] = [
  cited(
    'AwakeableIngressEndpoint.completeWithSuccess',
    '`ctx.await(name)`, `awaits.answer({ execution, name }, value)`',
    behaviour(
      'awaiting',
      'an await opens as the execution parks, and its outcome has the answer, actor and time',
    ),
  ),
  played(
    'AwakeableIngressEndpoint.completeWithFailure',
    'answer a value such as `{ error }`, and throw it in the code',
    async (stage) => {
      const asks = pipeline({
        name: 'asks',
        async run(ctx) {
          const outcome = await ctx.await<Sent>('it');
          if (outcome.kind === 'answered' && 'error' in outcome.value) {
            throw new Error(outcome.value.error);
          }
        },
      });
      const holdfast = await withWorker(stage, asks);
      const { id, result } = await holdfast.submit(asks, undefined);
      await holdfast.awaits.answer({ execution: id, name: 'it' }, { error: 'no stock' });
      await assert.rejects(result(), /no stock/);
    },
  ),
  played(
    'Combinators.awakeableOrTimeoutUsingAwaitAny',
    '`Promise.race([ctx.await(name), ctx.sleep(ms)])`',
    async (stage) => {
      const asks = pipeline({
        name: 'asks',
        run: (ctx) => Promise.race([ctx.await('it'), ctx.sleep(150).then(() => 'too late')]),
      });
      const holdfast = await withWorker(stage, asks);
      assert.equal(await (await holdfast.submit(asks, undefined)).result(), 'too late');
    },
  ),
  cited(
    'Combinators.awakeableOrTimeoutUsingAwakeableTimeoutCommand',
    '`ctx.await(name, { timeoutMs })`',
    behaviour('await-times', 'without an answer in time the code takes another branch'),
  ),
  played(
    'Combinators.firstSuccessfulCompletedAwakeable',
    '`Promise.any` over awaits and steps',
    async (stage) => {
      const asks = pipeline({
        name: 'asks',
        async run(ctx) {
          const failing = ctx.step(
            'fail',
            () => {
              throw new Error('failed');
            },
            { retry: { attempts: 1 } },
          );
          const answers = ['a', 'b'].map(async (name) => {
            const outcome = await ctx.await<string>(name);
            return outcome.kind === 'answered' ? outcome.value : outcome.kind;
          });
          return Promise.any([failing, ...answers]);
        },
      });
      const holdfast = await withWorker(stage, asks);
      const { id, result } = await holdfast.submit(asks, undefined);
      await untilWaiting(stage, holdfast, id);
      await holdfast.awaits.answer({ execution: id, name: 'b' }, 'from b');
      assert.equal(await result(), 'from b');
    },
  ),
  played(
    'Combinators.signalFirstSuccessfulOrAllFailed',
    '`Promise.any` over receives; a signal is a value, so the code throws for `{ error }`',
    async (stage) => {
      const run = (ctx: Context) =>
        Promise.any(['a', 'b'].map((name) => received(ctx, name))).catch(
          ({ errors }: AggregateError) => errors.length,
        );
      const failed = ['a', { error: 'a failed' }] as const;
      assert.equal(await receiving(stage, run, [failed, ['b', { value: 'b' }]]), 'b');
      assert.equal(await receiving(stage, run, [failed, ['b', { error: 'b failed' }]]), 2);
    },
  ),
  played(
    'Combinators.signalAllSuccessfulOrFirstFailed',
    '`Promise.all` over receives',
    async (stage) => {
      const run = (ctx: Context) => Promise.all(['a', 'b'].map((name) => received(ctx, name)));
      const sent = [
        ['b', { value: '2' }],
        ['a', { value: '1' }],
      ] as const;
      assert.deepEqual(await receiving(stage, run, sent), ['1', '2']);
    },
  ),
  played(
    'Combinators.signalAllCompleted',
    '`Promise.allSettled` over receives that throw for `{ error }`',
    async (stage) => {
      const run = async (ctx: Context) => {
        const all = await Promise.allSettled(['a', 'b'].map((name) => received(ctx, name)));
        return all.map(({ status }) => status);
      };
      const sent = [
        ['a', { error: 'failed' }],
        ['b', { value: '2' }],
      ] as const;
      assert.deepEqual(await receiving(stage, run, sent), ['rejected', 'fulfilled']);
    },
  ),
  played('Combinators.signalFirstCompleted', '`Promise.race` over receives', async (stage) => {
    const run = (ctx: Context) => Promise.race(['a', 'b'].map((name) => ctx.receive(name)));
    assert.deepEqual(await receiving(stage, run, [['b', { value: '2' }]]), { value: '2' });
  }),
  played(
    'Combinators.mixedRunWinsRaceAgainstSignal',
    '`Promise.race([ctx.step(…), ctx.receive(name)])`',
    async (stage) => {
      const run = (ctx: Context) => Promise.race([ctx.step('run', () => 'ran'), ctx.receive('a')]);
      assert.equal(await receiving(stage, run, []), 'ran');
    },
  ),
  played(
    'Combinators.mixedSignalWinsAfterRunFails',
    '`Promise.any([ctx.step(…), ctx.receive(name)])`',
    async (stage) => {
      const run = (ctx: Context) =>
        Promise.any([
          ctx.step(
            'run',
            () => {
              throw new Error('failed');
            },
            { retry: { attempts: 1 } },
          ),
          ctx.receive('a'),
        ]);
      assert.deepEqual(await receiving(stage, run, [['a', { value: '1' }]]), { value: '1' });
    },
  ),
  played(
    'Cancellation.cancelFromAdminAPI[CALL]',
    '`ctx.scope(block, { onCancel })` around the wait',
    async (stage) => {
      const call = async (ctx: Context) => (await ctx.spawn('never', undefined)).result();
      assert.deepEqual(await cancelled(stage, call), [true, 'clean']);
    },
  ),
  played(
    'Cancellation.cancelFromAdminAPI[SLEEP]',
    '`ctx.scope(block, { onCancel })` around the wait',
    async (stage) => {
      assert.deepEqual(await cancelled(stage, (ctx) => ctx.sleep(60_000)), [true, 'clean']);
    },
  ),
  played(
    'Cancellation.cancelFromAdminAPI[AWAKEABLE]',
    '`ctx.scope(block, { onCancel })` around the wait',
    async (stage) => {
      assert.deepEqual(await cancelled(stage, (ctx) => ctx.await('it')), [true, 'clean']);
    },
  ),
  played(
    'Cancellation.cancelFromContext',
    "`child.cancel()`; for others `ctx.step('cancel', () => holdfast.cancel(id))`",
    async (stage) => {
      const holdfast = stage.holdfast();
      const never = pipeline({ name: 'never', run: (ctx) => ctx.receive('never') });
      const cancels = pipeline({
        name: 'cancels',
        run: (ctx, id: string) => ctx.step('cancel', async () => (await holdfast.cancel(id)).kind),
      });
      await stage.worker(holdfast, [never, cancels]);
      const { id, result } = await holdfast.submit(never, undefined);
      await untilWaiting(stage, holdfast, id);
      assert.equal(await (await holdfast.submit(cancels, id)).result(), 'done');
      await assert.rejects(result(), { status: 'cancelled' });
    },
  ),
  cited(
    'Cancellation: awaiting code sees the cancel and cleans up with durable calls',
    '`onCancel(cleanup)` of `ctx.scope`',
    behaviour(
      'scopes',
      'waiting code in a scope gets the cancel, and cleans up with recorded steps',
    ),
  ),
  cited(
    'KillInvocation.kill',
    '`holdfast.cancel(id, { force: true })`',
    behaviour('scopes', 'a forced cancel ends a running execution at once, and its worker stops'),
  ),
  cited(
    'NonDeterminismErrors.eitherSleepOrCall',
    'the execution is blocked, and nothing is done',
    behaviour('drift', 'the execution is blocked if … while it waits'),
  ),
  cited(
    'NonDeterminismErrors.callDifferentMethod',
    'the execution is blocked, and the other child does not start',
    behaviour('drift', 'a call of the same name that … blocks the execution'),
  ),
  missing(
    'NonDeterminismErrors: same call, other input',
    'The input of a recorded child is not compared. The recorded child counts.',
  ),
  cited(
    'NonDeterminismErrors.backgroundInvokeWithDifferentTargets',
    'the execution is blocked: another pipeline under the name of the child',
    behaviour('drift', 'a call of the same name that … blocks the execution'),
  ),
  cited(
    'PauseResumeTest.pauseAndResumeInvocation',
    '`holdfast.pause(id)`, `holdfast.resume(id)`',
    behaviour('waiting', 'a running execution is paused when its step is done'),
  ),
  played(
    'PauseResumeChangingDeploymentTest',
    'pause, deploy code that makes the same calls, resume',
    async (stage) => {
      const code = (answer: string) =>
        pipeline({
          name: 'deployed',
          async run(ctx) {
            await ctx.receive('go');
            return ctx.step('answer', () => answer);
          },
        });
      const [one, two] = [stage.holdfast(), stage.holdfast()];
      const worker = await stage.worker(one, [code('old')]);
      const { id } = await one.submit('deployed', undefined);
      await untilWaiting(stage, one, id);
      await one.pause(id);
      await worker.stop();
      await stage.worker(two, [code('new')]);
      await two.signal(id, { name: 'go' });
      await two.resume(id);
      assert.equal(await two.result(id), 'new');
    },
  ),
  cited(
    'RestartAsNew.restartFromPrefix',
    '`repair.redrive(id, { from })`',
    behaviour('repairing', 'a re-drive from a chosen step repeats that step and the later ones'),
  ),
  cited(
    'RestartAsNew: with another input',
    '`repair.redrive(id, { input, from })`',
    behaviour('repairing', 'a re-drive with an edited input keeps the results before its start'),
  ),
];
