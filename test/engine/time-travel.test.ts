import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestHoldfast } from '../../contract/index.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';

const DAY_MS = 86_400_000;

test('a pipeline that sleeps for thirty days is tested without waiting', async () => {
  const notified: string[] = [];
  const reminder = pipeline({
    name: 'reminder',
    async run(ctx, name: string) {
      await ctx.step('welcome', () => {
        notified.push(`welcome ${name}`);
      });
      await ctx.sleep(30 * DAY_MS, 'trial');
      await ctx.step('remind', () => {
        notified.push(`remind ${name}`);
      });
      return ctx.now().toISOString();
    },
  });
  await using stage = await openTestHoldfast({
    pipelines: [reminder],
    start: new Date('2026-01-01T00:00:00Z'),
  });
  const handle = await stage.holdfast.submit(reminder, 'Ada');
  await stage.advance(29 * DAY_MS);
  assert.deepEqual(notified, ['welcome Ada']);
  await stage.advance(DAY_MS);
  assert.deepEqual(notified, ['welcome Ada', 'remind Ada']);
  assert.equal((await handle.result()).slice(0, 19), '2026-01-31T00:00:00');
});

test('a restart in the middle loses nothing that was recorded', async () => {
  let calls = 0;
  const long = pipeline({
    name: 'long',
    async run(ctx) {
      await ctx.step('once', () => {
        calls += 1;
      });
      await ctx.sleep(DAY_MS);
      return ctx.step('later', () => calls);
    },
  });
  await using stage = await openTestHoldfast({ pipelines: [long] });
  const handle = await stage.holdfast.submit(long, undefined);
  await stage.advance(1_000);
  await stage.restart();
  await stage.advance(DAY_MS);
  assert.equal(await handle.result(), 1);
});

test('retries with a long backoff happen at their time', async () => {
  const tries: string[] = [];
  const slow = pipeline({
    name: 'slow',
    run: (ctx) =>
      ctx.step(
        'call',
        () => {
          tries.push(new Date(stageClock()).toISOString().slice(11, 16));
          if (tries.length < 3) throw new Error('not yet');
          return tries;
        },
        { retry: { initialMs: 3_600_000, factor: 2, maxMs: DAY_MS, jitter: 0 } },
      ),
  });
  await using stage = await openTestHoldfast({ pipelines: [slow], start: new Date('2026-01-01') });
  const stageClock = (): number => stage.clock.wallMs();
  const handle = await stage.holdfast.submit(slow, undefined);
  await stage.advance(5 * 3_600_000);
  assert.deepEqual(await handle.result(), ['00:00', '01:00', '03:00']);
});

test('calls before a checkpoint are not mixed up with calls after it, however often the execution parked', async () => {
  const hours: number[] = [];
  const start = new Date('2026-01-01');
  const polling = pipeline({
    name: 'polling',
    async run(ctx) {
      let polls = (ctx.restored as { readonly polls: number } | undefined)?.polls ?? 0;
      for (; polls < 4; polls += 1) {
        await ctx.sleep(3_600_000);
        hours.push((stage.clock.wallMs() - start.getTime()) / 3_600_000);
        await ctx.checkpoint({ polls: polls + 1 });
      }
    },
  });
  const tries: number[] = [];
  const trying = pipeline({
    name: 'trying',
    async run(ctx) {
      let page = (ctx.restored as { readonly page: number } | undefined)?.page ?? 1;
      for (; page < 4; page += 1) {
        const retry = { attempts: 3, initialMs: 3_600_000, maxMs: DAY_MS };
        const work = ({ attempt }: { readonly attempt: number }): void => {
          tries.push(page * 10 + attempt);
          if (attempt < 3) throw new Error('not yet');
        };
        await ctx.step('page', work, { retry });
        await ctx.checkpoint({ page: page + 1 });
      }
    },
  });
  await using stage = await openTestHoldfast({ pipelines: [polling, trying], start });
  const polled = await stage.holdfast.submit(polling, undefined);
  const tried = await stage.holdfast.submit(trying, undefined);
  await stage.advance(2 * DAY_MS);
  await Promise.all([polled.result(), tried.result()]);
  assert.deepEqual(hours.map(Math.floor), [1, 2, 3, 4]);
  assert.deepEqual(tries, [11, 12, 13, 21, 22, 23, 31, 32, 33]);
});

