import assert from 'node:assert/strict';
import { pipeline } from '../../src/index.ts';
import { door } from '../engine/stage.ts';
import {
  behaviour,
  cited,
  execution,
  missing,
  played,
  type Scenario,
  type Suite,
  shown,
  untilWaiting,
  withWorker,
} from './scenario.ts';

const RUNS: readonly Scenario[] = [
  played(
    'createWorkflowRun: allows the same idempotency key across different workflow names',
    'keys belong to the project: begin them with the name, `order/k`',
    async (stage) => {
      const holdfast = stage.holdfast();
      const submit = (name: string) => holdfast.submit(name, undefined, { key: `${name}/k` });
      assert.notEqual((await submit('order')).id, (await submit('refund')).id);
      assert.equal((await submit('order')).existing, true);
    },
  ),
  played(
    'createWorkflowRun: same key and other version returns existing',
    'the release is no part of the intent, unless you name it in the submit',
    async (stage) => {
      const [one, two] = ['one', 'two'].map((answer) =>
        pipeline({ name: 'order', run: () => answer }),
      );
      const holdfast = stage.holdfast();
      const first = await holdfast.submit(one ?? assert.fail(), undefined, { key: 'k' });
      const second = await holdfast.submit(two ?? assert.fail(), undefined, { key: 'k' });
      assert.deepEqual([second.id, second.existing], [first.id, true]);
    },
  ),
  cited(
    'createWorkflowRun: creates a new run when matching key is older than the idempotency period',
    "`retention: { keepMs }` frees the key; or `ifKeyTaken: 'reuse'` from the end on",
    execution(
      'retention/removing',
      'after a removal the key is free, and a submit with it creates a new execution',
    ),
    execution(
      'verbs/keys',
      'with `reuse`, an open execution keeps its key, and an ended one gives it up',
    ),
  ),
  cited(
    'createWorkflowRun: returns existing failed and canceled runs for matching key',
    'the same `key` and input',
    execution('verbs/submit', 'a key stays taken after its execution has ended, however it ended'),
  ),
  cited(
    'listWorkflowRuns: paginates, filters by status and name, no duplicates',
    '`list({ status, pipeline, limit, cursor })`',
    behaviour('queueing', 'lists filter by status, pipeline, tag and attribute, page by page'),
  ),
  cited(
    'listWorkflowRuns: oldest first',
    "`list({ sort: 'oldest' })`",
    execution('reads/list', 'a list is sorted by submission or by end, with any filter'),
  ),
  cited(
    'countWorkflowRuns (3 tests)',
    '`holdfast.count({ status, pipeline })`',
    execution(
      'reads/list',
      'a list and its count have executions whose dead letter was re-driven, or was not',
    ),
    execution('reads/overview', 'executions are counted by pipeline and status'),
  ),
  cited(
    'claimWorkflowRun: respects leases, reclaiming if lease expires',
    '`ttlMs` of the worker',
    execution(
      'ownership/lost',
      'an execution of a session that is only overdue cannot be claimed by others',
    ),
    shown('engine/takeover-in-time.test', 'P4: an idle worker takes over'),
  ),
  missing(
    'claimWorkflowRun: prioritizes pending over expired running',
    'The other way round: executions of dead workers go before queued ones.',
  ),
  cited(
    'createStepAttempt, completeStepAttempt: fails when the worker does not own the run',
    'nothing to write: the write is refused by its fence, and counted',
    execution('ownership/fences', 'every write of an owner is refused when …: …'),
    behaviour('auditing', 'the write of a worker whose session was ended is counted'),
  ),
  cited(
    'cancelWorkflowRun: pending, parked; idempotent; completed, failed, unknown refused',
    '`holdfast.cancel(id)`',
    execution(
      'verbs/cancel',
      'queued, delayed, paused, blocked and waiting executions are cancelled at once',
    ),
    execution('ownership/terminal', 'nothing changes an execution that is …'),
  ),
  played(
    'sendSignal: fans out to multiple waiters',
    '`list({ tag })`, and `signal(id, { name, value, key })` to each; not one transaction',
    async (stage) => {
      const waits = pipeline({ name: 'waits', run: (ctx) => ctx.receive<string>('open') });
      const holdfast = await withWorker(stage, waits);
      const handles = await Promise.all(
        [1, 2, 3].map(() => holdfast.submit(waits, undefined, { tags: ['gate'] })),
      );
      const { items } = await holdfast.list({ tag: 'gate' });
      const message = { name: 'open', value: 'now', key: 'gate/7' };
      await Promise.all(items.map(({ id }) => holdfast.signal(id, message)));
      const results = await Promise.all(handles.map((handle) => handle.result()));
      assert.deepEqual(results, ['now', 'now', 'now']);
    },
  ),
  cited(
    'sendSignal: idempotent send',
    '`signal(id, { name, value, key })`',
    execution(
      'verbs/signal',
      'a second signal with the same key changes nothing, also after the end',
    ),
  ),
  cited(
    'sendSignal: returns empty when no active waiters',
    'a signal is kept until the code asks; after the end it is refused',
    behaviour('waiting', 'signals wait for a receive, in their order, and each is delivered once'),
  ),
  cited(
    'waitForSignal returns null on timeout',
    '`ctx.receive(name, { timeoutMs })` returns `undefined`',
    shown(
      'engine/receiving.test',
      'a receive with a time limit gets a message in time, and undefined otherwise',
    ),
  ),
  cited(
    'waitForSignal validates data against schema',
    '`messages: { paid: Schema }` of the pipeline',
    behaviour(
      'updates',
      'a message that the schema refuses is not written, and one from elsewhere is not received',
    ),
  ),
];

