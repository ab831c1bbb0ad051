import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultyStore, ManualClock } from '../../contract/index.ts';
import { type Archive, ArchiveUnavailable } from '../../src/archive/port.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import type { ExecutionReport } from '../../src/execution/report.ts';
import type { RetentionOptions } from '../../src/features/retention/api.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';

const HOUR_MS = 3_600_000;
const LOOK_MS = 60_000 * 1.2;
const RETRY_MS = 600_000;
const BY = { actor: 'olga', reason: 'request 4711' } as const;

const quick = pipeline({ name: 'quick', run: (_, n: number) => n });

interface Process {
  readonly holdfast: Holdfast;
  reads(): number;
}

interface Scene {
  readonly clock: ManualClock;
  readonly reports: ExecutionReport[];
  readonly documents: Map<string, Uint8Array>;
  /** While this is set, the archive is away. */
  readonly outage: { isOn: boolean };
  open(retention?: Partial<RetentionOptions> | 'none'): Process;
}

async function withScene(run: (scene: Scene) => Promise<void>): Promise<void> {
  const clock = new ManualClock();
  const memory = openMemoryStore({ clock });
  const documents = new Map<string, Uint8Array>();
  const outage = { isOn: false };
  const archive: Archive = {
    name: 'a map',
    async put({ path, bytes }) {
      if (outage.isOn) throw new ArchiveUnavailable('It is away.');
      documents.set(path, bytes);
    },
    get: async (path) => documents.get(path),
  };
  const opened: Holdfast[] = [];
  const reports: ExecutionReport[] = [];
  const open: Scene['open'] = (given = {}) => {
    const faults = faultyStore<CoordinatorStore>(memory);
    const observer = { report: (report: ExecutionReport) => void reports.push(report) };
    const retention = { archive, keepMs: { completed: HOUR_MS }, ...(given as object) };
    const holdfast = new Holdfast({
      ...{ store: faults.store, clock, timers: clock.timers, observer },
      ...(given === 'none' ? {} : { retention }),
    });
    opened.push(holdfast);
    return { holdfast, reads: () => faults.calls.get('executions.removable') ?? 0 };
  };
  try {
    await run({ clock, reports, documents, outage, open });
  } finally {
    await Promise.all(opened.map((each) => each.close()));
    await memory.close();
  }
}

test('F-1, F-10: a worker archives due executions by itself, when they are due and not before', () =>
  withScene(async ({ clock, reports, open }) => {
    const { holdfast } = open();
    await holdfast.worker({ pipelines: [quick] });
    const { id } = await holdfast.submit(quick, 1);
    await clock.advance(HOUR_MS - 120_000);
    assert.equal((await holdfast.read(id))?.status, 'completed');
    await clock.advance(120_000 + LOOK_MS);
    assert.equal(await holdfast.read(id), undefined);
    assert.equal((await holdfast.archive.verify(id))?.kind, 'intact');
    const removed = reports.filter(({ kind }) => kind === 'removed');
    assert.deepEqual(removed, [{ kind: 'removed', removed: 1, archived: 1, failed: 0 }]);
  }));

test('F-10: one of many workers archives; when it stops, another continues', () =>
  withScene(async ({ clock, open }) => {
    const [one, two] = [open(), open()];
    const worker = await one.holdfast.worker({ pipelines: [quick] });
    await clock.advance(LOOK_MS);
    await two.holdfast.worker({ pipelines: [quick] });
    await clock.advance(10 * LOOK_MS);
    assert.ok(one.reads() > 5 && two.reads() === 0, `${one.reads()} and ${two.reads()}`);
    await worker.stop();
    const before = one.reads();
    await clock.advance(10 * LOOK_MS);
    assert.equal(one.reads(), before);
    assert.ok(two.reads() > 5);
  }));

test('F-1: a worker without retention settings never looks for due executions', () =>
  withScene(async ({ clock, open }) => {
    const { holdfast, reads } = open('none');
    await holdfast.worker({ pipelines: [quick] });
    const { id } = await holdfast.submit(quick, 1);
    await clock.advance(3 * HOUR_MS);
    assert.equal(reads(), 0);
    assert.equal((await holdfast.read(id))?.status, 'completed');
  }));

