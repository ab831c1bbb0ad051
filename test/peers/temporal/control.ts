import assert from 'node:assert/strict';
import { ExecutionCancelled, pipeline, StepError } from '../../../src/index.ts';
import {
  behaviour,
  cited,
  execution,
  missing,
  played,
  type Scenario,
  shown,
  withWorker,
} from '../scenario.ts';

/** Resolves when the signal aborts. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
}

export const CONTROL: readonly Scenario[] = [
  cited(
    'features/activity/retry_on_error',
    '`ctx.step(name, fn, { retry: { attempts } })` throws the last failure',
    behaviour(
      'retries',
      'a step gives up after its attempts, and the code may catch that and continue',
    ),
  ),
  played(
    'features/activity/cancel_try_cancel',
    'an `AbortController` in the code, which the step listens to',
    async (stage) => {
      const cancelling = pipeline({
        name: 'cancelling',
        retry: { attempts: 1 },
        async run(ctx) {
          const stop = new AbortController();
          const slow = ctx.step('slow', async () => {
            await aborted(stop.signal);
            throw new Error('stopped');
          });
          await ctx.step('decide', () => 'enough');
          stop.abort();
          return slow.catch(({ message }: Error) => message);
        },
      });
      const holdfast = await withWorker(stage, cancelling);
      const result = await (await holdfast.submit(cancelling, undefined)).result();
      assert.match(String(result), /stopped/);
    },
  ),
  played(
    'cancellation-scopes: withTimeout() - timer gets cancelled',
    '`Promise.race` with `ctx.sleep`; the timer that lost does not delay the end',
    async (stage) => {
      const racing = pipeline({
        name: 'racing',
        run: (ctx) => Promise.race([ctx.step('quick', () => 'quick'), ctx.sleep(60_000)]),
      });
      const holdfast = await withWorker(stage, racing);
      assert.equal(await (await holdfast.submit(racing, undefined)).result(), 'quick');
    },
  ),
  played(
    'cancellation-scopes: withTimeout() - scope gets cancelled on timeout',
    'abort your `AbortController` when `ctx.sleep` wins the race',
    async (stage) => {
      let hasStopped = false;
      const limited = pipeline({
        name: 'limited',
        async run(ctx) {
          const stop = new AbortController();
          const slow = ctx.step('slow', async () => {
            await aborted(stop.signal);
            hasStopped = true;
            return 'stopped';
          });
          await Promise.race([slow, ctx.sleep(30)]);
          stop.abort();
          return slow;
        },
      });
      const holdfast = await withWorker(stage, limited);
      assert.equal(await (await holdfast.submit(limited, undefined)).result(), 'stopped');
      assert.ok(hasStopped);
    },
  ),
  cited(
    'cancellation-scopes: non-cancellable clean-up (8 tests)',
    '`onCancel(cleanup)` of `ctx.scope`',
    behaviour('scopes', 'another worker continues a cleanup, without repeating its recorded steps'),
    behaviour('scopes', 'the execution ends after all cleanups, and undoes its steps then'),
  ),
  played(
    'workflow cancellation: complete immediately (in a step)',
    'catch `ExecutionCancelled` and return: the execution is `completed`',
    async (stage) => {
      const catching = pipeline({
        name: 'catching',
        run: (ctx) =>
          ctx
            .step('slow', async ({ signal }) => {
              await aborted(signal);
              throw signal.reason;
            })
            .catch((error: unknown) => {
              assert.ok(error instanceof ExecutionCancelled);
              return 'completed by code';
            }),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [catching], { ttlMs: 1_000 });
      const { id, result } = await holdfast.submit(catching, undefined);
      await stage.until(holdfast, id, ({ status }) => status === 'running');
      await holdfast.cancel(id);
      assert.equal(await result(), 'completed by code');
    },
  ),
  cited(
    'workflow cancellation: fail immediately (in a step)',
    '`ctx.scope` with an `onCancel` that throws: the execution is `failed`',
    behaviour('scopes', 'a cleanup that throws or takes too long fails the execution'),
  ),
  cited(
    'workflow cancellation: cancel immediately',
    '`holdfast.cancel(id)`',
    behaviour(
      'cancelling',
      'a cancel of a running execution aborts its steps, and it ends as cancelled',
    ),
  ),
  cited(
    'workflow cancellation: complete immediately (while waiting)',
    'in `ctx.scope`, catch `ExecutionCancelled` and return',
    behaviour('scopes', 'code in a scope may catch the cancel and complete'),
  ),
  cited(
    'workflow cancellation: after-cleanup (3 tests)',
    '`onCancel(cleanup)` of `ctx.scope`, with steps and waits',
    behaviour(
      'scopes',
      'waiting code in a scope gets the cancel, and cleans up with recorded steps',
    ),
  ),
  cited(
    'features/child_workflow/result, child-workflow-failure',
    '`child.result()`, `ChildFailed`',
    behaviour('children', 'a child runs on its own and its parent gets its output'),
    behaviour('children', 'a failed child is an error that the parent may catch, or an outcome'),
  ),
  cited(
    'features/child_workflow/signal',
    '`child.signal(name, value)`',
    behaviour(
      'children',
      'a parent signals and cancels its children, and gets false for one that has ended',
    ),
  ),
  cited(
    'split-one: child-workflow-timeout',
    '`ctx.spawn(child, input, { deadlineMs })`',
    shown(
      'engine/deadlines.test',
      'a child that is delayed beyond its deadline ends at its deadline',
    ),
  ),
  cited(
    'split-one: child-workflow-cancel',
    '`child.cancel(reason)`',
    behaviour(
      'children',
      'a parent signals and cancels its children, and gets false for one that has ended',
    ),
  ),
  cited(
    'workflow-start: child with an existing workflow ID fails',
    '`ctx.spawn(child, input, { key })`: `ChildFailed` with `key-in-use`',
    behaviour(
      'children',
      'a child with a key is found by it, and does not start if the key is taken',
    ),
  ),
  cited(
    'parent close policy abandon',
    "`onParentEnd: 'abandon'`",
    behaviour(
      'cancelling',
      'an abandoned child outlives its parent, and its parent can wait for it',
    ),
  ),
  cited(
    'features/continue_as_new/continue_as_same',
    '`ctx.continueAsNew(input)`',
    behaviour('code', 'continueAsNew continues in a fresh execution, and result follows it'),
  ),
  cited(
    'split-two: result() follows the chain; signal to the old id after',
    "`signal('key:order/1', …)` reaches the newest execution of the chain",
    execution('verbs/keys', 'a command by key reaches the successor that took the key over'),
  ),
  played(
    'split-two: continue-as-new-to-different-workflow',
    '`return (await ctx.spawn(other, input)).result()`; the first stays open until the other ends',
    async (stage) => {
      const other = pipeline({ name: 'other', run: (_, n: number) => n + 1 });
      const first = pipeline({
        name: 'first',
        run: async (ctx, n: number) => (await ctx.spawn(other, n + 1)).result(),
      });
      const holdfast = await withWorker(stage, first, other);
      assert.equal(await (await holdfast.submit(first, 1)).result(), 3);
    },
  ),
  cited(
    'split-two: continue-as-new can set memo and search attributes',
    '`ctx.setAttributes(…)`, then `ctx.continueAsNew(input)`',
    behaviour(
      'attributes',
      'a checkpoint keeps the attributes, and so does the successor of continueAsNew',
    ),
  ),
  cited(
    'patched, deprecate-patch',
    '`ctx.patched(name)`',
    behaviour('patching', 'an execution that is past a patch stays on the old branch'),
    behaviour(
      'patching',
      'a new execution takes the patch, in every replay, also once the call is removed',
    ),
  ),
  cited(
    'replay: nondeterministic, multiple histories',
    '`replayHistory(pipeline, saved)` of `holdfast/testing`, for each file',
    shown(
      'engine/saved-history.test',
      'a saved history replays with the same code, and other code differs at an event',
    ),
  ),
  cited(
    'async-completion: Activity can complete asynchronously, fail, unknown id',
    '`ctx.await(name)`, `awaits.answer(id, value)`; an unknown id is refused',
    behaviour(
      'awaiting',
      'an await opens as the execution parks, and its outcome has the answer, actor and time',
    ),
    execution(
      'awaits/answering',
      'an answer to a missing await, or to one of another project, is refused',
    ),
  ),
  cited(
    'worker-heartbeats: last heartbeat details given to the next attempt',
    '`step.heartbeat(details)`, `step.heartbeatDetails`',
    behaviour(
      'heartbeats',
      'another worker’s attempt gets the details, and the row shows them before',
    ),
  ),
  cited(
    'worker-heartbeats: activity heartbeat timeout',
    '`ctx.step(name, fn, { heartbeatTimeoutMs })`',
    behaviour('heartbeats', 'a silent attempt is given up, and the next one gets the last details'),
  ),
  played(
    'activities: nextRetryDelay',
    '`new StepError(message, { category, retryAfterMs })`',
    async (stage) => {
      const times: number[] = [];
      const busy = pipeline({
        name: 'busy',
        retry: { initialMs: 1 },
        run: (ctx) =>
          ctx.step('call', () => {
            times.push(Date.now());
            if (times.length === 1) {
              throw new StepError('busy', { category: 'retryable', retryAfterMs: 80 });
            }
          }),
      });
      const holdfast = await withWorker(stage, busy);
      await (await holdfast.submit(busy, undefined)).result();
      const [first = 0, second = 0] = times;
      assert.ok(second - first >= 79);
    },
  ),
  cited(
    'activities: Worker cancels activities after shutdown; features/activity/shutdown',
    '`worker.stop()`: the `signal` of a step aborts after `stopGraceMs`',
    behaviour(
      'recovery',
      'a step that does not stop in time is left behind, and its result is refused',
    ),
    behaviour('recovery', 'a step that a stop left behind is marked when it runs again'),
  ),
  cited(
    'testenvironment: time skipping',
    '`openTestHoldfast` of `holdfast/testing`, `time.advance(ms)`',
    shown(
      'engine/time-travel.test',
      'a pipeline that sleeps for thirty days is tested without waiting',
    ),
  ),
  cited(
    'random-streams: random and uuid are the same in replay',
    '`ctx.random()`, `ctx.uuid()`, `ctx.now()`',
    behaviour('code', 'time, dice and ids are the same in every replay'),
  ),
  cited(
    'worker-versioning: pinned executions go to workers of their build',
    '`holdfast.worker({ release: { name, digest } })`',
    behaviour('releasing', 'while a new release takes over, open executions end on the old one'),
  ),
  missing(
    'split-three: priorities across child workflows',
    'There are two lanes, `interactive` and `batch`, and no numeric priorities.',
  ),
  cited(
    'Signals, Updates, Activities and Timers have coherent promise completion ordering',
    'results reach the code in the order of the history',
    behaviour('steps', 'a race has the same winner in every replay'),
    behaviour('drift', 'large results reach the code in the order of history too'),
  ),
  cited(
    'split-one: sleep, cancel-timer-*',
    '`ctx.sleep(ms)`',
    behaviour(
      'waiting',
      'a sleep parks the execution, wakes by itself, and steps before it do not run again',
    ),
  ),
];
