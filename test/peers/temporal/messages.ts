import assert from 'node:assert/strict';
import { type Holdfast, pipeline, type Schema, type UpdateMessage } from '../../../src/index.ts';
import {
  behaviour,
  cited,
  execution,
  missing,
  played,
  type Scenario,
  untilWaiting,
  withWorker,
} from '../scenario.ts';

/** Takes numbers by update, and replies with their sum. */
const sum = pipeline({
  name: 'sum',
  async run(ctx) {
    let total = 0;
    for (;;) {
      const update = await ctx.receive<number>('add', { update: true });
      total += await ctx.step('check', () => update.value);
      await update.reply(total);
    }
  },
});

/** Sends a number, and returns the reply or what came instead. */
async function added(holdfast: Holdfast, id: string, message: Omit<UpdateMessage, 'name'>) {
  const result = await holdfast.update(id, { name: 'add', ...message });
  return result.kind === 'replied' ? result.value : result.kind;
}

export const MESSAGES: readonly Scenario[] = [
  cited(
    'features/data_converter/codec, failure, json, empty',
    '`openHoldfast({ store, codec })`',
    behaviour('payloads', 'undefined, null and empty values are read back unchanged'),
    behaviour('payloads', 'a codec hides values from readers of the store, and its keys rotate'),
  ),
  cited(
    'features/data_converter/binary',
    'a `Uint8Array` is a value',
    behaviour('payloads', 'values beyond JSON are read back unchanged from steps, inputs, signals'),
  ),
  cited(
    'features/query/successful_query',
    "`ctx.onQuery('packed', handler)`, `holdfast.query(id, { name: 'packed' })`",
    behaviour(
      'updates',
      'a query reads the state of a waiting and of an ended execution, and writes nothing',
    ),
  ),
  cited(
    'features/query/* unexpected arguments, type, timeout (4 tests)',
    'a `Fault` with `query-unknown`, `query-failed` or `no-worker`',
    behaviour(
      'updates',
      'a query reads the state of a waiting and of an ended execution, and writes nothing',
    ),
  ),
  missing(
    'features/reset/reset_and_delete',
    '`repair.redrive(id, { from })` is the reset. `holdfast.erase(id)` removes values, and keeps the record.',
  ),
  cited(
    'features/schedule/basic, cron, duplicate_error',
    "`schedules.put({ id, cron, pipeline, ifExists: 'refuse' })`",
    behaviour('scheduling', 'a schedule that is only created keeps its content'),
  ),
  cited(
    'features/schedule/pause (with notes)',
    '`schedules.pause(id, { actor, reason })`',
    behaviour('auditing', 'operations on templates and schedules are recorded'),
  ),
  cited(
    'features/schedule/trigger',
    '`schedules.trigger(id)`',
    behaviour(
      'scheduling',
      'a trigger submits now, once for each key, also while the schedule is paused',
    ),
  ),
  cited(
    'features/schedule/backfill',
    '`schedules.backfill(id, { from, to })`',
    behaviour('scheduling', 'a backfill submits each past time once, also when it is repeated'),
  ),
  missing(
    'schedules: overlap policies buffer, cancel-other, terminate-other, jitter, end date, remaining actions',
    '`overlap` and `jitterMs` exist. A schedule has no end date and no count of fires.',
  ),
  cited(
    'schedules: Can update schedule calendar, action; list',
    '`schedules.put` with the same `id`',
    execution(
      'scheduling/schedules',
      'a schedule is read back as it was put; repeating it changes nothing',
    ),
  ),
  cited(
    'features/signal/basic, activities, external; unknown id',
    '`holdfast.signal(id, { name, value })`; an unknown id is refused',
    behaviour('waiting', 'signals wait for a receive, in their order, and each is delivered once'),
    execution('verbs/signal', 'a signal to an open execution is in its inbox, with name and body'),
  ),
  played(
    'signals-are-always-delivered, update-is-always-delivered',
    '`ctx.receive(name)` in a loop',
    async (stage) => {
      const collecting = pipeline({
        name: 'collecting',
        async run(ctx, count: number) {
          const got: number[] = [];
          while (got.length < count) {
            const value = await ctx.receive<number>('n');
            if (value !== undefined) got.push(value);
            if (got.length % 20 === 0) await ctx.step('work', () => undefined);
          }
          return got;
        },
      });
      const holdfast = await withWorker(stage, collecting);
      const { id, result } = await holdfast.submit(collecting, 100);
      const sent = Array.from({ length: 100 }, (_, n) => n);
      for (const value of sent) await holdfast.signal(id, { name: 'n', value });
      assert.deepEqual(await result(), sent);
    },
  ),
  missing(
    'signal sent just before the code returns is not lost',
    'Signals that no code receives end with the execution. Send an update: its sender learns of it.',
  ),
  cited(
    'features/update/basic',
    '`holdfast.update(id, { name, value })`, `ctx.receive(name, { update: true })`',
    behaviour(
      'updates',
      'an update gets its reply once for each key, also from a parked execution',
    ),
  ),
  played(
    'features/update/basic_async',
    '`update(id, { name, value, key, timeoutMs: 0 })` returns `pending`; the same `key` later gets the reply',
    async (stage) => {
      const holdfast = stage.holdfast();
      const { id } = await holdfast.submit(sum, undefined);
      const update = { value: 20, key: 'a' };
      assert.equal(await added(holdfast, id, { ...update, timeoutMs: 0 }), 'pending');
      await stage.worker(holdfast, [sum]);
      assert.equal(await added(holdfast, id, update), 20);
    },
  ),
  cited(
    'features/update/async_accepted',
    '`pending` means stored; `unanswered` after the end',
    behaviour(
      'updates',
      'an update without a reply is pending, and unanswered once the execution has ended',
    ),
  ),
  cited(
    'features/update/deduplication',
    '`key` of the update',
    behaviour(
      'updates',
      'an update gets its reply once for each key, also from a parked execution',
    ),
  ),
  cited(
    'features/update/non_durable_reject',
    '`messages: { add: Schema }` of the pipeline: `InvalidInput` before anything is written',
    behaviour(
      'updates',
      'a message that the schema refuses is not written, and one from elsewhere is not received',
    ),
  ),
  played(
    'features/update/validation_replay',
    '`messages: { add: Schema }`; a replay does not check again',
    async (stage) => {
      let checks = 0;
      const once: Schema<number> = {
        '~standard': {
          version: 1,
          vendor: 'test',
          validate(value) {
            checks += 1;
            return { value: Number(value) };
          },
        },
      };
      const checked = pipeline({
        name: 'checked',
        messages: { add: once },
        async run(ctx) {
          const update = await ctx.receive<number>('add', { update: true });
          await update.reply(update.value);
          await ctx.receive('go');
          return update.value;
        },
      });
      const holdfast = await withWorker(stage, checked);
      const { id, result } = await holdfast.submit(checked, undefined);
      await holdfast.update(id, { name: 'add', value: 1 });
      await untilWaiting(stage, holdfast, id);
      const before = checks;
      await holdfast.signal(id, { name: 'go' });
      assert.equal(await result(), 1);
      assert.equal(checks, before);
    },
  ),
  played(
    'features/update/activities',
    'steps between `ctx.receive(name, { update: true })` and `update.reply(value)`',
    async (stage) => {
      const holdfast = await withWorker(stage, sum);
      const { id } = await holdfast.submit(sum, undefined);
      for (const total of [5, 10]) {
        assert.equal(await added(holdfast, id, { value: 5 }), total);
      }
    },
  ),
  cited(
    'features/update/worker_restart',
    'nothing to write: the update is stored before it is handled',
    behaviour(
      'updates',
      'an update gets its reply once for each key, also from a parked execution and after a crash',
    ),
  ),
  played(
    'features/update/self',
    '`holdfast.update(ctx.id, …)` in a step, beside a receive',
    async (stage) => {
      const holdfast = stage.holdfast();
      const self = pipeline({
        name: 'self',
        async run(ctx) {
          const asked = ctx.step('ask', () => holdfast.update(ctx.id, { name: 'it', key: 'it' }));
          const update = await ctx.receive('it', { update: true });
          await update.reply('own reply');
          return (await asked).kind;
        },
      });
      await stage.worker(holdfast, [self]);
      assert.equal(await (await holdfast.submit(self, undefined)).result(), 'replied');
    },
  ),
  played(
    'integration-update: updateWithStart happy path',
    "`submit(p, input, { key })`, then `update('key:sum', …)`; both can be repeated",
    async (stage) => {
      const holdfast = await withWorker(stage, sum);
      for (const [key, total] of [
        ['a', 4],
        ['b', 8],
        ['b', 8],
      ] as const) {
        await holdfast.submit(sum, undefined, { key: 'sum' });
        assert.equal(await added(holdfast, 'key:sum', { value: 4, key }), total);
      }
    },
  ),
  cited(
    'split-two: signalWithStart works as intended',
    '`submitOrSignal(p, input, { key, signal })`',
    execution(
      'verbs/signal',
      'a submit with a message starts an execution that has it, or sends it to the one that has the key',
    ),
  ),
  cited(
    'signalWithStart after the first has completed starts a new run',
    "`submitOrSignal(p, input, { key, signal, ifKeyTaken: 'reuse' })`",
    execution(
      'verbs/signal',
      'a message to an ended execution is refused, unless the submit takes its key over',
    ),
  ),
  cited(
    'workflow-start: id conflict policy fail, use existing',
    "`ifKeyTaken: 'refuse'`, or `join`, the default",
    execution('verbs/keys', 'with `refuse`, a taken key is refused whatever the content'),
    execution('verbs/submit', 'repeating a submit returns the same execution and writes nothing'),
  ),
  cited(
    'workflow-start: id conflict policy terminate existing',
    "`ifKeyTaken: 'replace'`",
    execution('verbs/keys', 'with `replace`, an open execution is cancelled and gives its key up'),
  ),
  cited(
    'split-two: Workflow RetryPolicy kicks in',
    '`executionRetry: { attempts, initialMs }` of the pipeline',
    behaviour(
      'execution-retries',
      'code that throws outside a step runs again, until its attempts are used up',
    ),
    behaviour(
      'execution-retries',
      'a step that failed for good begins anew, and recorded steps do not run again',
    ),
  ),
  played(
    'workflow-start: Start of workflow (with signal) is delayed',
    '`submitOrSignal(p, input, { key, delayMs, signal })`',
    async (stage) => {
      const waits = pipeline({
        name: 'waits',
        run: (ctx) => ctx.receive<string>('go'),
      });
      const holdfast = await withWorker(stage, waits);
      const { id } = await holdfast.submitOrSignal(waits, undefined, {
        key: 'late',
        delayMs: 100,
        signal: { name: 'go', value: 'early' },
      });
      assert.equal(await holdfast.result(id), 'early');
      const { submittedAt, endedAt = 0 } = (await holdfast.read(id)) ?? assert.fail();
      assert.ok(endedAt - submittedAt >= 100);
    },
  ),
  cited(
    'split-one: query and unblock, Workflow can upsert Search Attributes',
    "`ctx.setAttributes({ stage: 'sent' })`",
    behaviour('attributes', 'lists find a running execution by the attributes that its code sets'),
  ),
  cited(
    'split-one: Workflow can read Search Attributes set at start',
    '`ctx.attributes`',
    behaviour('code', 'the code reads how its execution was submitted, the same in every replay'),
  ),
  cited(
    'workflow-info: Count workflow executions',
    '`holdfast.count({ pipeline, status, attribute })`',
    execution(
      'reads/list',
      'a list and its count have executions whose dead letter was re-driven, or was not',
    ),
  ),
];
