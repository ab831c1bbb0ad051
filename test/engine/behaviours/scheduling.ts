import assert from 'node:assert/strict';
import type { Holdfast } from '../../../src/engine/holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import type { ExecutionRecord } from '../../../src/execution/execution.ts';
import { digestOf } from '../../../src/support/digest.ts';
import { type Behaviour, door, pause } from '../stage.ts';

const INVOICE = {
  id: 'invoice',
  version: 1,
  pipeline: 'bill',
  defaults: { currency: 'CHF', days: 30 },
};

const TEMPLATES: readonly Behaviour[] = [
  {
    name: 'X-31: parameters override the template’s defaults, and options override the template’s',
    async run(stage) {
      const bill = pipeline({ name: 'bill', run: (_ctx, input: object) => input });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [bill]);
      const options = { lane: 'batch', tags: ['monthly'], deadlineMs: 60_000 } as const;
      const put = { ...INVOICE, pipeline: bill, ...options };
      assert.deepEqual(await holdfast.templates.put(put), { existing: false });
      assert.deepEqual(await holdfast.templates.put(put), { existing: true });
      const ref = { template: 'invoice' };
      const given = { customer: 7, days: 10, currency: undefined };
      const handle = await holdfast.submit(ref, given, { tags: ['urgent'], actor: 'ann' });
      assert.deepEqual(await handle.result(), { currency: 'CHF', days: 10, customer: 7 });
      const record = await holdfast.read(handle.id);
      assert.deepEqual(
        [record?.template, record?.submittedBy, record?.lane, record?.tags, record?.deadlineMs],
        [{ id: 'invoice', version: 1 }, 'ann', 'batch', ['urgent'], 60_000],
      );
      const bare = await holdfast.submit(ref, undefined);
      assert.deepEqual(await bare.result(), INVOICE.defaults);
      await assert.rejects(holdfast.submit(ref, 17), { name: 'InvalidInput' });
    },
  },
  {
    name: 'X-30: a version never changes; get and list return the stored templates',
    async run(stage) {
      const holdfast = stage.holdfast();
      await holdfast.templates.put({ ...INVOICE, actor: 'ann' });
      await assert.rejects(holdfast.templates.put({ ...INVOICE, defaults: {} }), {
        name: 'TemplateRefused',
        code: 'template-conflict',
      });
      await holdfast.templates.put({ ...INVOICE, version: 2, defaults: { currency: 'EUR' } });
      await holdfast.templates.put({ ...INVOICE, id: 'Reminder: 1' });
      const newest = await holdfast.templates.get('invoice');
      assert.deepEqual([newest?.version, newest?.defaults], [2, { currency: 'EUR' }]);
      const first = await holdfast.templates.get('invoice', { version: 1 });
      assert.deepEqual([first?.actor, first?.defaults], ['ann', INVOICE.defaults]);
      assert.equal(await holdfast.templates.get('invoice', { project: 'p2' }), undefined);
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const from = cursor === undefined ? {} : { cursor };
        const page = await holdfast.templates.list({ limit: 1, ...from });
        seen.push(...page.items.map(({ id, version }) => `${id}/${version}`));
        cursor = page.cursor;
      } while (cursor !== undefined);
      assert.deepEqual(seen, ['Reminder: 1/1', 'invoice/2', 'invoice/1']);
      const missing = holdfast.submit({ template: 'invoice', version: 3 }, {});
      await assert.rejects(missing, { name: 'TemplateRefused', code: 'template-unknown' });
      await assert.rejects(holdfast.templates.put({ ...INVOICE, version: 0 }), {
        name: 'InvalidInput',
      });
    },
  },
  {
    name: 'X-31, X-82: under one key, another version of a template is another intent',
    async run(stage) {
      const holdfast = stage.holdfast();
      await holdfast.templates.put(INVOICE);
      await holdfast.templates.put({ ...INVOICE, version: 2 });
      const submit = (version: number) =>
        holdfast.submit({ template: 'invoice', version }, { customer: 7 }, { key: 'c-7' });
      const { id } = await submit(1);
      const again = await submit(1);
      assert.deepEqual([again.id, again.existing], [id, true]);
      await assert.rejects(submit(2), { name: 'SubmitRefused' });
      const merged = { currency: 'CHF', days: 30, customer: 7 };
      await assert.rejects(holdfast.submit('bill', merged, { key: 'c-7' }), {
        name: 'SubmitRefused',
      });
    },
  },
];

/** The executions of a schedule, oldest first. */
async function createdByKey(
  holdfast: Holdfast,
  schedule: string,
): Promise<readonly ExecutionRecord[]> {
  const { items } = await holdfast.list({ attribute: { name: 'schedule', equals: schedule } });
  return items.toReversed();
}