test('F-11: while the archive is away nothing is removed and the trouble is reported; later all is archived', () =>
  withScene(async ({ clock, reports, outage, open }) => {
    const { holdfast } = open();
    await holdfast.worker({ pipelines: [quick] });
    const handles = await Promise.all([1, 2, 3].map((n) => holdfast.submit(quick, n)));
    outage.isOn = true;
    await clock.advance(HOUR_MS + 3 * LOOK_MS);
    for (const { id } of handles) assert.equal((await holdfast.read(id))?.status, 'completed');
    assert.ok(reports.some((each) => each.kind === 'trouble' && each.cause.includes('away')));
    outage.isOn = false;
    await clock.advance(2 * LOOK_MS);
    for (const { id } of handles) {
      assert.equal(await holdfast.read(id), undefined);
      assert.equal((await holdfast.archive.verify(id))?.kind, 'intact');
    }
  }));

test('F-2: a family is removed from the top, round by round, and no member before its root', () =>
  withScene(async ({ clock, open }) => {
    const child = pipeline({ name: 'child', run: (_, n: number) => n });
    const parent = pipeline({
      name: 'parent',
      run: async (ctx) => (await ctx.spawn(child, 1)).result(),
    });
    const { holdfast } = open();
    await holdfast.worker({ pipelines: [parent, child] });
    const { id } = await holdfast.submit(parent, undefined);
    await clock.advance(HOUR_MS / 2);
    const [{ id: below } = { id: '' }] = (await holdfast.list({ pipeline: 'child' })).items;
    await clock.advance(HOUR_MS / 2 + 3 * LOOK_MS);
    assert.deepEqual([await holdfast.read(id), await holdfast.read(below)], [undefined, undefined]);
    const { items } = await holdfast.archive.list();
    assert.deepEqual(items.map((each) => [each.pipeline, each.parent]).sort(), [
      ['child', id],
      ['parent', undefined],
    ]);
  }));

test('F-4: without an archive due executions are deleted, if the settings allow it', () =>
  withScene(async ({ clock, documents, open }) => {
    const { holdfast } = open({ archive: 'none' });
    await holdfast.worker({ pipelines: [quick] });
    const { id } = await holdfast.submit(quick, 1);
    await clock.advance(HOUR_MS + LOOK_MS);
    assert.equal(await holdfast.read(id), undefined);
    assert.deepEqual([documents.size, (await holdfast.archive.list()).items.length], [0, 0]);
  }));

test('F-16: a worker finishes an erasure that was left pending while the archive was away', () =>
  withScene(async ({ clock, reports, documents, outage, open }) => {
    const { holdfast } = open();
    await holdfast.worker({ pipelines: [quick] });
    const { id } = await holdfast.submit(quick, 1);
    await clock.advance(HOUR_MS + LOOK_MS);
    assert.equal(await holdfast.read(id), undefined);
    outage.isOn = true;
    await assert.rejects(holdfast.erase(id, BY), /away/);
    await clock.advance(RETRY_MS + LOOK_MS);
    const isReported = (each: ExecutionReport) =>
      each.kind === 'trouble' && each.code === 'not-erased';
    assert.equal(reports.filter(isReported).length, 1);
    assert.deepEqual((await holdfast.archive.get(id))?.erased?.pending, { documents: true });
    outage.isOn = false;
    await clock.advance(RETRY_MS + LOOK_MS);
    const { erased } = (await holdfast.archive.get(id)) ?? {};
    assert.deepEqual([erased?.by, erased?.pending], ['olga', undefined]);
    assert.equal((await holdfast.archive.verify(id))?.kind, 'erased');
    const texts = [...documents.values()].map((bytes) => Buffer.from(bytes).toString());
    assert.equal(texts.filter((text) => text.includes('"erased"')).length, texts.length - 1);
  }));

test('F-15, F-16: a worker removes a large value that was too recent, also when its execution is gone', () =>
  withScene(async ({ clock, open }) => {
    const { holdfast } = open({ archive: 'none', keepMs: { completed: 120_000 } });
    const worker = await holdfast.worker({ pipelines: [quick] });
    const { id } = await holdfast.submit(quick, 'x'.repeat(100_000) as never);
    await clock.advance(1_000);
    const { input } = (await holdfast.read(id)) ?? {};
    const key = { project: 'default' as never, digest: JSON.parse(input ?? '{}').ref as string };
    const result = await holdfast.erase(id, BY);
    assert.deepEqual(result.kind === 'erased' && result.erasure.pending, { values: [key.digest] });
    await clock.advance(120_000 + 2 * LOOK_MS);
    assert.equal(await holdfast.read(id), undefined);
    const { executions } = holdfast.store;
    assert.ok((await executions.getBlob(key)) !== undefined);
    await clock.advance(RETRY_MS);
    assert.equal(await executions.getBlob(key), undefined);
    await worker.stop();
  }));
