import assert from 'node:assert/strict';
import { ChildFailed, type Holdfast, pipeline } from '../../../src/index.ts';
import {
  behaviour,
  cited,
  execution,
  missing,
  played,
  type Scenario,
  shown,
  untilWaiting,
  withWorker,
} from '../scenario.ts';

/** The object: one execution of its key, whose code has the state and takes one update at a time. */
const counter = pipeline({
  name: 'counter',
  async run(ctx) {
    let count = 0;
    for (;;) {
      const update = await ctx.receive<{ add?: number; set?: number }>('change', { update: true });
      const { add = 0, set = count } = update.value;
      count = set + add;
      if (count > 100) await update.reject(`${count} is too much.`);
      else await update.reply(count);
    }
  },
});

async function change(holdfast: Holdfast, value: { add?: number; set?: number }): Promise<unknown> {
  await holdfast.submit(counter, undefined, { key: 'counter/a' });
  const result = await holdfast.update('key:counter/a', { name: 'change', value });
  return result.kind === 'replied' ? result.value : result.kind;
}

export const CALLS: readonly Scenario[] = [
  played(
    'State.add, proxyOneWayAdd, listStateAndClearAll',
    "one execution for each key keeps the state: `update('key:counter/a', { name, value })`",
    async (stage) => {
      const holdfast = await withWorker(stage, counter);
      assert.equal(await change(holdfast, { add: 1 }), 1);
      assert.equal(await change(holdfast, { add: 2 }), 3);
      assert.equal(await change(holdfast, { set: 0 }), 0);
    },
  ),
  played('StatePatchingTest.shouldPatchState', 'an update that sets the state', async (stage) => {
    const holdfast = await withWorker(stage, counter);
    assert.equal(await change(holdfast, { set: 40 }), 40);
    assert.equal(await change(holdfast, { add: 2 }), 42);
  }),
  played(
    'UserErrors.setStateThenFailShouldPersistState',
    '`update.reject(reason)` keeps what the code did before',
    async (stage) => {
      const holdfast = await withWorker(stage, counter);
      assert.equal(await change(holdfast, { set: 101 }), 'rejected');
      assert.equal(await change(holdfast, { add: -1 }), 100);
    },
  ),
  cited(
    'ServiceToService.regularCall',
    '`(await ctx.spawn(child, input)).result()`',
    behaviour('children', 'a child runs on its own and its parent gets its output'),
  ),
  cited(
    'ServiceToService.oneWayCall',
    "`ctx.spawn(child, input, { onParentEnd: 'abandon' })`",
    behaviour(
      'cancelling',
      'an abandoned child outlives its parent, and its parent can wait for it',
    ),
  ),
  played(
    'ServiceToService.callWithIdempotencyKey',
    'a step that submits with a `key` and waits for the result; it keeps its slot of the worker',
    async (stage) => {
      let runs = 0;
      const shared = pipeline({
        name: 'shared',
        run: (ctx) =>
          ctx.step('once', () => {
            runs += 1;
            return runs;
          }),
      });
      const holdfast = stage.holdfast();
      const caller = pipeline({
        name: 'caller',
        run: (ctx) =>
          ctx.step('call', async () => {
            const handle = await holdfast.submit(shared, undefined, { key: 'shared' });
            return handle.result();
          }),
      });
      await stage.worker(holdfast, [shared, caller]);
      const handles = await Promise.all([1, 2].map(() => holdfast.submit(caller, undefined)));
      assert.deepEqual(await Promise.all(handles.map((handle) => handle.result())), [1, 1]);
    },
  ),
  played(
    'ServiceToService.oneWayCallWithDelay',
    "`ctx.spawn(child, input, { delayMs, onParentEnd: 'abandon' })`",
    async (stage) => {
      const later = pipeline({ name: 'later', run: () => 'later' });
      const caller = pipeline({
        name: 'caller',
        run: async (ctx) =>
          (await ctx.spawn(later, undefined, { delayMs: 100, onParentEnd: 'abandon' })).id,
      });
      const holdfast = await withWorker(stage, later, caller);
      const child = await (await holdfast.submit(caller, undefined)).result();
      assert.equal(await holdfast.result(child), 'later');
      const { submittedAt, endedAt = 0 } = (await holdfast.read(child)) ?? assert.fail();
      assert.ok(endedAt - submittedAt >= 100);
    },
  ),
  cited(
    'RunFlush.flush',
    '`ctx.step`: the next call begins when the result is on disk; `runAhead: false` for plain code',
    behaviour(
      'running-ahead',
      'code has a result before it is durable, and the next step begins only after',
    ),
    behaviour('running-ahead', 'with runAhead: false, code gets every result after it is durable'),
  ),
  cited(
    'RunRetry.withSuccess, executedOnlyOnce',
    '`ctx.step(name, fn, { retry })`',
    behaviour('retries', 'a failed step is tried again, and each failure is recorded'),
  ),
  cited(
    'RunRetry.withExhaustedAttempts',
    'catch `StepFailed` around the step',
    behaviour(
      'retries',
      'a step gives up after its attempts, and the code may catch that and continue',
    ),
  ),
  played('Sleep.manySleeps', '`ctx.sleep(ms)`', async (stage) => {
    const sleepy = pipeline({
      name: 'sleepy',
      async run(ctx) {
        for (let nth = 0; nth < 20; nth += 1) await ctx.sleep(Math.floor(ctx.random() * 5));
        return 'slept';
      },
    });
    const holdfast = await withWorker(stage, sleepy);
    const handles = await Promise.all(
      Array.from({ length: 8 }, () => holdfast.submit(sleepy, undefined)),
    );
    const results = await Promise.all(handles.map((handle) => handle.result()));
    assert.ok(results.every((result) => result === 'slept'));
  }),
  played(
    'SleepWithFailures.sleepAndKillServiceEndpoint',
    '`ctx.sleep(ms)`: any worker continues, and not earlier',
    async (stage) => {
      const sleepy = pipeline({ name: 'sleepy', run: (ctx) => ctx.sleep(300) });
      const [one, two] = [stage.holdfast(), stage.holdfast()];
      const worker = await stage.worker(one, [sleepy]);
      const { id } = await one.submit(sleepy, undefined);
      await untilWaiting(stage, one, id);
      await stage.crash(worker);
      await stage.worker(two, [sleepy]);
      await two.result(id);
      const { submittedAt, endedAt = 0 } = (await two.read(id)) ?? assert.fail();
      assert.ok(endedAt - submittedAt >= 300);
    },
  ),
  played(
    'UserErrors.invokeTerminallyFailingCall, failSeveralTimes',
    '`throw`; `result()` throws `ExecutionFailed` with the failure, each time',
    async (stage) => {
      const failing = pipeline({
        name: 'failing',
        async run() {
          throw new Error('sold out');
        },
      });
      const holdfast = await withWorker(stage, failing);
      const { result } = await holdfast.submit(failing, undefined);
      for (let nth = 0; nth < 2; nth += 1) await assert.rejects(result(), /sold out/);
    },
  ),
  played(
    'UserErrors.internalCallFailurePropagation',
    '`child.result()` throws `ChildFailed`, which fails the parent if nothing catches it',
    async (stage) => {
      const deep = pipeline({
        name: 'deep',
        async run() {
          throw new Error('deep');
        },
      });
      const caller = pipeline({
        name: 'caller',
        run: async (ctx) =>
          (await ctx.spawn(deep, undefined)).result().catch((error: unknown) => {
            assert.ok(error instanceof ChildFailed);
            throw error;
          }),
      });
      const holdfast = await withWorker(stage, deep, caller);
      await assert.rejects((await holdfast.submit(caller, undefined)).result(), /deep/);
    },
  ),
  missing(
    'UserErrors.*WithMetadata (4 tests)',
    'A failure has category, code and message, and no structured details.',
  ),
  cited(
    'UserErrors.invocationWithEventualSuccess',
    '`executionRetry: { attempts }` of the pipeline',
    behaviour(
      'execution-retries',
      'code that throws outside a step runs again, until its attempts are used up',
    ),
  ),
  played(
    'WorkflowAPI.setAndResolve',
    '`ctx.publish`, `published`, `signal` and `result`, all with `key:` and the key',
    async (stage) => {
      const approval = pipeline({
        name: 'approval',
        async run(ctx, item: string) {
          await ctx.publish('item', item);
          return `${item}: ${await ctx.receive<string>('decision')}`;
        },
      });
      const holdfast = await withWorker(stage, approval);
      await holdfast.submit(approval, 'tent', { key: 'order/1' });
      const named = 'key:order/1';
      assert.equal(await holdfast.published(named, 'item', { timeoutMs: 10_000 }), 'tent');
      await holdfast.signal(named, { name: 'decision', value: 'yes' });
      assert.equal(await holdfast.result(named), 'tent: yes');
    },
  ),
  cited(
    'Ingress.idempotentInvoke* (service, object, send)',
    '`submit(p, input, { key })`',
    execution('verbs/submit', 'when submits with one key race, one is new, and all return its id'),
  ),
  cited(
    'Ingress.idempotentSendThenAttachWithIdempotencyKey',
    "`holdfast.result('key:order/1')`",
    behaviour('keys', 'every call that takes an execution takes its key, within its project'),
  ),
  cited(
    'Ingress.headersPassThrough',
    '`ctx.attributes`, `ctx.tags`',
    behaviour('code', 'the code reads how its execution was submitted, the same in every replay'),
  ),
  cited(
    'ConcurrencyLimitTest.concurrencyLimitIsRespected',
    '`concurrency: { key, limit }`',
    execution('verbs/slots', 'a key runs as many executions at once as it has slots, and no more'),
  ),
  cited(
    'ScopeIsolationTest.sameIdempotencyKeyAcrossScopesIsolates',
    '`project`',
    execution('verbs/submit', 'two projects can use the same key'),
  ),
  cited(
    'JournalRetention.journalShouldBeRetained',
    '`holdfast.history(id)` after the end',
    execution('reads/history', 'history is read in pages by seq'),
    behaviour('steps', 'history has when each attempt of a step began, and how long it took'),
  ),
  played(
    'CallOrdering.ordering',
    '`ctx.spawn(child, n, { concurrency: { key, limit: 1 } })`, one after the other',
    async (stage) => {
      const order: number[] = [];
      const append = pipeline({
        name: 'append',
        run: (ctx, n: number) => ctx.step('append', () => void order.push(n)),
      });
      const caller = pipeline({
        name: 'caller',
        async run(ctx) {
          const options = { concurrency: { key: 'list', limit: 1 } };
          const children = await ctx.fanOut(append, [0, 1, 2, 3, 4, 5], options);
          await children.results();
        },
      });
      const holdfast = await withWorker(stage, append, caller);
      await (await holdfast.submit(caller, undefined)).result();
      assert.deepEqual(order, [0, 1, 2, 3, 4, 5]);
    },
  ),
  cited(
    'KillRuntime.startAndKillRuntimeRetainsTheState',
    'nothing to write',
    shown(
      'crash/every-commit',
      'an execution killed at every commit ends as if no process had died',
    ),
  ),
  cited(
    'StopRuntime.startAndStopRuntimeRetainsTheState',
    '`worker.stop()`',
    behaviour(
      'recovery',
      'a worker that stops yields its executions, which another takes over at once',
    ),
  ),
];
