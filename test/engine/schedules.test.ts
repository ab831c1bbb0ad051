import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock, openTestHoldfast } from '../../contract/index.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { ExecutionReport } from '../../src/execution/report.ts';
import type { CatchUp } from '../../src/features/schedules/plan-api.ts';
import type { FireSchedule } from '../../src/features/schedules/port.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

test('X-34: a daily schedule over thirty days, across a change of the clocks, is tested without waiting', async () => {
  const times: string[] = [];
  const report = pipeline({
    name: 'report',
    run: (ctx) => void times.push(ctx.now().toISOString().slice(0, 16)),
  });
  const start = new Date('2026-03-15T12:00:00Z');
  await using stage = await openTestHoldfast({ pipelines: [report], start });
  const cron = { cron: '0 9 * * *', timeZone: 'Europe/Berlin' };
  await stage.holdfast.schedules.put({ id: 'daily', ...cron, pipeline: report });
  await stage.advance(30 * DAY_MS);
  assert.equal(times.length, 30);
  assert.deepEqual(
    [times[0], times[12], times[13], times[29]],
    ['2026-03-16T08:00', '2026-03-28T08:00', '2026-03-29T07:00', '2026-04-14T07:00'],
  );
});

const CAUGHT_UP: readonly (readonly [CatchUp, readonly string[]])[] = [
  // Hourly from 01:00; down from 01:30 until 05:30.
  ['none', ['01:00', '06:00']],
  ['one', ['01:00', '05:00', '06:00']],
  ['all', ['01:00', '02:00', '03:00', '04:00', '05:00', '06:00']],
];

for (const [catchUp, expected] of CAUGHT_UP) {
  test(`X-35, X-85: after downtime, catchUp "${catchUp}" fires the expected times`, async () => {
    const clock = new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
    const store = openMemoryStore({ clock });
    const holdfast = new Holdfast({ store, clock, timers: clock.timers });
    const tick = pipeline({ name: 'tick', run: () => undefined });
    const first = await holdfast.worker({ pipelines: [tick] });
    const put = {
      id: 'hourly',
      every: HOUR_MS,
      pipeline: tick,
      overlap: 'allow',
      catchUp,
    } as const;
    await holdfast.schedules.put(put);
    await clock.advance(1.5 * HOUR_MS);
    const stopped = first.stop();
    await clock.advance(4 * HOUR_MS);
    await stopped;
    // A process puts its schedules again when it starts, and the store still knows the missed
    // times.
    await holdfast.schedules.put(put);
    await holdfast.worker({ pipelines: [tick] });
    await clock.advance(HOUR_MS);
    const { items } = await holdfast.list({ limit: 100 });
    const times = items.map(({ attributes }) => new Date(Number(attributes['scheduledAt'])));
    const shown = times.map((time) => time.toISOString().slice(11, 16)).toReversed();
    assert.deepEqual(shown, expected);
    const closed = holdfast.close();
    await clock.advance(60_000);
    await closed;
    await store.close();
  });
}

test('X-35, X-85: catching up is bounded, and the newest times win', async () => {
  const tick = pipeline({ name: 'tick', run: () => undefined });
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  await using holdfast = new Holdfast({ store, clock, timers: clock.timers });
  const put = { id: 'often', every: 1_000, pipeline: tick, catchUp: 'all' } as const;
  await holdfast.schedules.put({ ...put, overlap: 'allow' });
  // A whole hour without any worker.
  await clock.advance(HOUR_MS);
  const worker = await holdfast.worker({ pipelines: [tick] });
  await clock.advance(10);
  const { items } = await holdfast.list({ limit: 10_000 });
  assert.equal(items.length, 1_000);
  assert.equal(Number(items[0]?.attributes['scheduledAt']) + 10, clock.wallMs());
  worker.crash();
});

/** A worker of this store begins while a hostile project has 200 schedules with missed times. */
async function withMissedTimes(
  run: (scene: {
    readonly clock: ManualClock;
    readonly fired: readonly FireSchedule[];
    readonly holdfast: Holdfast;
  }) => Promise<void>,
  {
    onFire = () => undefined,
    fireMs = 0,
  }: { readonly onFire?: (fires: number) => void; readonly fireMs?: number } = {},
): Promise<void> {
  const clock = new ManualClock();
  const memory = openMemoryStore({ clock });
  const fired: FireSchedule[] = [];
  const fireSchedule: typeof memory.executions.fireSchedule = (request) => {
    fired.push(request);
    onFire(fired.length);
    return memory.executions.fireSchedule(request);
  };
  const store = { ...memory, executions: { ...memory.executions, fireSchedule } };

  // Each fire takes some time.
  const passing = {
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs() + fired.length * fireMs,
  };
  const holdfast = new Holdfast({ store, clock: passing, timers: clock.timers });
  const often = { every: 1_000, pipeline: 'tick', overlap: 'allow', catchUp: 'all' } as const;
  for (let nth = 0; nth < 200; nth += 1) {
    await holdfast.schedules.put({ id: `${nth}`, project: 'hostile', ...often });
  }
  await clock.advance(10);
  await holdfast.schedules.put({ id: 'h', project: 'healthy', ...often });
  await clock.advance(60_000);
  await run({ clock, fired, holdfast });
  await holdfast.close();
  await memory.close();
}

