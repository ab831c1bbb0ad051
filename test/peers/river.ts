import assert from 'node:assert/strict';
import { pipeline, StepError, SubmitRefused } from '../../src/index.ts';
import {
  behaviour,
  cited,
  execution,
  lease,
  missing,
  played,
  type Suite,
  shown,
  untilWaiting,
  withWorker,
} from './scenario.ts';

export const RIVER: Suite = {
  id: 'river',
  name: 'River',
  scenarios: [
    played(
      'JobInsertFastMany (AllArgs, UniqueConflict)',
      '`Promise.all` over submits with keys; one commit takes many',
      async (stage) => {
        const holdfast = stage.holdfast();
        const submit = (n: number) =>
          holdfast.submit('imported', n, {
            key: `item/${n}`,
            lane: 'batch',
            tags: ['import'],
            attributes: { n },
            delayMs: 60_000,
          });
        const handles = await Promise.all([1, 2, 3].map(submit));
        const again = await Promise.all([3, 4].map(submit));
        assert.deepEqual([again[0]?.id, again[0]?.existing], [handles[2]?.id, true]);
        assert.equal((await holdfast.count({ tag: 'import' })).count, 4);
      },
    ),
    cited(
      'client: InsertTx commit, rollback',
      '`submit(p, input, { client })`',
      shown(
        'engine/joining/cases',
        'an execution submitted with a client is there once its transaction commits',
      ),
      shown(
        'engine/joining/cases',
        'a submit that is rolled back leaves nothing, and its key is free',
      ),
    ),
    played(
      'JobInsertFull: UniqueOpts by args, period, queue, state',
      'put arguments, period and pipeline into the `key`; for states use `ifKeyTaken`',
      async (stage) => {
        const report = pipeline({ name: 'report', run: (_, day: string) => day });
        const holdfast = await withWorker(stage, report);
        const daily = (day: string) =>
          holdfast.submit(report, day, { key: `report/${day}`, ifKeyTaken: 'reuse' });
        const first = await daily('2026-11-19');
        assert.notEqual((await daily('2026-11-20')).id, first.id);
        await first.result();
        assert.notEqual((await daily('2026-11-19')).id, first.id);
        const refused = holdfast.submit(report, '2026-11-20', {
          key: 'report/2026-11-20',
          ifKeyTaken: 'refuse',
        });
        await assert.rejects(refused, SubmitRefused);
      },
    ),
    cited(
      'JobGetAvailable: ConstrainedToLimit',
      '`holdfast.worker({ pipelines, concurrency })`',
      behaviour(
        'queueing',
        'a worker never runs the code of more executions at once than it has slots',
      ),
    ),
    cited(
      'JobGetAvailable: ConstrainedToQueue',
      'a worker takes the `pipelines` that it names',
      execution('ownership/claim', 'only the pipelines asked for are claimed'),
    ),
    cited(
      'JobGetAvailable: ConstrainedToScheduledAtBeforeNow',
      '`delayMs`',
      behaviour('queueing', 'a delayed execution does not start before its time'),
    ),
    missing(
      'JobGetAvailable: Prioritized',
      'There are two lanes, `interactive` and `batch`, and no numeric priorities.',
    ),
    cited(
      'JobCancel: RunningJobIsNotImmediatelyCancelled; ErrNotFound',
      '`holdfast.cancel(id)` returns `forwarded` while it runs',
      behaviour(
        'cancelling',
        'a cancel of a running execution aborts its steps, and it ends as cancelled',
      ),
      execution('verbs/cancel', 'a cancel of a running execution sends one message'),
    ),
    missing(
      'JobDelete, JobDeleteMany',
      '`holdfast.erase(id)` removes the values of one execution. Its record stays until retention removes it.',
    ),
    cited(
      'JobDeleteBefore',
      "`retention: { archive: 'none', keepMs }`",
      shown(
        'archive/duty.test',
        'without an archive due executions are deleted, if the settings allow it',
      ),
    ),
    cited(
      'JobRescueMany, JobGetStuck',
      'nothing to write: the lease of the worker expires',
      execution(
        'ownership/lost',
        'all executions of a dead worker are claimed once each, over several claims',
      ),
    ),
    played(
      'JobRetry: completed job again; running untouched; ErrNotFound',
      '`repair.redrive(id, { from })`',
      async (stage) => {
        let runs = 0;
        const job = pipeline({
          name: 'job',
          async run(ctx, waits: boolean) {
            await ctx.step('work', () => {
              runs += 1;
            });
            if (waits) await ctx.receive('never');
          },
        });
        const holdfast = await withWorker(stage, job);
        const done = await holdfast.submit(job, false);
        await done.result();
        const again = await holdfast.repair.redrive(done.id, { from: 'work' });
        await holdfast.result(again.id);
        assert.equal(runs, 2);
        const open = await holdfast.submit(job, true);
        await untilWaiting(stage, holdfast, open.id);
        await assert.rejects(holdfast.repair.redrive(open.id), { code: 'not-ended' });
        await assert.rejects(
          holdfast.repair.redrive(`${'0'.repeat(8)}-0000-7000-8000-000000000000`),
        );
      },
    ),
    played(
      'JobSetStateIfRunning: snooze (no attempt burnt)',
      "`throw new StepError(message, { category: 'denied', retryAfterMs })`",
      async (stage) => {
        const attempts: number[] = [];
        const snoozing = pipeline({
          name: 'snoozing',
          run: (ctx) =>
            ctx.step('work', ({ attempt }) => {
              attempts.push(attempt);
              if (attempts.length < 3) {
                throw new StepError('later', { category: 'denied', retryAfterMs: 5 });
              }
            }),
        });
        const holdfast = await withWorker(stage, snoozing);
        await (await holdfast.submit(snoozing, undefined)).result();
        assert.deepEqual(attempts, [1, 1, 1]);
      },
    ),
    cited(
      'JobSetStateIfRunning: DiscardsARunningJob',
      "`category: 'permanent'`: the execution fails, and leaves a dead letter",
      behaviour(
        'repairing',
        'a failed execution leaves a dead letter with its step, reason and attempts',
      ),
    ),
    played(
      'JobUpdate: metadata, output while running',
      '`ctx.setAttributes(…)`, `ctx.publish(name, value)`',
      async (stage) => {
        const publishing = pipeline({
          name: 'publishing',
          async run(ctx) {
            ctx.setAttributes({ stage: 'read' });
            await ctx.publish('output', { rows: 7 });
            await ctx.receive('go');
          },
        });
        const holdfast = await withWorker(stage, publishing);
        const { id } = await holdfast.submit(publishing, undefined);
        const output = await holdfast.published(id, 'output', { timeoutMs: 10_000 });
        assert.deepEqual(output, { rows: 7 });
        const found = await holdfast.list({ attribute: { name: 'stage', equals: 'read' } });
        assert.equal(found.items.length, 1);
      },
    ),
    cited(
      'JobCountByState, ByQueueAndState',
      '`count({ pipeline, status })`; `GET /v1/overview` for all at once',
      execution('reads/overview', 'executions are counted by pipeline and status'),
    ),
    cited(
      'JobKindList',
      '`GET /v1/overview` of a coordinator names each pipeline with its counts',
      execution('reads/overview', 'executions are counted by pipeline and status'),
    ),
    cited(
      'JobList with metadata filters',
      '`list({ attribute: { name, equals } })`, or `min` and `max`',
      execution(
        'reads/list',
        'lists are filtered by attribute, equal by value and type, or within a range',
      ),
    ),
    missing(
      'QueuePause, QueueResume (existing, all queues)',
      'Single executions can be paused. A pipeline, a lane or a key cannot.',
    ),
    missing(
      'QueueCreateOrSetUpdatedAt, QueueList, QueueUpdate',
      'There are no queues to create. Concurrency keys exist while executions use them.',
    ),
    cited(
      'LeaderAttemptElect: ElectsLeader, CannotElectTwiceInARow',
      '`session.acquire(key)`',
      lease('terms/acquire', 'an acquire of a held key is refused with the real holder'),
    ),
    cited(
      'LeaderAttemptReelect: same leader stays; expired row is not re-elected',
      'heartbeats of the session',
      lease('sessions/heartbeat', 'one heartbeat renews every lease of the session'),
      lease(
        'sessions/heartbeat',
        'when a late heartbeat and a takeover follow each other, the first one wins',
      ),
    ),
    cited(
      'LeaderResign: Success, DoesNotResignWithoutLeadership, NewerTerm',
      "`lease.release('yielded')`",
      lease('terms/release', 'a released key is free for any session in the same instant'),
      lease('terms/release', 'a stale release changes nothing of the successor’s term'),
    ),
  ],
};
