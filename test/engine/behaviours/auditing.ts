// The audit records operations with actor and reason, and counts the refused writes of workers that
// lost their claim.

import assert from 'node:assert/strict';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Worker } from '../../../src/engine/worker/worker-options.ts';
import type { AuditRecord, RefusedWrite } from '../../../src/features/audit/model.ts';
import { type Behaviour, door, pause, type Stage } from '../stage.ts';

const OLGA = { actor: 'olga', reason: 'asked for' } as const;
const LINKS = {
  keys: { k: 'a secret that is long enough, of thirty-two bytes or more' },
  current: 'k',
} as const;

const waiting = pipeline({ name: 'waiting', run: (ctx) => ctx.receive('go') });
const asking = pipeline({
  name: 'asking',
  run: async (ctx) => (await ctx.await<string>('approval', { timeoutMs: 3_600_000 })).kind,
});
const failing = pipeline({
  name: 'failing',
  run: (ctx) => ctx.step('s', () => Promise.reject(new Error('down')), { retry: { attempts: 1 } }),
});

/** Oldest first. */
async function operations(holdfast: Holdfast, target?: string): Promise<readonly AuditRecord[]> {
  const { items } = await holdfast.audit.list({ limit: 1_000 });
  const wanted = items.filter(({ target: { id } }) => target === undefined || id === target);
  return wanted.toReversed();
}

function shown({ actor, action, reason, before, after }: AuditRecord): unknown {
  return [`${actor} ${action} ${reason}`.trim(), before, after];
}

async function parkedOne(stage: Stage, holdfast: Holdfast): Promise<string> {
  const { id } = await holdfast.submit(waiting, undefined);
  await stage.until(holdfast, id, ({ status }) => status === 'waiting');
  return id;
}

async function counted(holdfast: Holdfast, execution: string): Promise<readonly RefusedWrite[]> {
  for (;;) {
    const { items } = await holdfast.refusals({ execution });
    if (items.length > 0) return items;
    await pause(5);
  }
}

/**
 * A running worker of this Holdfast claims no more, so it does not learn that its session has
 * ended.
 */
function deaf(stage: Stage): Holdfast {
  let isBusy = false;
  return stage.holdfastWith((executions) => ({
    claim: async (request) => {
      if (isBusy) return { kind: 'claimed', claims: [], more: false, overdue: false };
      const answer = await executions.claim(request);
      isBusy = answer.kind === 'claimed' && answer.claims.length > 0;
      return answer;
    },
  }));
}

/** Ends the session while its worker runs a step. */
async function thoughtDead(stage: Stage, { session }: Worker): Promise<string> {
  const by = { kind: 'operator', actor: 'test', reason: 'thought dead' } as const;
  await stage.store.sessions.end({ id: session, by });
  return session;
}

