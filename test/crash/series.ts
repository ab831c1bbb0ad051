// kills a process that submits to its own worker, at every commit. Every acknowledged submit
// is kept, and each execution ends once.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import { isFullRun, sample } from '../services/tier.ts';
import type { CrashBackend } from './every-commit.ts';
import type { Effect } from './pipelines.ts';
import type { SeriesArgs } from './series-victim.ts';

const EXECUTIONS = 6;
/** So long that the counted commits are those of executions, also on a busy machine. */
const CALM_TTL_MS = 60_000;
/** How many points `npm test` kills at. */
const POINTS = 4;

interface Ending {
  readonly wasKilled: boolean;
  readonly acknowledged: readonly string[];
  readonly commits: number;
}

type Point = SeriesArgs['dieAt'];

export async function killSeries(backend: CrashBackend, t: TestContext): Promise<void> {
  const calm = await live(backend, undefined);
  // A step and an end are one commit, and a submit and its claim are another. The session has two.
  assert.ok(calm.commits < 3 * EXECUTIONS + 2, `${calm.commits} commits: no claim joined a submit`);
  const all = Array.from({ length: calm.commits }, (_, index): readonly Point[] => [
    { phase: 'before', n: index + 1 },
    { phase: 'after', n: index + 1 },
  ]).flat();
  const family = `crash points, ${backend.kind}, series`;
  const points = isFullRun() ? all : sample(family, all, POINTS);
  const endings = await Promise.all(points.map((point) => live(backend, point)));
  const deaths = endings.filter(({ wasKilled }) => wasKilled).length;
  assert.ok(deaths > 0, 'no process died');
  t.diagnostic(`${calm.commits} commits when calm, ${deaths} deaths`);
}

/** Runs the series with at most one kill, to its end, and checks what is stored. */
async function live(backend: CrashBackend, dieAt: Point): Promise<Ending> {
  const folder = await mkdtemp(join(tmpdir(), 'hf-crash-'));
  try {
    const place = await backend.place(folder);
    const effects = join(folder, 'effects.jsonl');
    await writeFile(effects, '');
    const store = { kind: backend.kind, place };
    const ttlMs = dieAt === undefined ? CALM_TTL_MS : 300;
    const args: SeriesArgs = { store, effects, executions: EXECUTIONS, ttlMs };
    const first = await run({ ...args, ...(dieAt && { dieAt }) });
    const last = first.wasKilled ? await run(args) : first;
    assert.equal(last.wasKilled, false);
    await check(backend, { place, effects, first });
    await backend.clear?.(place);
    return { ...first, commits: last.commits };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function check(
  backend: CrashBackend,
  at: { readonly place: string; readonly effects: string; readonly first: Ending },
): Promise<void> {
  const store = await backend.open(at.place);
  const holdfast = new Holdfast({ store });
  const { items } = await holdfast.list();
  await holdfast.close();
  await store.close();
  assert.deepEqual(
    items.map(({ key, status }) => `${key} ${status}`).toSorted(),
    Array.from({ length: EXECUTIONS }, (_, nth) => `${nth} completed`),
  );
  const stored = new Set<string>(items.map(({ id }) => id));
  for (const id of at.first.acknowledged) assert.ok(stored.has(id), `${id} was acknowledged`);
  const lines = (await readFile(at.effects, 'utf8')).trim().split('\n');
  const ran = lines.map((line) => JSON.parse(line) as Effect);
  const fences = new Map<string, number>();
  for (const { key, fence } of ran) {
    assert.ok(fence > (fences.get(key) ?? 0), `${key} ran again under a fence that is not higher`);
    fences.set(key, fence);
  }
  assert.equal(fences.size, EXECUTIONS);
  assert.ok(ran.length <= EXECUTIONS + 1, `${ran.length} effects after one death`);
}

function run(args: SeriesArgs): Promise<Ending> {
  const file = join(import.meta.dirname, 'series-victim.ts');
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [file, JSON.stringify(args)],
      { timeout: 60_000 },
      (error, stdout, stderr) => {
        const lines = stdout.split('\n').filter((line) => line !== '');
        const wasKilled = error?.signal === 'SIGKILL';
        if (error !== null && !wasKilled) {
          reject(new Error(`The victim failed (${error.code}): ${stdout}\n${stderr}`));
          return;
        }
        const [, commits = 0] = lines.at(-1)?.split('commits ') ?? [];
        const acknowledged = lines.filter((line) => !line.startsWith('commits'));
        resolve({ wasKilled, acknowledged, commits: Number(commits) });
      },
    );
  });
}