const WORKERS: readonly Scenario[] = [
  cited(
    'deadline_at: does not claim runs past their deadline',
    '`deadlineMs`',
    execution(
      'verbs/maintain',
      'queued and waiting executions fail at the millisecond of their deadline',
    ),
    shown(
      'engine/deadlines.test',
      'is delayed beyond its deadline ends at its deadline and runs nothing',
    ),
  ),
  cited(
    'deadline_at: does not reschedule if next retry would exceed deadline',
    '`deadlineMs`: it ends at the deadline, without that attempt',
    shown(
      'engine/deadlines.test',
      'waits for its next attempt ends at its deadline, without that attempt',
    ),
  ),
  played(
    'StepExecutor: auto-indexes duplicate step names; no collision with explicit suffixes',
    'steps are numbered by name: `step:a#1`, `step:a#2`',
    async (stage) => {
      const named = pipeline({
        name: 'named',
        async run(ctx) {
          const all = [];
          for (const name of ['a', 'a', 'a#2', 'a']) all.push(await ctx.step(name, () => name));
          await ctx.receive('go');
          return all;
        },
      });
      const holdfast = await withWorker(stage, named);
      const { id, result } = await holdfast.submit(named, undefined);
      await untilWaiting(stage, holdfast, id);
      await holdfast.signal(id, { name: 'go' });
      assert.deepEqual(await result(), ['a', 'a', 'a#2', 'a']);
    },
  ),
  played(
    'runWorkflow: timeout fails parent wait but child continues and completes',
    "`Promise.race([child.result(), ctx.sleep(ms)])` with `onParentEnd: 'abandon'`",
    async (stage) => {
      const slow = pipeline({ name: 'slow', run: (ctx) => ctx.receive<string>('go') });
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          const child = await ctx.spawn(slow, undefined, { onParentEnd: 'abandon', key: 'slow' });
          return Promise.race([child.result(), ctx.sleep(30).then(() => 'too late')]);
        },
      });
      const holdfast = await withWorker(stage, slow, parent);
      assert.equal(await (await holdfast.submit(parent, undefined)).result(), 'too late');
      await holdfast.signal('key:slow', { name: 'go', value: 'completed' });
      assert.equal(await holdfast.result('key:slow'), 'completed');
    },
  ),
  cited(
    'runWorkflow: canceling parent while waiting does not cancel child',
    "`ctx.spawn(child, input, { onParentEnd: 'abandon' })`",
    execution('verbs/maintain', 'children of detached calls outlive their parent'),
    behaviour(
      'cancelling',
      'an abandoned child outlives its parent, and its parent can wait for it',
    ),
  ),
  played(
    'runWorkflow: surfaces canceled child',
    '`child.result()` throws `ChildFailed` with status `cancelled`',
    async (stage) => {
      const slow = pipeline({ name: 'slow', run: (ctx) => ctx.receive('never') });
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          const child = await ctx.spawn(slow, undefined, { key: 'slow' });
          return child.result().catch(({ status }: { status?: string }) => status);
        },
      });
      const holdfast = await withWorker(stage, slow, parent);
      const { id, result } = await holdfast.submit(parent, undefined);
      await untilWaiting(stage, holdfast, id);
      await holdfast.cancel('key:slow');
      assert.equal(await result(), 'cancelled');
    },
  ),
  played(
    'parks using earliest timeout across parallel waits',
    '`Promise.race` over sleeps, receives and children',
    async (stage) => {
      const waits = pipeline({
        name: 'waits',
        run: (ctx) =>
          Promise.race([
            ctx.sleep(200).then(() => 'short'),
            ctx.sleep(60_000).then(() => 'long'),
            ctx.receive('never'),
          ]),
      });
      const holdfast = await withWorker(stage, waits);
      assert.equal(await (await holdfast.submit(waits, undefined)).result(), 'short');
    },
  ),
  played(
    'does not replay a failed workflow step when Promise.all has waiting siblings',
    '`Promise.all` over a child and a receive',
    async (stage) => {
      let runs = 0;
      const failing = pipeline({
        name: 'failing',
        async run() {
          runs += 1;
          throw new Error('failed');
        },
      });
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          const child = await ctx.spawn(failing, undefined);
          const both = [child.result().catch(() => 'failed'), ctx.receive<string>('go')];
          return Promise.all(both);
        },
      });
      const holdfast = await withWorker(stage, failing, parent);
      const { id, result } = await holdfast.submit(parent, undefined);
      await stage.untilHistory(holdfast, id, (events) =>
        events.some(({ kind }) => kind === 'child-ended'),
      );
      await untilWaiting(stage, holdfast, id);
      await holdfast.signal(id, { name: 'go', value: 'gone' });
      assert.deepEqual([await result(), runs], [['failed', 'gone'], 1]);
    },
  ),
  played(
    'Worker: reschedules workflow when definition is missing',
    'it stays queued until a worker has the pipeline',
    async (stage) => {
      const known = pipeline({ name: 'known', run: () => 1 });
      const missingYet = pipeline({ name: 'missing', run: () => 2 });
      const holdfast = await withWorker(stage, known);
      const { id, result } = await holdfast.submit('missing', undefined);
      assert.equal(await (await holdfast.submit(known, undefined)).result(), 1);
      assert.equal((await holdfast.read(id))?.status, 'queued');
      await stage.worker(holdfast, [missingYet]);
      assert.equal(await result(), 2);
    },
  ),
  cited(
    'Worker: retries failed workflows when workflow retry policy allows it',
    '`executionRetry: { attempts }` of the pipeline',
    behaviour(
      'execution-retries',
      'code that throws outside a step runs again, until its attempts are used up',
    ),
    behaviour(
      'execution-retries',
      'attempts count over crashes, and another worker goes on with the same results',
    ),
  ),
  played(
    'Worker: recovers from crashes during parallel step execution',
    '`Promise.all` over steps: only those without a record run again',
    async (stage) => {
      const ran: string[] = [];
      const hangs = door();
      const parallel = pipeline({
        name: 'parallel',
        checkpoint: { every: 'step', runAhead: false },
        run: (ctx) =>
          Promise.all([
            ctx.step('a', () => void ran.push('a')),
            ctx.step('b', async () => {
              ran.push('b');
              if (ran.filter((name) => name === 'b').length === 1) await hangs.passed;
            }),
          ]),
      });
      const [one, two] = [stage.holdfast(), stage.holdfast()];
      const worker = await stage.worker(one, [parallel]);
      const { id } = await one.submit(parallel, undefined);
      await stage.untilHistory(one, id, (events) => events.some(({ name }) => name === 'a'));
      await stage.crash(worker);
      hangs.open();
      await stage.worker(two, [parallel]);
      await two.result(id);
      assert.deepEqual(ran, ['a', 'b', 'b']);
    },
  ),
  cited(
    'Worker: keeps retry budgets isolated per step; sleep and churn do not consume',
    'nothing to write',
    behaviour('retries', 'retry budgets survive a crash'),
    behaviour('retries', 'a denial costs no attempt'),
  ),
  cited(
    'Worker: serializes non-Error exceptions',
    'nothing to write',
    behaviour('steps', 'any thrown value becomes a failure, and the worker goes on'),
  ),
  cited(
    'executeWorkflow: exposes run metadata',
    '`ctx.id`, `pipeline`, `attributes`, `tags`, `submittedAt`, `parent`, `scheduledAt`',
    behaviour('code', 'the code reads how its execution was submitted, the same in every replay'),
  ),
  cited(
    'executeWorkflow: fails terminally at the step limit',
    '`limits.historyEventsMax` of a coordinator',
    shown(
      'server/history-limits.test',
      'a pipeline that records without end fails with that reason',
    ),
  ),
];

export const OPENWORKFLOW: Suite = {
  id: 'openworkflow',
  name: 'OpenWorkflow',
  scenarios: [...RUNS, ...WORKERS],
};
