import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultyStore, ManualClock } from '../../contract/index.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { DEFAULT_PROJECT, type ExecutionId } from '../../src/execution/names.ts';
import type { ExecutionReport } from '../../src/execution/report.ts';
import { PARTS } from '../../src/features/reconcile/model.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { toInstant } from '../../src/support/clock.ts';
import { type Tamper, tamperBySql } from '../reconcile/tamper.ts';
import { freshMemoryStore } from '../services/memory-store.ts';

const ROUND_MS = 1.2 * 30_000 * PARTS.length;

interface Scene {
  readonly clock: ManualClock;
  readonly tamper: Tamper;
  readonly reports: ExecutionReport[];
  /** A separate process, and the number of its checks. */
  open(): { readonly holdfast: Holdfast; reads(): number };
}

async function withScene(run: (scene: Scene) => Promise<void>): Promise<void> {
  const clock = new ManualClock();
  const { store: memory, connection } = freshMemoryStore({ clock });
  const tamper = tamperBySql(async (sql) => connection.execute(sql), '');
  const opened: Holdfast[] = [];
  const reports: ExecutionReport[] = [];
  const open: Scene['open'] = () => {
    const faults = faultyStore<CoordinatorStore>(memory);
    const observer = { report: (report: ExecutionReport) => void reports.push(report) };
    const holdfast = new Holdfast({ store: faults.store, clock, timers: clock.timers, observer });
    opened.push(holdfast);
    return { holdfast, reads: () => faults.calls.get('executions.reconcile') ?? 0 };
  };
  try {
    await run({ clock, tamper, reports, open });
  } finally {
    await Promise.all(opened.map((each) => each.close()));
    await memory.close();
  }
}

const child = pipeline({ name: 'child', run: async (ctx) => ctx.receive<number>('n') });
const parent = pipeline({
  name: 'parent',
  run: async (ctx) => (await ctx.spawn(child, undefined)).result(),
});
const asking = pipeline({ name: 'asking', run: (ctx) => ctx.await<string>('it') });
const idle = pipeline({ name: 'idle', run: () => 1 });

/** Removes the messages, as if they had never come. */
async function forget(tamper: Tamper, id: ExecutionId, wakeAfter: number): Promise<void> {
  await tamper.dropMessages(id);
  await tamper.setExecution(id, { status: 'waiting', readyAt: null, wakeAfter });
}

const stale = (reports: readonly ExecutionReport[]) =>
  reports.filter((report) => report.kind === 'stale');

test('Z-30, Z-11: a row that breaks while workers run is found, repaired and reported, and the code continues', () =>
  withScene(async ({ clock, tamper, reports, open }) => {
    const { holdfast } = open();
    const worker = await holdfast.worker({ pipelines: [parent, child, asking] });
    const family = await holdfast.submit(parent, undefined);
    const asked = await holdfast.submit(asking, undefined);
    await clock.advance(ROUND_MS);
    assert.deepEqual(stale(reports), []);
    await worker.stop();
    const { items } = await holdfast.list({ pipeline: 'child' });
    // The test breaks waiting executions before a worker that could run them starts.
    const others = await holdfast.worker({ pipelines: [child] });
    await holdfast.signal(items[0]?.id ?? '', { name: 'n', value: 17 });
    await clock.advance(5_000);
    const [interaction] = (await holdfast.awaits.list()).items;
    await holdfast.awaits.answer(interaction?.id ?? '', 'yes');
    await forget(tamper, family.id, 1);
    await forget(tamper, asked.id, 0);
    await others.stop();
    await open().holdfast.worker({ pipelines: [parent, asking] });
    await clock.advance(ROUND_MS);
    assert.equal(await family.result(), 17);
    const { kind, value } = (await asked.result()) as { kind: string; value?: string };
    assert.deepEqual([kind, value], ['answered', 'yes']);
    const findings = stale(reports).map((report) => [
      report.kind === 'stale' && report.invariant,
      report.kind === 'stale' && report.repaired,
    ]);
    assert.deepEqual(findings.sort(), [
      ['child-end-undelivered', true],
      ['settlement-undelivered', true],
    ]);
  }));

test('Z-30: one worker checks, a part at a time; when it stops, another does', () =>
  withScene(async ({ clock, open }) => {
    const [first, second] = [open(), open()];
    const worker = await first.holdfast.worker({ pipelines: [idle] });
    await second.holdfast.worker({ pipelines: [idle] });
    await clock.advance(10 * 60_000);
    const all = first.reads() + second.reads();
    assert.ok(all >= 18 && all <= 24, `${all} looks in ten minutes, one each half minute`);
    assert.ok(first.reads() === 0 || second.reads() === 0, 'one of them has the lease');
    const before = second.reads();
    await worker.stop();
    await clock.advance(10 * 60_000);
    assert.ok(second.reads() >= before + 17, 'the other goes on');
  }));

test('Z-30: a worker checks at its configured interval', () =>
  withScene(async ({ clock, open }) => {
    const { holdfast, reads } = open();
    await holdfast.worker({ pipelines: [idle], reconcileMs: 60_000 });
    await clock.advance(10 * 60_000);
    assert.ok(reads() >= 8 && reads() <= 12, `${reads()} looks in ten minutes`);
  }));

test('Z-30, Z-4: a check on demand returns the findings and their repairs', () =>
  withScene(async ({ clock, tamper, open }) => {
    const { holdfast } = open();
    await holdfast.worker({ pipelines: [asking] });
    const { id } = await holdfast.submit(asking, undefined);
    const late = await holdfast.submit('nobody', undefined);
    await clock.advance(5_000);
    await tamper.dropAwaits(id);
    await tamper.setExecution(late.id, { readyAt: null });
    const dry = await holdfast.repair.reconcile({ dryRun: true });
    assert.deepEqual(
      dry.map(({ invariant, execution, repaired }) => [invariant, execution, repaired]),
      [
        ['waits-for-nothing', id, false],
        ['queued-without-time', late.id, false],
      ],
    );
    assert.match(dry[0]?.sentence ?? '', /nothing is left that could wake it\. Since /);
    assert.match(dry[0]?.advice ?? '', /Signal it .*, or cancel and re-drive it/);
    assert.match((await holdfast.explain(id))?.sentence ?? '', /nothing pending can deliver it/);
    const found = await holdfast.repair.reconcile({ limit: 5 });
    assert.deepEqual(
      found.map(({ repaired, advice }) => [repaired, advice]),
      [
        [false, dry[0]?.advice],
        [true, 'It is ready now.'],
      ],
    );
    assert.equal((await holdfast.repair.reconcile()).length, 1);
    assert.equal((await holdfast.repair.reconcile({ dryRun: true, limit: 1 })).length, 1);
  }));

test('Z-24: a schedule that lost its time is found, one without further times is not', () =>
  withScene(async ({ clock, tamper, open }) => {
    const { holdfast } = open();
    await holdfast.schedules.put({ id: 'often', pipeline: idle, every: 3_600_000 });
    const plan = JSON.stringify({ when: { cron: '0 0 31 2 *', timeZone: 'UTC' } });
    const over = { project: DEFAULT_PROJECT, id: 'over', plan, digest: 'never' };
    const nextAt = toInstant(clock.wallMs() + 1_000);
    await holdfast.store.executions.putSchedule({ ...over, nextAt });
    await tamper.setNext('often', null);
    await tamper.setNext('over', null);
    await clock.advance(1_000);
    const found = await holdfast.repair.reconcile();
    assert.deepEqual(
      found.map(({ invariant, about }) => [invariant, about]),
      [['schedule-without-time', 'often']],
    );
  }));