test('X-35, X-96: a project with two hundred overdue schedules does not delay those of another', async () => {
  await withMissedTimes(async ({ clock, fired, holdfast }) => {
    const worker = await holdfast.worker({
      pipelines: [pipeline({ name: 'idle', run: () => undefined })],
    });
    for (let turns = 0; fired.length < 400 && turns < 1_000; turns += 1) await clock.advance(0);
    const firsts = fired.map(({ project }) => project);
    assert.deepEqual(firsts.slice(0, 2), ['hostile', 'healthy']);
    // All 60 times of the healthy schedule are caught up, a few in each round.
    const healthy = fired.filter(({ project }) => project === 'healthy');
    assert.equal(healthy.flatMap(({ submits }) => submits).length, 60);
    const largest = Math.max(...fired.map(({ submits }) => submits.length));
    assert.ok(largest <= 2, `one transaction submitted ${largest} executions`);
    worker.crash();
  });
});

test('X-96: after a round of schedules, a worker does other work for as long as the round took', async () => {
  const run: Parameters<typeof withMissedTimes>[0] = async ({ clock, fired, holdfast }) => {
    const idle = pipeline({ name: 'idle', run: () => undefined });
    const worker = await holdfast.worker({ pipelines: [idle] });
    // A round has ten schedules of the hostile project, and the healthy one.
    for (let turns = 0; turns < 50; turns += 1) await clock.advance(0);
    assert.equal(fired.length, 11);
    await clock.advance(100);
    assert.equal(fired.length, 11);
    await clock.advance(20);
    assert.equal(fired.length, 22);
    worker.crash();
  };
  await withMissedTimes(run, { fireMs: 10 });
});

test('a worker that stops ends its round of schedules', async () => {
  let stop: () => void = () => undefined;
  const stopAtThird = (fires: number): void => {
    if (fires === 3) stop();
  };
  await withMissedTimes(
    async ({ fired, holdfast }) => {
      const worker = await holdfast.worker({
        pipelines: [pipeline({ name: 'idle', run: () => undefined })],
      });
      const stopping = new Promise<void>((resolve) => {
        stop = () => resolve(worker.stop());
      });
      await stopping;
      assert.equal(fired.length, 3);
    },
    { onFire: stopAtThird },
  );
});

test('X-35: schedules cost an idle process no queries', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const calls = new Map<string, number>();
  const count = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get(target, name, receiver) {
        const value: unknown = Reflect.get(target, name, receiver);
        // Neither of them queries the store.
        if (typeof value !== 'function' || name === 'onWakeup' || name === 'room') return value;
        return (...values: unknown[]) => {
          calls.set(String(name), (calls.get(String(name)) ?? 0) + 1);
          return Reflect.apply(value, target, values) as unknown;
        };
      },
    });
  const counted = {
    ...store,
    sessions: count({ ...store.sessions }),
    executions: count(store.executions),
  };
  const holdfast = new Holdfast({ store: counted, clock, timers: clock.timers });
  const idle = pipeline({ name: 'idle', run: () => undefined });
  await holdfast.schedules.put({ id: 'yearly', cron: '0 0 1 1 *', pipeline: idle });
  const worker = await holdfast.worker({ pipelines: [idle] });
  await clock.advance(1_000);
  calls.clear();
  const seconds = 600;
  await clock.advance(seconds * 1_000);
  const all = [...calls.values()].reduce((sum, each) => sum + each, 0);
  assert.equal(calls.get('dueSchedules'), undefined);
  assert.ok(all < seconds, `${all} calls in ${seconds} s: ${JSON.stringify([...calls])}`);
  worker.crash();
  await store.close();
});

test('X-35: a schedule of another process is noticed in time', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const options = { store, clock, timers: clock.timers };
  const [here, there] = [new Holdfast(options), new Holdfast(options)];
  const tick = pipeline({ name: 'tick', run: () => undefined });
  const worker = await here.worker({ pipelines: [tick] });
  await clock.advance(1_000);
  await there.schedules.put({ id: 'soon', every: 30_000, pipeline: tick });
  await clock.advance(30_000);
  const { items } = await here.list();
  assert.deepEqual(
    items.map(({ status }) => status),
    ['completed'],
  );
  worker.crash();
  await store.close();
});