async function untilMade(holdfast: Holdfast, schedule: string, count: number): Promise<void> {
  while ((await createdByKey(holdfast, schedule)).length < count) await pause(10);
}

const SCHEDULES: readonly Behaviour[] = [
  {
    name: 'X-36: the code knows the time it was fired for, in replays, successors and re-drives',
    async run(stage) {
      const seen: (number | undefined)[] = [];
      const nightly = pipeline({
        name: 'nightly',
        async run(ctx, round: number) {
          if (round === 3) return ctx.scheduledAt ?? 'by nobody';
          seen.push(ctx.scheduledAt?.getTime());
          // Parked: the rest runs in a replay.
          await ctx.sleep(300);
          if (round === 1) return ctx.continueAsNew(2);
          throw new Error('Not tonight.');
        },
      });
      const holdfast = stage.holdfast({ parkAfterMs: 20 });
      await stage.worker(holdfast, [nightly]);
      const put = { id: 'nightly', every: 100, pipeline: nightly, input: 1 } as const;
      await holdfast.schedules.put(put);
      // On a busy machine the next time may come before the first execution continues.
      const ofFirst = async (): Promise<readonly ExecutionRecord[]> => {
        const made = await createdByKey(holdfast, 'nightly');
        return made.filter(({ scheduled }) => scheduled?.at === made[0]?.scheduled?.at);
      };
      while ((await ofFirst()).length < 2) await pause(10);
      await holdfast.schedules.remove('nightly');
      const [fired, continued] = (await ofFirst()) as [ExecutionRecord, ExecutionRecord];
      const at = Number(fired.attributes['scheduledAt']);
      const scheduled = { id: 'nightly', at };
      assert.deepEqual([fired.scheduled, continued.scheduled], [scheduled, scheduled]);
      await assert.rejects(holdfast.result(continued.id));
      const ours = seen.filter((each) => each === at);
      assert.ok(ours.length >= 4, 'at least twice each, by a replay');
      assert.ok(!seen.includes(undefined));
      const again = await holdfast.repair.redrive(continued.id);
      assert.deepEqual((await holdfast.read(again.id))?.scheduled, scheduled);
      const plain = await holdfast.submit(nightly, 3, { attributes: { scheduledAt: 7 } });
      assert.equal(await plain.result(), 'by nobody', 'an attribute does not count');
    },
  },
  {
    name: 'X-34: a schedule fires once for each time, however many processes have workers',
    async run(stage) {
      const inputs: unknown[] = [];
      const tick = pipeline({
        name: 'tick',
        run: (ctx, input: object) => ctx.step('note', () => void inputs.push(input)),
      });
      const holdfasts = [stage.holdfast(), stage.holdfast(), stage.holdfast()];
      const [holdfast] = holdfasts as [Holdfast];
      for (const each of holdfasts) await stage.worker(each, [tick]);
      const options = { lane: 'batch', tags: ['by time'] } as const;
      const put = { id: 'ticks', every: 150, pipeline: tick, input: { n: 1 }, options } as const;
      // All processes put it when they start.
      await Promise.all(holdfasts.map((each) => each.schedules.put({ ...put, overlap: 'allow' })));
      await untilMade(holdfast, 'ticks', 4);
      assert.deepEqual(await holdfast.schedules.remove('ticks'), { kind: 'done' });
      const made = await createdByKey(holdfast, 'ticks');
      const times = made.map(({ attributes }) => Number(attributes['scheduledAt']));
      assert.equal(new Set(times).size, times.length);
      for (const [nth, time] of times.entries()) {
        assert.equal((time - (times[nth - 1] ?? time - 150)) % 150, 0);
      }
      const [first] = made as [ExecutionRecord];
      assert.deepEqual(
        [first.lane, first.tags, first.submittedBy, first.key],
        [
          'batch',
          ['by time'],
          'schedule ticks',
          `schedule:ticks@${new Date(times[0] ?? 0).toISOString()}`,
        ],
      );
      await holdfast.result(first.id);
      assert.deepEqual(inputs[0], { n: 1 });
    },
  },
  {
    name: 'X-34, X-83: while the last execution is open times are skipped, and a template can be the target',
    async run(stage) {
      const gate = door();
      const slow = pipeline({
        name: 'slow',
        async run(ctx, input: object) {
          await ctx.step('wait', () => gate.passed);
          return input;
        },
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [slow]);
      await holdfast.templates.put({ id: 't', version: 3, pipeline: slow, defaults: { a: 1 } });
      await holdfast.schedules.put({ id: 's', every: 100, template: 't', input: { b: 2 } });
      const missing = holdfast.schedules.put({ id: 'm', every: 100, template: 'none' });
      await assert.rejects(missing, { name: 'TemplateRefused' });
      await untilMade(holdfast, 's', 1);
      const [first] = (await createdByKey(holdfast, 's')) as [ExecutionRecord];
      assert.deepEqual(first.template, { id: 't', version: 3 });
      // Two more times come and go.
      const seen = (await holdfast.schedules.get('s'))?.nextTimes[0] ?? 0;
      while (((await holdfast.schedules.get('s'))?.nextTimes[0] ?? 0) < seen + 200) await pause(10);
      assert.equal((await createdByKey(holdfast, 's')).length, 1);
      gate.open();
      assert.deepEqual(await holdfast.result(first.id), { a: 1, b: 2 });
      await untilMade(holdfast, 's', 2);
    },
  },
  {
    name: 'X-33: schedules are shown with their next times, paused, resumed and removed',
    async run(stage) {
      const holdfast = stage.holdfast();
      const cron = { cron: '0 9 * * 1-5', timeZone: 'Europe/Zurich' };
      const put = { id: 'daily', ...cron, pipeline: 'report', input: 7, actor: 'ann' } as const;
      const info = await holdfast.schedules.put(put);
      assert.deepEqual(
        [info.when, info.target, info.input, info.overlap, info.catchUp, info.actor, info.paused],
        [cron, { pipeline: 'report' }, 7, 'skip', 'one', 'ann', false],
      );
      assert.equal(info.nextTimes.length, 5);
      assert.deepEqual(await holdfast.schedules.put(put), info);
      assert.deepEqual(await holdfast.schedules.pause('daily'), { kind: 'done' });
      const paused = await holdfast.schedules.get('daily');
      assert.deepEqual([paused?.paused, paused?.nextTimes], [true, []]);
      assert.deepEqual(await holdfast.schedules.resume('daily'), { kind: 'done' });
      await holdfast.schedules.put({ id: 'hourly', every: 3_600_000, pipeline: 'report' });
      const page = await holdfast.schedules.list({ limit: 1 });
      assert.deepEqual([page.items[0]?.id, page.items[0]?.nextTimes], ['daily', info.nextTimes]);
      const rest = await holdfast.schedules.list({ cursor: page.cursor ?? '' });
      assert.deepEqual(
        rest.items.map(({ id }) => id),
        ['hourly'],
      );
      assert.deepEqual(await holdfast.schedules.remove('daily'), { kind: 'done' });
      assert.equal(await holdfast.schedules.get('daily'), undefined);
      const unknown = { kind: 'refused', why: 'schedule-unknown', id: 'daily' };
      assert.deepEqual(await holdfast.schedules.resume('daily'), unknown);
    },
  },
  {
    name: 'X-32: a schedule that is only created keeps its content',
    async run(stage) {
      const { schedules } = stage.holdfast();
      const put = { id: 'once', every: 60_000, pipeline: 'p', ifExists: 'refuse' } as const;
      const { createdAt } = await schedules.put(put);
      assert.deepEqual((await schedules.put(put)).createdAt, createdAt);
      await assert.rejects(schedules.put({ ...put, every: 70_000 }), { code: 'schedule-exists' });
      assert.deepEqual((await schedules.get('once'))?.when, { every: 60_000 });
    },
  },
  {
    name: 'X-121: a trigger submits now, once for each key, also while the schedule is paused',
    async run(stage) {
      const echo = pipeline({
        name: 'echo',
        run: (ctx, input: unknown) => ({ input, isScheduled: ctx.scheduledAt !== undefined }),
      });
      const holdfast = stage.holdfast();
      await stage.worker(holdfast, [echo]);
      const unknown = { kind: 'refused', why: 'schedule-unknown', id: 's' };
      assert.deepEqual(await holdfast.schedules.trigger('s'), unknown);
      const put = { id: 's', cron: '0 3 1 1 *', pipeline: echo, input: 7 } as const;
      const { nextTimes } = await holdfast.schedules.put(put);
      const first = await holdfast.schedules.trigger('s', { key: 'one', actor: 'ann' });
      if (first.kind !== 'submitted') throw new Error(first.kind);
      assert.deepEqual(await holdfast.result(first.id), { input: 7, isScheduled: true });
      assert.deepEqual(await holdfast.schedules.trigger('s', { key: 'one' }), first);
      const after = await holdfast.schedules.get('s');
      assert.deepEqual([after?.nextTimes, after?.lastExecution], [nextTimes, first.id]);
      await holdfast.schedules.pause('s');
      const paused = await holdfast.schedules.trigger('s');
      assert.equal(paused.kind, 'submitted');
      const { items } = await holdfast.audit.list({ action: 'trigger-schedule' });
      assert.deepEqual(
        items.map(({ actor }) => actor),
        ['anonymous', 'ann'],
      );
    },
  },
  {
    name: 'X-122: a backfill submits each past time once, also when it is repeated',
    async run(stage) {
      const holdfast = stage.holdfast();
      await holdfast.schedules.put({ id: 's', cron: '0 3 * * *', pipeline: 'p' });
      const from = new Date('2026-01-01T03:00:00Z');
      const range = { from, to: new Date('2026-01-05T03:00:00Z') };
      const unknown = await holdfast.schedules.backfill('other', range);
      assert.equal(unknown.kind, 'refused');
      const filled = await holdfast.schedules.backfill('s', range);
      assert.deepEqual(filled, { kind: 'done', times: 5, submitted: 5 });
      const keys = (await createdByKey(holdfast, 's')).map(({ key }) => key);
      assert.equal(keys[0], 'schedule:s@2026-01-01T03:00:00.000Z');
      const longer = { from, to: new Date('2026-01-06T04:00:00Z') };
      const again = await holdfast.schedules.backfill('s', longer);
      assert.deepEqual(again, { kind: 'done', times: 6, submitted: 1 });
      assert.equal((await holdfast.schedules.get('s'))?.lastExecution, undefined);
      const wrong = [
        { from, to: new Date('2999-01-01') },
        { from: new Date('2016-01-01'), to: range.to },
        { from: 'yesterday' as never, to: range.to },
      ];
      for (const options of wrong) {
        await assert.rejects(holdfast.schedules.backfill('s', options), { name: 'InvalidInput' });
      }
    },
  },
  {
    name: 'X-123: jitter delays each start after its time by less than its limit',
    async run(stage) {
      const holdfast = stage.holdfast();
      const put = { id: 's', cron: '* * * * *', pipeline: 'p', jitterMs: 86_400_000 } as const;
      await holdfast.schedules.put({ ...put, overlap: 'allow' });
      const now = Date.now();
      const to = new Date(Math.floor(now / 60_000) * 60_000 - 60_000);
      const range = { from: new Date(to.getTime() - 240_000), to };
      await holdfast.schedules.backfill('s', range);
      const delays = (await createdByKey(holdfast, 's')).map(({ readyAt = 0, attributes }) => {
        const at = Number(attributes['scheduledAt']);
        const digest = digestOf(Buffer.from(`default/s@${at}`)).slice(0, 12);
        return { waited: readyAt - at, jitter: Number.parseInt(digest, 16) % (put.jitterMs + 1) };
      });
      assert.equal(delays.length, 5);
      assert.ok(new Set(delays.map(({ jitter }) => jitter)).size > 1);
      // Processes of other builds compute the same. A time in the past starts at once. The clocks of
      // this process and of the store may differ a little.
      assert.ok(
        delays.every(({ waited, jitter }) => Math.abs(waited - jitter) < 600_000),
        JSON.stringify(delays),
      );
    },
  },
  {
    name: 'an impossible schedule is refused by name',
    async run(stage) {
      const { schedules } = stage.holdfast();
      const good = { id: 'x', every: 1_000, pipeline: 'p' } as const;
      const bad: readonly Parameters<typeof schedules.put>[0][] = [
        { id: 'x', pipeline: 'p' },
        { ...good, cron: '* * * * *' },
        { ...good, timeZone: 'UTC' },
        { ...good, template: 't' },
        { ...good, version: 1 },
        { ...good, every: 1 },
        { ...good, id: '' },
        { id: 'x', every: 1_000 },
        { id: 'x', pipeline: 'p', cron: 'daily' },
        { id: 'x', pipeline: 'p', cron: '0 0 30 2 *' },
        { id: 'x', pipeline: 'p', cron: '* * * * *', timeZone: 'Nowhere' },
        { ...good, overlap: 'queue' as never },
        { ...good, catchUp: 'some' as never },
        { ...good, jitterMs: -1 },
        { ...good, ifExists: 'keep' as never },
        { ...good, overlap: 'buffer', options: { concurrency: { key: 'k', limit: 2 } } },
        { ...good, options: { key: 'k' } as never },
      ];
      for (const options of bad) {
        const shown = JSON.stringify(options);
        await assert.rejects(schedules.put(options), { name: 'InvalidInput' }, shown);
      }
    },
  },
];

export const SCHEDULING: readonly Behaviour[] = [...TEMPLATES, ...SCHEDULES];
