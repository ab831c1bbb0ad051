import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestHoldfast } from '../../contract/index.ts';
import { pipeline } from '../../src/engine/pipeline.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

test('an await of thirty days with reminders and restarts is tested without waiting', async () => {
  const notified: string[] = [];
  const remind = pipeline({
    name: 'remind',
    run: (ctx, who: string) =>
      ctx.step('tell', () => {
        notified.push(`${who} on day ${Math.floor((stage.clock.wallMs() - start) / DAY_MS)}`);
      }),
  });
  const approval = pipeline({
    name: 'approval',
    async run(ctx) {
      const outcome = await ctx.await<string>('approval', {
        timeoutMs: 30 * DAY_MS,
        reminders: [7, 14].map((day) => ({
          afterMs: day * DAY_MS,
          pipeline: remind,
          input: 'ann',
        })),
        escalations: [{ afterMs: 21 * DAY_MS, pipeline: 'remind', input: 'her boss' }],
      });
      return { kind: outcome.kind, on: ctx.now().toISOString().slice(0, 10) };
    },
  });
  await using stage = await openTestHoldfast({
    pipelines: [approval, remind],
    start: new Date('2026-01-01T00:00:00Z'),
  });
  const start = stage.clock.wallMs();
  const silent = await stage.holdfast.submit(approval, undefined);
  const answered = await stage.holdfast.submit(approval, undefined);
  await stage.advance(8 * DAY_MS);
  assert.deepEqual(notified, ['ann on day 7', 'ann on day 7']);
  await stage.restart();
  await stage.advance(DAY_MS);
  await stage.holdfast.awaits.answer({ execution: answered.id, name: 'approval' }, 'yes');
  await stage.advance(0);
  assert.deepEqual(await answered.result(), { kind: 'answered', on: '2026-01-10' });
  await stage.advance(20 * DAY_MS);
  assert.deepEqual(notified.slice(2), ['ann on day 14', 'her boss on day 21']);
  await stage.restart();
  await stage.advance(DAY_MS);
  assert.deepEqual(await silent.result(), { kind: 'timed-out', on: '2026-01-31' });
});

test('an extended await ends at its new time, and not before', async () => {
  const asking = pipeline({
    name: 'asking',
    async run(ctx) {
      const outcome = await ctx.await('it', { timeoutMs: DAY_MS });
      return `${outcome.kind} at ${ctx.now().toISOString().slice(0, 13)}`;
    },
  });
  await using stage = await openTestHoldfast({
    pipelines: [asking],
    start: new Date('2026-01-01T00:00:00Z'),
  });
  const longer = await stage.holdfast.submit(asking, undefined);
  const shorter = await stage.holdfast.submit(asking, undefined);
  await stage.advance(HOUR_MS);
  const extend = (id: string, timeoutMs: number): Promise<unknown> =>
    stage.holdfast.awaits.extend({ execution: id, name: 'it' }, { timeoutMs });
  await extend(longer.id, 47 * HOUR_MS);
  await extend(shorter.id, HOUR_MS);
  await stage.advance(HOUR_MS);
  assert.equal(await shorter.result(), 'timed-out at 2026-01-01T02');
  await stage.advance(45 * HOUR_MS);
  assert.equal((await stage.holdfast.read(longer.id))?.status, 'waiting');
  await stage.advance(HOUR_MS);
  assert.equal(await longer.result(), 'timed-out at 2026-01-03T00');
});

test('a deadline ends a waiting execution and closes its question', async () => {
  const asking = pipeline({ name: 'asking', run: (ctx) => ctx.await('it') });
  await using stage = await openTestHoldfast({ pipelines: [asking] });
  const handle = await stage.holdfast.submit(asking, undefined, { deadlineMs: DAY_MS });
  await stage.advance(DAY_MS);
  await assert.rejects(handle.result(), { name: 'ExecutionFailed', status: 'failed' });
  const info = await stage.holdfast.awaits.get({ execution: handle.id, name: 'it' });
  assert.deepEqual([info?.status, info?.unit?.status], ['closed', 'cancelled']);
});

test('a cancel returns as the result, although the clock stands still', async () => {
  const asking = pipeline({ name: 'asking', run: (ctx) => ctx.await('it') });
  await using stage = await openTestHoldfast({ pipelines: [asking] });
  const handle = await stage.holdfast.submit('without a worker', undefined);
  await stage.holdfast.cancel(handle.id);
  await assert.rejects(handle.result(), { name: 'ExecutionFailed', status: 'cancelled' });
});

test('a re-drive reuses an old answer, since answers of re-drivable executions are kept', async () => {
  let isBroken = true;
  const asking = pipeline({
    name: 'asking',
    async run(ctx) {
      const outcome = await ctx.await<string>('it');
      await ctx.step(
        'deliver',
        () => {
          if (isBroken) throw new Error('closed');
        },
        { retry: { attempts: 1 } },
      );
      return outcome.kind === 'answered' && outcome.value;
    },
  });
  await using stage = await openTestHoldfast({ pipelines: [asking] });
  const { id, result } = await stage.holdfast.submit(asking, undefined);
  const failed = assert.rejects(result(), { status: 'failed' });
  await stage.advance(0);
  await stage.holdfast.awaits.answer({ execution: id, name: 'it' }, 'yes');
  await stage.advance(0);
  await failed;
  // The machine is off for longer than any default retention.
  stage.clock.suspend(400 * DAY_MS);
  await stage.restart();
  await stage.holdfast.store.sessions.sweep({ limit: 1_000 });
  isBroken = false;
  const again = await stage.holdfast.repair.redrive(id);
  await stage.advance(0);
  assert.equal(await stage.holdfast.result(again.id), 'yes');
  assert.deepEqual((await stage.holdfast.awaits.list({ execution: again.id })).items, []);
});

test('a signed link expires by the clock of the test', async () => {
  const asking = pipeline({
    name: 'asking',
    run: async (ctx) => (await ctx.await('it', { signed: true })).kind,
  });
  await using stage = await openTestHoldfast({
    pipelines: [asking],
    links: { keys: { k1: 'a secret of at least thirty-two bytes' }, current: 'k1' },
  });
  const { id, result } = await stage.holdfast.submit(asking, undefined);
  await stage.advance(0);
  const target = { execution: id, name: 'it' };
  const old = stage.holdfast.awaits.link(target, { expiresInMs: DAY_MS });
  await stage.advance(2 * DAY_MS);
  const late = await stage.holdfast.awaits.answerByLink(old, true);
  assert.equal(late.kind === 'refused' && late.why, 'link-expired');
  const token = stage.holdfast.awaits.link(target, { expiresInMs: DAY_MS });
  await stage.holdfast.awaits.answerByLink(token, true);
  await stage.advance(0);
  assert.equal(await result(), 'answered');
});
