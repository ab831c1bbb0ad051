// P3, X-4: this test kills a real process at every commit of an execution, before it and after it,
// and another process continues. The execution always ends as it does without a kill.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Holdfast } from '../../src/engine/holdfast.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { isFullRun, sample } from '../services/tier.ts';
import type { Effect } from './pipelines.ts';
import { killSeries } from './series.ts';
import type { StoryArgs } from './victim.ts';

export interface CrashBackend {
  readonly kind: 'sqlite' | 'postgres';
  /** A fresh place for one execution, with the victim's arguments and the test's own view. */
  place(folder: string): Promise<string>;
  open(place: string): Promise<CoordinatorStore>;
  /** Removes the place at the end. */
  clear?(place: string): Promise<void>;
}

interface Ending {
  readonly wasKilled: boolean;
  readonly commits: number;
}

/** The execution under test, and its result without a kill. */
interface Story {
  readonly name: StoryArgs['story'];
  readonly status: string;
  readonly records: readonly string[];
  readonly effects: number;
  /** Pairs of effects, by the end of their keys: the first comes before the second. */
  readonly order: readonly (readonly [string, string])[];
  /** The smallest plausible number of submits, claims, steps, parks and ends. Default 15. */
  readonly commitsMin?: number;
  /** How many points `npm test` kills at. */
  readonly points: number;
}

interface Point {
  readonly phase: 'before' | 'after';
  readonly n: number;
}

const ORDER: Story = {
  name: 'order',
  status: 'completed',
  records: [],
  effects: 7,
  order: [],
  points: 2,
};
const SAGA: Story = {
  name: 'saga',
  status: 'compensated',
  records: ['boss answer'],
  effects: 4,
  order: [
    ['/step:charge#1', 'undo:step:charge#1'],
    ['/undo:step:charge#1', 'undo:step:reserve#1'],
  ],
  points: 2,
};

/** Y-10: the dead letter is stored together with the end. */
const LETTER: Story = {
  name: 'letter',
  status: 'failed',
  records: [],
  effects: 2,
  order: [],
  commitsMin: 4,
  points: 2,
};

/** Every effect is in a block of one lease, so all fences are those of one resource. */
const LEASED: Story = {
  name: 'leased',
  status: 'completed',
  records: [],
  effects: 3,
  order: [['/step:take#1', '/step:count#1']],
  commitsMin: 5,
  points: 2,
};

interface Final {
  readonly status: string;
  readonly output: unknown;
  /** J-1: the operations of people, each once. */
  readonly records: readonly string[];
  readonly children: readonly string[];
  /** The effects of the code, without times and workers. */
  readonly facts: readonly string[];
  readonly attachments: readonly string[];
  readonly letters: readonly string[];
}

const COMMITS_MIN = 15;
const LIVES_MAX = 5;

export function registerEveryCommit(backend: CrashBackend): void {
  test(`${backend.kind}: P3, X-24: an execution killed at every commit ends as if no process had died`, (t) =>
    killEverywhere(backend, ORDER, t));
  test(`${backend.kind}: X-103: no submit is lost or doubled when a process dies at a commit`, (t) =>
    killSeries(backend, t));
  // `npm test` kills these on SQLite only.
  if (backend.kind !== 'sqlite' && !isFullRun()) return;
  test(`${backend.kind}: Y-1, Y-4, J-1: a saga killed at every commit is undone, once and in order, and its answer recorded once`, (t) =>
    killEverywhere(backend, SAGA, t));
  test(`${backend.kind}: X-106, X-107: an execution killed at every commit holds its lease again under a higher fence`, (t) =>
    killEverywhere(backend, LEASED, t));
  test(`${backend.kind}: Y-10: a failing execution killed at every commit leaves one dead letter`, (t) =>
    killEverywhere(backend, LETTER, t));
}

async function killEverywhere(backend: CrashBackend, story: Story, t: TestContext): Promise<void> {
  const calm = await live(backend, story, undefined);
  assert.equal(calm.final.status, story.status);
  assert.deepEqual(calm.final.records, story.records);
  assert.equal(calm.final.letters.length, story.status === 'failed' ? 1 : 0);
  if (!isFullRun()) return killAtSome(backend, story, calm);
  const deaths = await Promise.all([
    killEach(backend, story, { phase: 'before', calm: calm.final }),
    killEach(backend, story, { phase: 'after', calm: calm.final }),
  ]);
  t.diagnostic(`${calm.commits} commits when calm, ${deaths.join(' + ')} deaths`);
}

async function killAtSome(
  backend: CrashBackend,
  story: Story,
  calm: { readonly commits: number; readonly final: Final },
): Promise<void> {
  const all = Array.from({ length: calm.commits }, (_, index): readonly Point[] => [
    { phase: 'before', n: index + 1 },
    { phase: 'after', n: index + 1 },
  ]).flat();
  const family = `crash points, ${backend.kind}, ${story.name}`;
  await Promise.all(
    sample(family, all, story.points).map((point) =>
      killAt(backend, story, { ...point, calm: calm.final }),
    ),
  );
}

/** One run with one kill, which must end as the run without a kill did. */
async function killAt(
  backend: CrashBackend,
  story: Story,
  { calm, ...point }: Point & { readonly calm: Final },
): Promise<Ending> {
  const when = `killed ${point.phase} commit ${point.n}`;
  const lived = await live(backend, story, point);
  assert.deepEqual(lived.final, calm, when);
  checkEffects(lived.effects, story, when);
  return lived;
}

/**
 * Kills at the first commit, at the second and so on, until a run has fewer commits. So every
 * commit that the store counted was the last of some process. Returns how many there were.
 */
