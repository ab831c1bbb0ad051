import assert from 'node:assert/strict';
import { pipeline } from '../../../src/index.ts';
import { door } from '../../engine/stage.ts';
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

export const WORKFLOWS: readonly Scenario[] = [
  cited(
    'recovery: local-recovery',
    'another worker continues after the last recorded step',
    behaviour(
      'recovery',
      'another worker continues after the last recorded step, under a higher fence',
    ),
  ),
  cited(
    'recovery: dead-letter-queue',
    'status `quarantined` and a dead letter; `repair.redrive(id)` starts it again',
    behaviour('recovery', 'X-57: an execution that kills every worker is quarantined'),
  ),
  cited(
    'recovery: child-workflow-recovery',
    '`ctx.spawn` records the child with its call',
    behaviour('children', 'a recovered parent does not spawn its children again'),
  ),
  cited(
    'recovery: duplicate-recovery-does-not-rerun-running-workflow',
    'heartbeats keep the claim, however long the step takes',
    shown(
      'engine/time-travel.test',
      'a step that takes far longer than its worker’s ttl runs once',
    ),
  ),
  played(
    'recovery: recv-recovery-with-two-processes',
    '`ctx.receive(name)`; any worker continues with the signal',
    async (stage) => {
      const waits = pipeline({ name: 'waits', run: (ctx) => ctx.receive<string>('go') });
      const [one, two] = [stage.holdfast(), stage.holdfast()];
      const worker = await stage.worker(one, [waits]);
      const { id } = await one.submit(waits, undefined);
      await untilWaiting(stage, one, id);
      await stage.crash(worker);
      await stage.worker(two, [waits]);
      await two.signal(id, { name: 'go', value: 'received' });
      assert.equal(await two.result(id), 'received');
    },
  ),
  cited(
    'dbos: sleeping-workflow-timed-out',
    '`submit(p, input, { deadlineMs })`',
    shown('engine/deadlines.test', 'an execution that sleeps ends at its deadline'),
  ),
  cited(
    'dbos: parent-workflow-timeout cancels its children',
    'open children are cancelled after their parent has ended',
    execution(
      'verbs/maintain',
      'a cancel reaches all generations of children, however their ancestor ended',
    ),
  ),
  cited(
    'dbos: child-wf-detach-deadline',
    "`ctx.spawn(child, input, { onParentEnd: 'abandon', deadlineMs })`",
    behaviour(
      'cancelling',
      'an abandoned child outlives its parent, and its parent can wait for it',
    ),
  ),
  cited(
    'workflow_management: test-cancel-after-completion',
    '`cancel` returns `refused`; the output stays',
    execution('ownership/terminal', 'nothing changes an execution that is …'),
  ),
  cited(
    'workflow_management: test-preempt-recv',
    '`holdfast.cancel(id)` while it waits in `ctx.receive`',
    behaviour('cancelling', 'a queued or waiting execution is cancelled at once'),
  ),
  cited(
    'workflow_management: test-bulk-cancel',
    '`bulk.cancel({ filter, actor, reason })`',
    behaviour('repairing', 'a bulk cancel is a job too'),
  ),
  cited(
    'workflow_management: test-cancel-workflow-children',
    'the children of a cancelled parent are cancelled',
    behaviour('cancelling', 'cancelling a parent cancels its children'),
  ),
  cited(
    'workflow_management: test-fork-steps',
    '`repair.redrive(id, { from })`, also of a completed execution',
    behaviour('repairing', 'a re-drive from a chosen step repeats that step and the later ones'),
  ),
  cited(
    'workflow_management: test-fork-from-failure',
    '`repair.redrive(id)`',
    behaviour('repairing', 'a re-drive reuses finished steps, with the same idempotency keys'),
  ),
  played(
    'workflow_management: test-fork-childwf',
    "`repair.redrive(id, { from: 'after' })` reuses the result of the child",
    async (stage) => {
      const ran: string[] = [];
      const child = pipeline({
        name: 'child',
        async run() {
          ran.push('child');
          return 20;
        },
      });
      const parent = pipeline({
        name: 'parent',
        async run(ctx) {
          const part = await (await ctx.spawn(child, undefined)).result();
          return ctx.step('after', () => {
            ran.push('after');
            return part + 1;
          });
        },
      });
      const holdfast = await withWorker(stage, child, parent);
      const first = await holdfast.submit(parent, undefined);
      assert.equal(await first.result(), 21);
      const again = await holdfast.repair.redrive(first.id, { from: 'after' });
      assert.equal(await holdfast.result(again.id), 21);
      assert.deepEqual(ran, ['child', 'after', 'after']);
    },
  ),
  cited(
    'workflow_management: test-garbage-collection',
    "`retention: { archive: 'none', keepMs: { completed } }`",
    shown(
      'archive/duty.test',
      'without an archive due executions are deleted, if the settings allow it',
    ),
  ),
  missing(
    'workflow_management: test-delete-workflow, bulk-delete',
    '`holdfast.erase(id)` removes the values of one execution. Its record stays until retention removes it.',
  ),
  missing(
    'workflow_management: test-workflow-export-import',
    'A whole store can be exported and imported, one execution cannot.',
  ),
  played(
    'workflow_management: test-workflow-aggregates group-by-status',
    '`holdfast.count({ pipeline, status })` for each; `GET /v1/overview` for all',
    async (stage) => {
      const even = pipeline({
        name: 'even',
        async run(_, n: number) {
          if (n % 2 === 1) throw new Error('odd');
        },
      });
      const holdfast = await withWorker(stage, even);
      const handles = await Promise.all([1, 2, 3].map((n) => holdfast.submit(even, n)));
      await Promise.allSettled(handles.map((handle) => handle.result()));
      const count = async (status: 'completed' | 'failed') =>
        (await holdfast.count({ pipeline: 'even', status })).count;
      assert.deepEqual([await count('completed'), await count('failed')], [1, 2]);
    },
  ),
  played(
    'workflow_management: getworkflows-with-dates, completed-at, several names',
    '`list({ submittedFrom, submittedTo, endedFrom, endedTo })`; one list for each name',
    async (stage) => {
      const quick = pipeline({ name: 'quick', run: () => 1 });
      const holdfast = await withWorker(stage, quick);
      const ids: string[] = [];
      for (let nth = 0; nth < 3; nth += 1) {
        const handle = await holdfast.submit(quick, undefined);
        await handle.result();
        ids.push(handle.id);
      }
      const ended = await holdfast.list({ sort: 'ended' });
      assert.deepEqual(
        ended.items.map(({ id }) => id),
        ids.toReversed(),
      );
      const submittedFrom = ended.items[1]?.submittedAt ?? assert.fail();
      const later = await holdfast.list({ submittedFrom, pipeline: 'quick' });
      assert.ok(later.items.every(({ submittedAt }) => submittedAt >= submittedFrom));
      assert.ok(later.items.some(({ id }) => id === ids[2]));
      const endedFrom = ended.items[0]?.endedAt ?? assert.fail();
      const last = await holdfast.list({ endedFrom, sort: 'ended' });
      assert.equal(last.items[0]?.id, ids[2]);
      assert.ok(last.items.every(({ endedAt = 0 }) => endedAt >= endedFrom));
    },
  ),
  played(
    'workflow_management: test-list-steps',
    '`holdfast.history(id)`, outputs with `holdfast.decode`',
    async (stage) => {
      const sum = pipeline({
        name: 'sum',
        async run(ctx) {
          const one = await ctx.step('one', () => 1);
          return ctx.step('two', () => one + 1);
        },
      });
      const holdfast = await withWorker(stage, sum);
      const { id, result } = await holdfast.submit(sum, undefined);
      await result();
      const steps = (await holdfast.history(id)).filter(({ kind }) => kind === 'step-completed');
      const found = await Promise.all(
        steps.map(async ({ name, body }) => {
          const { out } = JSON.parse(body ?? '{}') as { readonly out: object };
          return [name, await holdfast.decode(out)];
        }),
      );
      assert.deepEqual(found, [
        ['one', 1],
        ['two', 2],
      ]);
    },
  ),
  cited(
    'dbos: simple-workflow-events (setEvent, getEvent)',
    '`ctx.publish(name, value)`, `holdfast.published(id, name, { timeoutMs })`',
    behaviour(
      'updates',
      'a published value can be read and waited for; the last one wins, also after the end',
    ),
  ),
  played(
    'timeout-tests: get-event-timeout',
    '`published(id, name, { timeoutMs })` returns `undefined` after that time',
    async (stage) => {
      const silent = pipeline({ name: 'silent', run: (ctx) => ctx.receive('never') });
      const holdfast = await withWorker(stage, silent);
      const { id } = await holdfast.submit(silent, undefined);
      assert.equal(await holdfast.published(id, 'event', { timeoutMs: 30 }), undefined);
    },
  ),
  cited(
    'dbos: simple-workflow-notifications',
    '`holdfast.signal(id, { name: topic, value })`, `ctx.receive(topic)`',
    behaviour('waiting', 'signals wait for a receive, in their order, and each is delivered once'),
  ),
  cited(
    'dbos: send-idempotency-key',
    '`holdfast.signal(id, { name, value, key })`',
    execution('verbs/signal', 'a second signal with the same key changes nothing'),
  ),
  cited(
    'timeout-tests: recv-timeout',
    '`ctx.receive(topic, { timeoutMs })` returns `undefined` after that time',
    shown(
      'engine/receiving.test',
      'a receive with a time limit gets a message in time, and undefined otherwise',
    ),
  ),
  cited(
    'timeout-tests: recv-timeout in a loop, a message comes while a step runs',
    '`ctx.receive(topic, { timeoutMs })` in the loop',
    shown(
      'engine/receiving.test',
      'a receive whose time is over is withdrawn: the next one gets the next message',
    ),
  ),
  missing(
    'streaming: basic-stream-write-read and 30 more',
    'There is no durable stream of output. Publish the last value, or attach files.',
  ),
  cited(
    'oaoo: step-oaoo, workflow-oaoo, nested-workflow-oaoo',
    '`ctx.step` and `ctx.spawn`: recorded once, returned in each replay',
    behaviour('steps', 'each step runs once, and its result is returned to the code'),
    behaviour('children', 'a recovered parent does not spawn its children again'),
  ),
  played(
    'concurrency: promise-all-settled-manysteps',
    '`Promise.allSettled` over steps',
    async (stage) => {
      const runs = new Map<number, number>();
      const many = pipeline({
        name: 'many',
        async run(ctx) {
          const steps = Array.from({ length: 40 }, (_, n) =>
            ctx.step(
              `step ${n}`,
              () => {
                runs.set(n, (runs.get(n) ?? 0) + 1);
                if (n % 3 === 0) throw new Error('third');
                return n;
              },
              { retry: { attempts: 1 } },
            ),
          );
          const settled = await Promise.allSettled(steps);
          await ctx.receive('go');
          return settled.map(({ status }) => status === 'fulfilled');
        },
      });
      const holdfast = await withWorker(stage, many);
      const { id, result } = await holdfast.submit(many, undefined);
      await untilWaiting(stage, holdfast, id);
      await holdfast.signal(id, { name: 'go' });
      const isDone = (await result()) as readonly boolean[];
      assert.ok(isDone.every((done, n) => done === (n % 3 !== 0)));
      assert.ok([...runs.values()].every((count) => count === 1));
    },
  ),
  cited(
    'step_timeout: timeout-attempt-is-retried-then-succeeds',
    '`ctx.step(name, fn, { timeoutMs })`; its `signal` aborts',
    behaviour('retries', 'an attempt that takes too long is aborted and tried again'),
  ),
  played(
    'step_timeout: uncooperative-zombie-resolution-is-discarded',
    'the late result of an attempt that timed out is not used',
    async (stage) => {
      const late = door();
      const slow = pipeline({
        name: 'slow',
        retry: { initialMs: 10 },
        run: (ctx) =>
          ctx.step(
            'call',
            async ({ attempt }) => {
              if (attempt > 1) return 'second';
              await late.passed; // ignores its signal
              return 'zombie';
            },
            { timeoutMs: 30 },
          ),
      });
      const holdfast = await withWorker(stage, slow);
      const { id, result } = await holdfast.submit(slow, undefined);
      assert.equal(await result(), 'second');
      late.open();
      assert.equal(await holdfast.result(id), 'second');
    },
  ),
  cited(
    'step_timeout: workflow-deadline-wins-over-step-timeout',
    '`deadlineMs` of the submit ends a running step',
    behaviour('waiting', 'a deadline ends an execution, waiting or running'),
  ),
  cited(
    'failures: shouldRetry-false-stops-retried-runStep',
    "`retry: { rules: [{ when: isFinal, do: 'fail' }] }`",
    behaviour('retries', 'a permanent failure is not tried again, by category or by rule'),
  ),
  cited(
    'failures: non-deterministic-workflow-step',
    'the execution is blocked, and its history names both steps',
    behaviour(
      'drift',
      'a renamed step blocks the execution and names both; the right code continues',
    ),
  ),
  cited(
    'patching: patch-first-step, patch-last-step',
    "`if (ctx.patched('fee')) …`",
    behaviour('patching', 'an execution that is past a patch stays on the old branch'),
    behaviour('patching', 'a new execution takes the patch, in every replay'),
  ),
  played(
    'dbos: test_wait_first inside a workflow',
    '`Promise.race` over children: the same winner in each replay',
    async (stage) => {
      const waits = pipeline({ name: 'waits', run: (ctx) => ctx.receive<string>('go') });
      const racing = pipeline({
        name: 'racing',
        async run(ctx) {
          const children = [await ctx.spawn(waits, undefined), await ctx.spawn(waits, undefined)];
          await ctx.publish(
            'children',
            children.map(({ id }) => id),
          );
          const first = await Promise.race(children.map((child) => child.result()));
          return [first, await ctx.receive('more')];
        },
      });
      const holdfast = await withWorker(stage, waits, racing);
      const { id, result } = await holdfast.submit(racing, undefined);
      const wait = { timeoutMs: 10_000 };
      const ids = (await holdfast.published<string[]>(id, 'children', wait)) ?? assert.fail();
      for (const value of ['second', 'first']) {
        const child = ids.pop() ?? assert.fail();
        await holdfast.signal(child, { name: 'go', value });
        await holdfast.result(child);
      }
      await holdfast.signal(id, { name: 'more', value: 'more' });
      assert.deepEqual(await result(), ['second', 'more']);
    },
  ),
  cited(
    'dbos: custom-serializer-test',
    '`openHoldfast({ store, codec })`',
    behaviour('payloads', 'a codec hides values from readers of the store, and its keys rotate'),
  ),
  cited(
    'dbhiccup: a-little-chaos',
    'nothing to write; PostgreSQL may restart under load',
    shown('load/restart-postgres.test', 'under load and no execution is stranded'),
  ),
  cited(
    'shutdown_timeout: shutdown-waits-for-workflow-then-times-out',
    '`worker.stop()` waits for `stopGraceMs`',
    behaviour(
      'recovery',
      'a step that does not stop in time is left behind, and its result is refused',
    ),
  ),
  cited(
    'attributes: filters listWorkflows by attribute containment',
    '`list({ attribute: [{ name, equals }, …] })`',
    execution(
      'reads/list',
      'several attributes, tag, code, parent and key combine, and each finds the same',
    ),
  ),
];