test('a job keeps to its rate, also when its worker is lost between two pages', async () => {
  let isDown = true;
  const failing = pipeline({
    name: 'failing',
    run(ctx) {
      if (isDown) throw new Error('down');
      return ctx.now().getTime();
    },
  });
  await using stage = await openTestHoldfast({ pipelines: [failing] });
  const { holdfast } = stage;
  for (let nth = 0; nth < 30; nth += 1) await holdfast.submit(failing, undefined);
  await stage.advance(0);
  isDown = false;
  const job = await holdfast.bulk.redrive({ perSecond: 5 });
  const done: number[] = [];
  for (let second = 0; second < 5; second += 1) {
    await stage.advance(500);
    if (second % 2 === 1) await stage.restart();
    done.push((await holdfast.bulk.items(job.id)).length);
    await stage.advance(500);
  }
  assert.deepEqual(done, [5, 10, 15, 20, 25]);
  await stage.advance(10_000);
  assert.deepEqual(await job.result(), { seen: 30, outcomes: { submitted: 30 } });
});

test('W-6: an await of a week with a reminder is tested without waiting', async () => {
  const notified: string[] = [];
  const day = (): string => new Date(stage.clock.wallMs()).toISOString().slice(8, 10);
  const nudge = pipeline({
    name: 'nudge',
    run: (ctx, who: string) =>
      ctx.step('write', () => {
        notified.push(`${day()}: ${who}`);
      }),
  });
  const approval = pipeline({
    name: 'approval',
    async run(ctx) {
      const reminders = [{ afterMs: 3 * DAY_MS, pipeline: nudge, input: 'olga' }];
      const { kind } = await ctx.await('approval', { timeoutMs: 7 * DAY_MS, reminders });
      await ctx.step('end', () => {
        notified.push(`${day()}: ${kind}`);
      });
      return kind;
    },
  });
  await using stage = await openTestHoldfast({
    pipelines: [approval, nudge],
    start: new Date('2026-01-01'),
  });
  const one = await stage.holdfast.submit(approval, undefined);
  await stage.advance(DAY_MS);
  const sooner = await stage.holdfast.submit(approval, undefined);
  await stage.advance(5 * 3_600_000);
  const target = { execution: sooner.id, name: 'approval' };
  await stage.holdfast.awaits.extend(target, { timeoutMs: DAY_MS });
  await stage.advance(10 * DAY_MS);
  assert.deepEqual([await one.result(), await sooner.result()], ['timed-out', 'timed-out']);
  assert.deepEqual(notified, ['03: timed-out', '04: olga', '08: timed-out']);
});

test('an execution that left a process leaves no timer in it', async () => {
  const { promise: never } = Promise.withResolvers<void>();
  const sleeping = pipeline({ name: 'sleeping', run: (ctx) => ctx.sleep(DAY_MS) });
  const failing = pipeline({
    name: 'failing',
    run: (ctx) =>
      ctx.step('fail', () => Promise.reject(new Error('not yet')), {
        retry: { initialMs: 3_600_000, maxMs: DAY_MS },
      }),
  });
  const endless = pipeline({
    name: 'endless',
    run: (ctx) => ctx.step('hang', () => never, { timeoutMs: DAY_MS }),
  });
  await using stage = await openTestHoldfast({ pipelines: [sleeping, failing, endless] });
  await stage.advance(0);
  const before = stage.clock.waiting;
  for (const code of [sleeping, failing]) {
    const { id } = await stage.holdfast.submit(code, undefined);
    await stage.advance(0);
    assert.equal((await stage.holdfast.read(id))?.status, 'waiting');
    assert.equal(stage.clock.waiting, before, code.name);
  }
  const { id } = await stage.holdfast.submit(endless, undefined);
  await stage.advance(0);
  const closing = stage.holdfast.close();
  await stage.advance(10_000);
  await closing;
  assert.equal((await stage.holdfast.read(id))?.status, 'queued');
  assert.equal(stage.clock.waiting, 0);
});

test('P1: a step that takes far longer than its worker’s ttl runs once, though other workers wait', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let runs = 0;
  const slow = pipeline({
    name: 'slow',
    run: (ctx) =>
      ctx.step('long', () => {
        runs += 1;
        return promise;
      }),
  });
  // Its own worker has a ttl of days and nothing to do here.
  const idle = pipeline({ name: 'idle', run: () => undefined });
  await using stage = await openTestHoldfast({ pipelines: [idle] });
  const { store } = stage.holdfast;
  const { clock } = stage;
  const holdfast = new Holdfast({ store, clock, timers: clock.timers });
  const { id } = await holdfast.submit(slow, undefined);
  for (const owner of ['one', 'other']) {
    await holdfast.worker({ pipelines: [slow], owner, ttlMs: 10_000, pollMs: 5_000 });
  }
  await stage.advance(20 * 60_000);
  resolve();
  await stage.advance(0);
  assert.equal((await holdfast.read(id))?.status, 'completed');
  const history = await holdfast.history(id);
  assert.deepEqual([runs, history.filter(({ kind }) => kind === 'claimed').length], [1, 1]);
  await holdfast.close();
});