async function killEach(
  backend: CrashBackend,
  story: Story,
  { phase, calm }: { readonly phase: 'before' | 'after'; readonly calm: Final },
): Promise<number> {
  for (let n = 1; ; n += 1) {
    const when = `killed ${phase} commit ${n}`;
    const lived = await killAt(backend, story, { phase, n, calm });
    if (lived.wasKilled) continue;
    assert.ok(lived.commits < n, `${when}: it counted ${lived.commits} commits and was not killed`);
    assert.ok(
      n > (story.commitsMin ?? COMMITS_MIN),
      `${when}: only ${lived.commits} commits were counted`,
    );
    return n - 1;
  }
}

/** One run of the execution with at most one kill, and its final state. */
async function live(
  backend: CrashBackend,
  story: Story,
  dieAt: StoryArgs['dieAt'],
): Promise<Ending & { readonly final: Final; readonly effects: readonly Effect[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'hf-crash-'));
  try {
    const place = await backend.place(folder);
    const effects = join(folder, 'effects.jsonl');
    await writeFile(effects, '');
    const store = { kind: backend.kind, place };
    const args: StoryArgs = { store, effects, story: story.name };
    let ending = await runVictim({ ...args, ...(dieAt === undefined ? {} : { dieAt }) });
    const { wasKilled } = ending;
    for (let tries = 1; ending.wasKilled && tries < LIVES_MAX; tries += 1) {
      ending = await runVictim(args);
    }
    const final = await finalState(backend, place);
    await backend.clear?.(place);
    const lines = (await readFile(effects, 'utf8')).split('\n').filter((line) => line !== '');
    return {
      wasKilled,
      commits: ending.commits,
      final,
      effects: lines.map((line) => JSON.parse(line) as Effect),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function runVictim(args: StoryArgs): Promise<Ending> {
  const file = join(import.meta.dirname, 'victim.ts');
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [file, JSON.stringify(args)],
      { timeout: 60_000 },
      (error, stdout, stderr) => {
        if (error === null) resolve({ wasKilled: false, ...JSON.parse(stdout) });
        else if (error.signal === 'SIGKILL') resolve({ wasKilled: true, commits: 0 });
        else
          reject(
            new Error(`The victim failed (${error.signal ?? error.code}): ${stdout}\n${stderr}`),
          );
      },
    );
  });
}

async function finalState(backend: CrashBackend, place: string): Promise<Final> {
  const store = await backend.open(place);
  try {
    const holdfast = new Holdfast({ store });
    const { items } = await holdfast.list();
    const [order, ...others] = items.filter(({ parent }) => parent === undefined);
    assert.equal(others.length, 0, 'the order was submitted once');
    assert.ok(order !== undefined);
    const children = items.filter(({ parent }) => parent?.id === order.id);
    const history = await holdfast.history(order.id);
    assert.deepEqual(
      history.map(({ seq }) => seq),
      history.map((_, index) => index + 1),
      'X-4: history has no gaps',
    );
    const attachments = await holdfast.attachments(order.id);
    const output = order.status === 'completed' ? await holdfast.result(order.id) : undefined;
    const letters = (await holdfast.repair.deadLetters()).items;
    const pending = await holdfast.awaits.list({ open: true });
    assert.deepEqual(pending.items, [], 'W-9: nothing is left pending');
    const operations = await holdfast.audit.list();
    const records = operations.items.map(({ actor, action }) => `${actor} ${action}`);
    await holdfast.close();
    return {
      records,
      status: order.status,
      output,
      children: children.map(({ status, input }) => `${input} ${status}`).sort(),
      facts: history
        .filter(({ kind }) => FACTS.has(kind))
        .map(({ kind, name }) => `${kind} ${name ?? ''}`)
        .sort(),
      attachments: attachments.map(({ name, bytes }) => `${name} ${bytes}`),
      letters: letters.map(({ status, step, reason }) => `${status} ${step}: ${reason}`),
    };
  } finally {
    await store.close();
  }
}

/** Events of the code. Claims and parks depend on the kills. */
const FACTS: ReadonlySet<string> = new Set([
  ...['step-completed', 'timer-fired', 'child-spawned', 'child-ended', 'attached', 'completed'],
  ...['await-opened', 'await-settled', 'compensating', 'compensated', 'lease-ended'],
]);

/** P1: later attempts of one effect have higher fences, and one kill repeats at most one step. */
function checkEffects(effects: readonly Effect[], story: Story, when: string): void {
  const fences = new Map<string, number>();
  for (const { key, fence } of effects) {
    assert.ok(
      fence > (fences.get(key) ?? 0),
      `${when}: ${key} ran again under a fence that is not higher`,
    );
    fences.set(key, fence);
  }
  if (story.name === 'leased') {
    const shown = effects.map(({ fence }) => fence);
    const isOrdered = shown.every((fence, nth) => nth === 0 || fence >= (shown[nth - 1] ?? 0));
    assert.ok(isOrdered, `${when}: the resource saw the fences ${shown.join(', ')}`);
  }
  assert.equal(fences.size, story.effects, `${when}: all effects happened`);
  const repeated = effects.length - story.effects;
  assert.ok(repeated <= 1, `${when}: ${repeated} effects were repeated by one death`);
  for (const [first, second] of story.order) {
    const last = effects.findLastIndex(({ key }) => key.endsWith(first));
    const next = effects.findIndex(({ key }) => key.endsWith(second));
    assert.ok(last >= 0 && last < next, `${when}: ${second} did not come after ${first}`);
  }
}