export const AUDITING: readonly Behaviour[] = [
  {
    name: 'J-1, J-4: operations on an execution are recorded with actor, reason, before and after',
    async run(stage) {
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [waiting]);
      const id = await parkedOne(stage, holdfast);
      await holdfast.pause(id, OLGA);
      await holdfast.pause(id, OLGA);
      await holdfast.resume(id);
      await holdfast.cancel(id, OLGA);
      await holdfast.cancel(id, OLGA);
      const noted = await holdfast.audit.note(id, { actor: 'pete', reason: 'the customer called' });
      assert.deepEqual(noted, { kind: 'noted' });
      const free = { status: 'waiting', holds: [] };
      const paused = { status: 'waiting', holds: ['paused'] };
      assert.deepEqual((await operations(holdfast)).map(shown), [
        ['olga pause asked for', free, paused],
        ['anonymous resume', paused, free],
        ['olga cancel asked for', free, { status: 'cancelled', holds: [] }],
        ['pete note the customer called', undefined, undefined],
      ]);
      const first = await holdfast.audit.list({ actor: 'olga', limit: 1 });
      assert.equal(first.items[0]?.action, 'cancel');
      const next = { actor: 'olga', limit: 1, cursor: first.cursor as string };
      assert.equal((await holdfast.audit.list(next)).items[0]?.action, 'pause');
      const target = { kind: 'execution', id } as const;
      assert.equal((await holdfast.audit.list({ target, action: 'note' })).items.length, 1);
    },
  },
  {
    name: 'J-1, J-4: operations on awaits are recorded, an answer by link with the link',
    async run(stage) {
      const holdfast = stage.holdfast({ links: LINKS });
      await stage.worker(holdfast, [asking]);
      const [first, second] = [
        await holdfast.submit(asking, undefined),
        await holdfast.submit(asking, undefined),
      ];
      for (const { id } of [first, second]) {
        await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      }
      const place = { execution: first.id, name: 'approval' };
      await holdfast.awaits.extend(place, { timeoutMs: 'none', ...OLGA });
      await holdfast.awaits.assign(place, 'ann', OLGA);
      await holdfast.awaits.answer(place, 'yes', { actor: 'ann', reason: 'on the phone' });
      await holdfast.awaits.answer(place, 'yes', { actor: 'ann' });
      const other = { execution: second.id, name: 'approval' };
      const link = holdfast.awaits.link(other, { expiresInMs: 60_000 });
      assert.equal((await holdfast.awaits.answerByLink(link, 'yes')).kind, 'answered');
      assert.deepEqual(await Promise.all([first.result(), second.result()]), [
        ...['answered', 'answered'],
      ]);
      const records = await operations(holdfast);
      assert.deepEqual(
        records.slice(0, 3).map(({ actor, action, reason }) => `${actor} ${action} ${reason}`),
        ['olga extend-await asked for', 'olga assign-await asked for', 'ann answer on the phone'],
      );
      const [extended, assigned, answered, linked] = records;
      assert.deepEqual([records.length, linked?.action], [4, 'answer']);
      assert.equal(linked?.actor, `link ${linked?.after?.['link']}`);
      assert.deepEqual(
        [typeof extended?.before?.['dueAt'], extended?.after?.['dueAt']],
        ['number', undefined],
      );
      assert.equal(assigned?.after?.['assignee'], 'ann');
      assert.deepEqual(answered?.after, {
        ...{ status: 'answered', await: 'answered', answered: 1, assignee: 'ann' },
      });
    },
  },
  {
    name: 'J-1, J-2: a re-drive and a job are recorded once; the items of a job and dry runs are not',
    async run(stage) {
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [failing]);
      const { id, result } = await holdfast.submit(failing, undefined);
      await assert.rejects(result(), { status: 'failed' });
      const made = await holdfast.repair.redrive(id, OLGA);
      await assert.rejects(holdfast.result(made.id), { status: 'failed' });
      const filter = { pipeline: 'failing' };
      await (await holdfast.bulk.redrive({ filter, dryRun: true })).result();
      const job = await holdfast.bulk.redrive({ filter, ...OLGA });
      await job.result();
      assert.ok((await holdfast.bulk.items(job.id)).length > 0);
      const status = { status: 'failed' };
      const started = { status: 'queued', filter, mode: 'forward', dryRun: false };
      assert.deepEqual((await operations(holdfast)).map(shown), [
        ['olga redrive asked for', status, { ...status, redrivenBy: made.id, mode: 'forward' }],
        ['olga bulk-redrive asked for', undefined, started],
      ]);
    },
  },
  {
    name: 'J-1: operations on templates and schedules are recorded; putting the same content again is not',
    async run(stage) {
      const holdfast = stage.holdfast();
      const template = { id: 'import', version: 1, pipeline: 'waiting', ...OLGA };
      const schedule = { id: 'nightly', every: 86_400_000, pipeline: 'waiting', ...OLGA };
      for (let times = 0; times < 2; times += 1) {
        await holdfast.templates.put(template);
        await holdfast.schedules.put(schedule);
        await holdfast.schedules.pause('nightly', OLGA);
      }
      await holdfast.schedules.resume('nightly', OLGA);
      await holdfast.schedules.remove('nightly', { actor: 'pete' });
      await holdfast.schedules.remove('nightly');
      const records = await operations(holdfast);
      assert.deepEqual(
        records.map(
          ({ actor, action, target }) => `${actor} ${action} ${target.kind} ${target.id}`,
        ),
        [
          'olga put-template template import',
          'olga put-schedule schedule nightly',
          'olga pause-schedule schedule nightly',
          'olga resume-schedule schedule nightly',
          'pete remove-schedule schedule nightly',
        ],
      );
      const { when, pipeline: name, paused } = records[1]?.after ?? {};
      assert.deepEqual([when, name, paused], [{ every: 86_400_000 }, 'waiting', false]);
      assert.equal(records[4]?.after, undefined);
    },
  },
  {
    name: 'J-4, J-13: a compensation that is skipped or tried again is recorded with its step',
    async run(stage) {
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [waiting]);
      const id = await parkedOne(stage, holdfast);
      await holdfast.repair.retryCompensation(id, 'charge');
      await stage.until(holdfast, id, ({ status }) => status === 'waiting');
      await holdfast.repair.skipCompensation(id, 'charge', OLGA);
      const records = await operations(holdfast, id);
      assert.deepEqual(
        records.map(({ actor, action, reason, after }) => [actor, action, reason, after?.['step']]),
        [
          ['anonymous', 'retry-compensation', '', 'charge'],
          ['olga', 'skip-compensation', 'asked for', 'charge'],
        ],
      );
    },
  },
  {
    name: 'J-10: the write of a worker whose session was ended is counted, with its fence and the newest',
    async run(stage) {
      const [entered, opened] = [door(), door()];
      let runs = 0;
      const slow = pipeline({
        name: 'slow',
        run: (ctx) =>
          ctx.step('s', async () => {
            runs += 1;
            if (runs > 1) return 'the second';
            entered.open();
            await opened.passed;
            return 'the first';
          }),
      });
      const [first, second] = [deaf(stage), stage.holdfast()];
      const zombie = await stage.worker(first, [slow], { owner: 'zombie', ttlMs: 30_000 });
      const { id, result } = await first.submit(slow, undefined);
      await entered.passed;
      const fence = (await first.read(id))?.fence;
      const session = await thoughtDead(stage, zombie);
      await stage.worker(second, [slow]);
      assert.equal(await result(), 'the second');
      const newest = (await second.read(id))?.fence;
      assert.notEqual(newest, fence);
      opened.open();
      const [line, ...rest] = await counted(first, id);
      assert.deepEqual(rest, []);
      const { firstAt, lastAt, lateMs, ...refused } = line as RefusedWrite;
      assert.ok(firstAt > 0 && firstAt === lastAt);
      assert.ok(lateMs !== undefined && lateMs >= 0);
      assert.deepEqual(refused, {
        ...{ execution: id, project: 'default', fence, newest, verb: 'finish', count: 1 },
        ...{ why: 'superseded', session, owner: 'zombie', transport: 'embedded' },
      });
      assert.deepEqual((await second.refusals()).items, [line]);
    },
  },
  {
    name: 'J-11: counted refusals are stored when the process closes',
    async run(stage) {
      const [entered, opened] = [door(), door()];
      const lost = pipeline({
        name: 'lost',
        run: (ctx) =>
          ctx.step('s', async () => {
            entered.open();
            await opened.passed;
          }),
      });
      const first = deaf(stage);
      const worker = await stage.worker(first, [lost], { ttlMs: 30_000 });
      const { id } = await first.submit(lost, undefined);
      await entered.passed;
      await thoughtDead(stage, worker);
      opened.open();
      while (!stage.reports.some(({ kind }) => kind === 'lost')) await pause(5);
      await first.close();
      const { items } = await stage.holdfast().refusals({ execution: id, limit: 1 });
      assert.deepEqual(
        items.map(({ verb, why, newest }) => [verb, why, newest]),
        [['finish', 'claim-ended', undefined]],
      );
    },
  },
];
