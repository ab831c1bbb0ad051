import assert from 'node:assert/strict';
import { pipeline } from '../../../src/index.ts';
import { pause } from '../../engine/stage.ts';
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

export const QUEUES: readonly Scenario[] = [
  played(
    'wfqueue: simple-queue',
    '`submit(order, input, { key })`; the same submit again returns the same execution',
    async (stage) => {
      const twice = pipeline({ name: 'twice', run: (_, n: number) => 2 * n });
      const holdfast = await withWorker(stage, twice);
      const first = await holdfast.submit(twice, 21, { key: 'a' });
      assert.equal(await first.result(), 42);
      const again = await holdfast.submit(twice, 21, { key: 'a' });
      assert.deepEqual([again.id, again.existing], [first.id, true]);
    },
  ),
  cited(
    'wfqueue: one-at-a-time',
    '`concurrency: { key, limit: 1 }`',
    execution('verbs/slots', 'three executions of a key with one slot run one at a time'),
  ),
  cited(
    'wfqueue: test_one_at_a_time_with_limiter',
    '`concurrency` and `rate` in one submit',
    execution('verbs/rate', 'with both keys, an execution needs a slot before it uses up a turn'),
  ),
  cited(
    'wfqueue: test_one_at_a_time_with_worker_concurrency',
    '`holdfast.worker({ pipelines, concurrency: 1 })`',
    behaviour(
      'queueing',
      'a worker never runs the code of more executions at once than it has slots',
    ),
  ),
  cited(
    'wfqueue: test-queue_rate_limit',
    '`rate: { key, limit: 5, perMs: 1_800 }`',
    execution('verbs/rate', 'starts that trickle in stay within the limit in any period too'),
  ),
  cited(
    'wfqueue: test_multiple_queues',
    'two concurrency keys',
    execution(
      'verbs/slots',
      'executions that wait for a slot do not keep others from being claimed',
    ),
  ),
  cited(
    'wfqueue: test_one_at_a_time_with_crash',
    'the lost holder keeps its slot, and continues first',
    execution('verbs/slots', 'an execution keeps its slot when it is parked, given back or lost'),
    execution('ownership/lost', 'executions of dead workers are claimed before ready ones'),
  ),
  cited(
    'wfqueue: duplicate-workflow-id',
    '`key`: another input or pipeline is refused with `key-conflict`',
    behaviour('queueing', 'a submit with the same key and intent returns the same execution'),
  ),
  cited(
    'wfqueue: test-queue-concurrency-under-recovery',
    '`concurrency: { key, limit: 2 }`; a dead worker keeps the slots until the takeover',
    execution('verbs/slots', 'an execution keeps its slot when it is parked, given back or lost'),
    execution(
      'verbs/slots',
      'with submits, claims and ends at once, no more run than there are slots',
    ),
  ),
  cited(
    'wfqueue: test-cancel-queues',
    '`holdfast.cancel(id)`',
    execution('verbs/slots', 'a slot passes to the next execution when its holder is cancelled'),
  ),
  played(
    'wfqueue: test-resume-queues',
    '`repair.redrive(id)` after a cancel; a new id, finished steps are reused',
    async (stage) => {
      let charges = 0;
      const order = pipeline({
        name: 'order',
        async run(ctx) {
          await ctx.step('charge', () => {
            charges += 1;
          });
          return ctx.receive<string>('address');
        },
      });
      const holdfast = await withWorker(stage, order);
      const { id } = await holdfast.submit(order, undefined);
      await untilWaiting(stage, holdfast, id);
      await holdfast.cancel(id);
      const resumed = await holdfast.repair.redrive(id);
      await holdfast.signal(resumed.id, { name: 'address', value: 'Main Street' });
      assert.equal(await holdfast.result(resumed.id), 'Main Street');
      assert.equal(charges, 1);
    },
  ),
  cited(
    'wfqueue: test_deduplication, singleton',
    "`submit(p, input, { key, ifKeyTaken: 'reuse' })`",
    behaviour(
      'keys',
      'a key is used again after the end, refused, or taken from an open execution',
    ),
  ),
  missing(
    'wfqueue: test_priorityqueue',
    'There are two lanes, `interactive` and `batch`, and no numeric priorities.',
  ),
  missing(
    'wfqueue: test_setWorkflowPriority, test_setWorkflowDelay',
    'Lane and delay of a queued execution cannot be changed. Replace it under its key instead.',
  ),
  cited(
    'wfqueue: test_delay',
    '`submit(p, input, { delayMs: 1_000 })`',
    behaviour('queueing', 'a delayed execution does not start before its time'),
  ),
  cited(
    'wfqueue: test_delay_cancel_resume',
    '`holdfast.cancel(id)` before its time',
    execution(
      'verbs/cancel',
      'queued, delayed, paused, blocked and waiting executions are cancelled at once',
    ),
  ),
  missing(
    'wfqueue: enqueue-workflow-withWorkflowTimeout (from the start of the run)',
    'A deadline counts from the submit. No limit counts from the first claim.',
  ),
  cited(
    'wfqueue: partitioned-queues',
    'the partition is part of the concurrency key',
    execution('verbs/slots', 'keys with different names or projects have their own slots'),
  ),
  played(
    'wfqueue: limit of a partition and of the queue at once',
    "the work is a child: `concurrency` of the parent is the partition's, that of the child is the queue's",
    async (stage) => {
      const running = new Map<string, number>();
      const most = new Map<string, number>();
      const change = (key: string, by: number): void => {
        running.set(key, (running.get(key) ?? 0) + by);
        most.set(key, Math.max(most.get(key) ?? 0, running.get(key) ?? 0));
      };
      const work = pipeline({
        name: 'work',
        run: (ctx, part: string) =>
          ctx.step('work', async () => {
            for (const key of ['all', part]) change(key, 1);
            await new Promise((resolve) => setTimeout(resolve, 10));
            for (const key of ['all', part]) change(key, -1);
          }),
      });
      const partition = pipeline({
        name: 'partition',
        async run(ctx, part: string) {
          const child = await ctx.spawn(work, part, { concurrency: { key: 'all', limit: 2 } });
          return child.result();
        },
      });
      const holdfast = await withWorker(stage, work, partition);
      const parts = ['a', 'b', 'c', 'a', 'b', 'c'];
      const handles = await Promise.all(
        parts.map((part) =>
          holdfast.submit(partition, part, { concurrency: { key: part, limit: 1 } }),
        ),
      );
      await Promise.all(handles.map((handle) => handle.result()));
      assert.ok((most.get('all') ?? 0) <= 2);
      for (const part of ['a', 'b', 'c']) assert.equal(most.get(part), 1);
    },
  ),
  cited(
    'wfqueue: dynamic-concurrency-takes-effect-on-running-worker',
    'the last submit with the key sets its `limit`',
    execution(
      'verbs/slots',
      'a raised limit lets waiting executions start before the one that raised it',
    ),
  ),
  played(
    'debouncer: test-debouncer-workflow',
    "`submit(p, input, { key, delayMs, ifKeyTaken: 'replace' })`",
    async (stage) => {
      const ran: string[] = [];
      const search = pipeline({
        name: 'search',
        async run(_, text: string) {
          ran.push(text);
        },
      });
      const holdfast = await withWorker(stage, search);
      const typed = (text: string, delayMs: number) =>
        holdfast.submit(search, text, { key: 'search', delayMs, ifKeyTaken: 'replace' });
      for (const text of ['t', 'te']) await typed(text, 60_000);
      await (await typed('tent', 20)).result();
      assert.deepEqual(ran, ['tent']);
    },
  ),
  played(
    'debouncer: test-debouncer-timeout',
    '`submitOrSignal` to a pipeline that calls `ctx.receive(name, { timeoutMs })` until its own limit',
    async (stage) => {
      const debounced = pipeline({
        name: 'debounced',
        async run(ctx, { quietMs, mostMs }: { quietMs: number; mostMs: number }) {
          const until = ctx.submittedAt.getTime() + mostMs;
          let last: string | undefined;
          for (;;) {
            const timeoutMs = Math.max(0, Math.min(quietMs, until - ctx.now().getTime()));
            const next = await ctx.receive<string>('call', { timeoutMs });
            if (next === undefined) return last;
            last = next;
          }
        },
      });
      const holdfast = stage.holdfast();
      const call = async (value: string) =>
        holdfast.submitOrSignal(
          debounced,
          { quietMs: 60_000, mostMs: 200 },
          { key: 'debounced', ifKeyTaken: 'reuse', signal: { name: 'call', value } },
        );
      const [first, second] = [await call('a'), await call('b')];
      assert.equal(first.id, second.id);
      await stage.worker(holdfast, [debounced]);
      assert.equal(await holdfast.result(first.id), 'b');
      const third = await call('c');
      assert.equal(third.existing, false);
    },
  ),
  played(
    'batch_enqueue: enqueueWorkflows is idempotent under redelivery',
    '`Promise.all(items.map((item) => submit(p, item, { key })))`; one commit takes many',
    async (stage) => {
      const imported = pipeline({ name: 'imported', run: (_, n: number) => n });
      const holdfast = stage.holdfast();
      const deliver = () =>
        Promise.all(
          Array.from({ length: 50 }, (_, n) => holdfast.submit(imported, n, { key: `item/${n}` })),
        );
      const [first, again] = [await deliver(), await deliver()];
      assert.deepEqual(
        again.map(({ id }) => id),
        first.map(({ id }) => id),
      );
      assert.ok(again.every(({ existing }) => existing));
    },
  ),
  played(
    'enqueue_with_options: enqueues a workflow this process does not implement',
    "`holdfast.submit('order', input)`, by name",
    async (stage) => {
      const elsewhere = pipeline({ name: 'elsewhere', run: (_, n: number) => n + 1 });
      const client = stage.holdfast();
      const { id } = await client.submit('elsewhere', 1);
      await withWorker(stage, elsewhere);
      assert.equal(await client.result(id), 2);
    },
  ),
  cited(
    'client: enqueueInTransaction-commit, -rollback',
    '`submit(p, input, { client })` with your connection of `pg` or `node:sqlite`',
    shown(
      'engine/joining/cases',
      'an execution submitted with a client is there once its transaction commits',
    ),
    shown(
      'engine/joining/cases',
      'a submit that is rolled back leaves nothing, and its key is free',
    ),
  ),
  cited(
    'client: sendInTransaction',
    '`holdfast.signal(id, { name, value, client })`',
    shown('engine/joining/cases', 'a signal arrives if its transaction commits'),
  ),
  played(
    'queue: no work begins after its deadline',
    '`submit(p, input, { deadlineMs })`',
    async (stage) => {
      let charges = 0;
      const charge = pipeline({
        name: 'charge',
        run: (ctx) =>
          ctx.step('charge', () => {
            charges += 1;
          }),
      });
      const client = stage.holdfast();
      const { id, result } = await client.submit(charge, undefined, { deadlineMs: 40 });
      const { submittedAt } = (await client.read(id)) ?? assert.fail();
      while (Date.now() <= submittedAt + 40) await pause(5);
      await withWorker(stage, charge);
      await assert.rejects(result(), { code: 'execution-failed' });
      assert.equal(charges, 0);
    },
  ),
];