test('the input of a schedule is kept as given, and its schema is applied once', async () => {
  const toNumber = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) =>
        typeof value === 'string'
          ? { value: Number(value) }
          : { issues: [{ message: 'expected text' }] },
    },
  } as const;
  const seen: number[] = [];
  const counting = pipeline<number, unknown>({
    name: 'counting',
    input: toNumber,
    run: (_ctx, n) => void seen.push(n),
  });
  await using stage = await openTestHoldfast({ pipelines: [counting] });
  const put = { id: 'count', every: HOUR_MS, pipeline: counting };
  await assert.rejects(stage.holdfast.schedules.put({ ...put, input: 5 }), /expected text/);
  const { input } = await stage.holdfast.schedules.put({ ...put, input: '21' as never });
  assert.equal(input, '21');
  await stage.advance(HOUR_MS);
  assert.deepEqual(seen, [21]);
});

test('X-35, X-86: schedules that cannot be fired delay no others, and are not tried all the time', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const troubles: string[] = [];
  const observer = {
    report: (report: ExecutionReport) => {
      if (report.kind === 'trouble') troubles.push(report.what);
    },
  };
  await using holdfast = new Holdfast({ store, clock, timers: clock.timers, observer });
  const tick = pipeline({ name: 'tick', run: () => undefined });
  const broken = { project: 'a', id: 'broken', pipeline: tick };
  await holdfast.templates.put({ ...broken, version: 1, defaults: { b: 1 } });
  for (let nth = 0; nth < 501; nth += 1) {
    const put = { project: 'a', id: `broken-${nth}`, every: 100, template: 'broken' };
    await holdfast.schedules.put({ ...put, input: { a: 1 } });
  }
  // Each fire uses the newest version, whose defaults cannot be merged with parameters.
  await holdfast.templates.put({ ...broken, version: 2, defaults: 5 });
  await holdfast.schedules.put({
    project: 'b',
    id: 'fine',
    every: 1_000,
    pipeline: tick,
    overlap: 'allow',
  });
  const worker = await holdfast.worker({ pipelines: [tick] });
  await clock.advance(10_000);
  const { items } = await holdfast.list({ project: 'b', limit: 100 });
  assert.equal(items.length, 10);
  assert.equal(troubles.length, 501, 'each once in a minute');
  for (let nth = 1; nth < 501; nth += 1) {
    await holdfast.schedules.remove(`broken-${nth}`, { project: 'a' });
  }
  await holdfast.templates.put({ ...broken, version: 3, defaults: { b: 1 } });
  await clock.advance(60_000);
  const fixed = await holdfast.list({ project: 'a', limit: 1 });
  assert.equal(fixed.items.length, 1, 'a corrected schedule fires again');
  worker.crash();
});

test('a schedule whose parameters cannot be merged with its template’s defaults is refused', async () => {
  const store = openMemoryStore();
  await using holdfast = new Holdfast({ store });
  await holdfast.templates.put({ id: 't', version: 1, pipeline: 'tick', defaults: 5 });
  const put = { id: 's', every: 1_000, template: 't' };
  await assert.rejects(holdfast.schedules.put({ ...put, input: { a: 1 } }), /default parameters/);
  await holdfast.schedules.put(put);
});

test('X-35, X-86: a schedule that only another process can fire delays no others', async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ clock });
  const codec = {
    encode: (bytes: Uint8Array) => ({ by: 'test:1', bytes }),
    decode: ({ bytes }: { readonly bytes: Uint8Array }) => bytes,
  };
  const tick = pipeline({ name: 'tick', run: () => undefined });
  const first = new Holdfast({ store, clock, timers: clock.timers, codec });
  for (let nth = 0; nth < 501; nth += 1) {
    await first.schedules.put({
      project: 'a',
      id: `s${nth}`,
      every: 100,
      pipeline: tick,
      input: 1,
    });
  }
  const holdfast = new Holdfast({ store, clock, timers: clock.timers });
  await holdfast.schedules.put({
    project: 'b',
    id: 'fine',
    every: 1_000,
    pipeline: tick,
    overlap: 'allow',
  });
  const worker = await holdfast.worker({ pipelines: [tick] });
  await clock.advance(60_000);
  const { items } = await holdfast.list({ project: 'b', limit: 100 });
  assert.ok(items.length >= 50, String(items.length));
  worker.crash();
});
