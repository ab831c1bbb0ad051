// Exports and imports a store while workers run and callers submit, as if it were one store.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkEverything } from '../../contract/execution/check.ts';
import { Holdfast } from '../../src/engine/holdfast.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { StoreSealed } from '../../src/support/fault.ts';
import { loadPipeline } from '../load/pipeline.ts';
import { openAddressed, type StorePlace } from '../load/place.ts';
import type { WorkerArgs } from '../load/worker.ts';
import { type AllRows, allRows, exported, imported, type Place } from './exported.ts';

const WORKER = join(import.meta.dirname, '../load/worker.ts');
const TTL_MS = 1_500;

export function placed(place: StorePlace): Place {
  if (place.kind === 'sqlite') return { store: place.file };
  return { store: place.url, postgres: { schema: place.schema } };
}

export async function startWorker(args: Omit<WorkerArgs, 'ttlMs'>): Promise<ChildProcess> {
  const whole: WorkerArgs = { ...args, ttlMs: TTL_MS };
  const child = spawn(process.execPath, [WORKER, JSON.stringify(whole)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  assert.ok(child.stdout !== null);
  await once(child.stdout, 'data');
  return child;
}

export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const isOver = once(child, 'exit');
  child.kill('SIGKILL');
  await isOver;
}

/** Submits until the store refuses. Returns the acknowledged ids. */
async function submitUntilSealed(
  store: CoordinatorStore,
  onAcknowledged: (count: number) => void,
): Promise<readonly string[]> {
  const holdfast = new Holdfast({ store });
  const acknowledged: string[] = [];
  try {
    for (;;) {
      const { id } = await holdfast.submit(
        loadPipeline(() => undefined),
        acknowledged.length,
      );
      acknowledged.push(id);
      onAcknowledged(acknowledged.length);
    }
  } catch (fault) {
    assert.ok(fault instanceof StoreSealed, String(fault));
    return acknowledged;
  } finally {
    await holdfast.close();
  }
}

interface Effect {
  readonly key: string;
  readonly fence: number;
}

async function effectsIn(file: string): Promise<readonly Effect[]> {
  const text = await readFile(file, 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** EX-2. The export begins after `enough` acknowledged submissions. */
export async function movesUnderLoad(
  folder: string,
  {
    from,
    to,
    enough,
  }: { readonly from: StorePlace; readonly to: StorePlace; readonly enough: number },
): Promise<void> {
  const effects = join(folder, 'effects.jsonl');
  await writeFile(effects, '');
  const store = await openAddressed(from);
  const args = { effects, stepMs: 3 };
  const workers = await Promise.all(
    ['a', 'b'].map((owner) => startWorker({ ...args, store: from, owner })),
  );
  try {
    let hasEnough: () => void = () => undefined;
    const isEnough = new Promise<void>((resolve) => {
      hasEnough = resolve;
    });
    const submitting = submitUntilSealed(store, (count) => count === enough && hasEnough());
    await isEnough;
    const file = join(folder, 'all.ndjson.gz');
    await exported(placed(from), file);
    const acknowledged = await submitting;
    const old = await allRows(placed(from));
    await imported(placed(to), file);
    checkExported(old, { acknowledged, effects: await effectsIn(effects) });
    await finishOn(to, { acknowledged, effects, old });
    const now = await allRows(placed(from));
    assert.deepEqual(now.tables, old.tables, 'EX-1: the sealed store has not changed');
  } finally {
    for (const worker of workers) await kill(worker);
    await store.close();
  }
}

interface Acknowledged {
  readonly acknowledged: readonly string[];
  readonly effects: readonly Effect[];
}

/** Every acknowledged fact is there: submissions, and each step whose successor has begun. */
function checkExported(old: AllRows, { acknowledged, effects }: Acknowledged): void {
  const executions = new Map((old.tables.get('execution') ?? []).map((row) => [row['id'], row]));
  for (const id of acknowledged)
    assert.ok(executions.has(id), `${id} was acknowledged and is lost`);
  assert.ok(executions.size - acknowledged.length <= 1, 'and only steps under way ran twice');
  const recorded = new Set(
    (old.tables.get('history') ?? [])
      .filter(({ kind }) => kind === 'step-completed')
      .map((row) => `${row['execution_id']} ${row['name']}`),
  );
  const order = ['one', 'two', 'three'];
  for (const { key } of effects) {
    const [id, name] = stepOf(key);
    const before = order[order.indexOf(name) - 1];
    if (before === undefined) continue;
    assert.ok(recorded.has(`${id} ${before}`), `"${before}" of ${id} was acknowledged and is lost`);
  }
  for (const row of executions.values()) assert.notEqual(row['status'], 1, 'EX-3: nothing runs');
}

/** The name of a step for others: the execution, then the call. */
function stepOf(key: string): readonly [id: string, name: string] {
  const [, id = '', name = ''] = /^(.{36}).*step:(\w+)#/.exec(key) ?? [];
  assert.ok(id !== '' && name !== '', `an idempotency key like ${key} was not expected`);
  return [id, name];
}

/** Everything completes on the new store. Only a step under way at the seal runs twice. */
async function finishOn(
  to: StorePlace,
  known: {
    readonly acknowledged: readonly string[];
    readonly effects: string;
    readonly old: AllRows;
  },
): Promise<void> {
  const before = await effectsIn(known.effects);
  const after: Effect[] = [];
  const store = await openAddressed(to);
  const holdfast = new Holdfast({ store });
  try {
    const pipeline = loadPipeline((line) => after.push(JSON.parse(line)), { stepMs: 0 });
    await holdfast.worker({ pipelines: [pipeline], concurrency: 50 });
    for (const [n, id] of known.acknowledged.entries()) assert.equal(await holdfast.result(id), n);
    await checkEverything(store);
  } finally {
    await holdfast.close();
    await store.close();
  }
  const recorded = (known.old.tables.get('history') ?? []).filter(
    ({ kind }) => kind === 'step-completed',
  );
  const done = new Set(recorded.map((row) => `${row['execution_id']} ${row['name']}`));
  const fencesBefore = Math.max(...before.map(({ fence }) => fence));
  for (const { key, fence } of after) {
    assert.ok(
      !done.has(stepOf(key).join(' ')),
      `${key} was recorded before the export, and done again`,
    );
    assert.ok(fence > fencesBefore, 'EX-8');
  }
  const all = new Set([...before, ...after].map(({ key }) => key));
  assert.ok(all.size >= 3 * known.acknowledged.length, 'every step was done');
}
