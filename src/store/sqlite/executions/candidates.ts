// Which executions a claim may have. Everything is found by seeks: what has ended, what others
// want, what lies behind an exhausted key and what the living run costs nothing, however much it is.

import { fairPart, inTurn } from '../../../execution/decide/claim.ts';
import { isForAnnounced } from '../../../execution/route.ts';
import { positional } from '../connection.ts';
import type { Transaction } from '../transaction.ts';
import { passGate } from './gates.ts';
import { type ChangingRow, loadByRowId } from './load-execution.ts';
import { type Left, suspectAmong } from './lost.ts';
import { readyRows } from './ready-rows.ts';

export interface Wanted {
  readonly lane: number;
  readonly limit: number;
  /** With the release, where it is of one. */
  readonly pipelines: readonly string[];
  /** Project and route of what it may have of what is pinned (RE-9). */
  readonly announced: ReadonlySet<string>;
  /** Of all when undefined. */
  readonly project: string | undefined;
  /** What sessions that have ended left of these pipelines in this lane. */
  readonly left: readonly Left[];
  readonly dice: number | undefined;
}

export interface ClaimCandidate {
  readonly row: ChangingRow;
  /** Its session has ended under it. */
  readonly isLost: boolean;
}

// `hold = 0` is no guard: SQLite refuses the index without it. The first of the next project: a step over all
// else that this one has.
const NEXT_PROJECT = positional(
  'pipeline lane after',
  `
  select project, ready_at, id
    from execution indexed by execution_ready
   where pipeline = :pipeline
     and lane = :lane
     and project > :after
     and ready_at is not null
     and hold = 0
   order by project, ready_at, id
   limit 1`,
);

const FIRST_OF_PROJECT = positional(
  'pipeline lane project',
  `
  select ready_at, id
    from execution indexed by execution_ready
   where pipeline = :pipeline
     and lane = :lane
     and project = :project -- guard: project
     and ready_at is not null
     and hold = 0
   order by ready_at, id
   limit 1`,
);

/** So many are let through or held back by gates in one call; `more` says that there are others. */
const GATED_MAX = 1_000;

interface Head {
  readonly project: string;
  readonly pipeline: string;
  readonly readyAt: number;
  readonly id: string;
}

/** At most `limit`, no project more than its fair part; those with lost work, then the longest ready, or by dice. */
export function chooseCandidates(tx: Transaction, wanted: Wanted): readonly ClaimCandidate[] {
  const { limit, lane } = wanted;
  const left = Map.groupBy(lostIn(wanted), ({ project }) => project);
  const ready = readyPipelines(loadHeads(tx, wanted), tx.now);
  const projects = inTurn(new Set([...left.keys(), ...ready.keys()]), wanted.dice);
  const part = fairPart(limit, projects.length);
  const chosen: ClaimCandidate[] = [];
  for (const project of projects) {
    const upTo = Math.min(limit, chosen.length + part);
    const lost = (left.get(project) ?? []).slice(0, upTo - chosen.length);
    const rowIds = lost.map(({ rowId }) => rowId);
    for (const row of loadByRowId(tx, rowIds)) chosen.push({ row, isLost: true });
    const pipelines = ready.get(project) ?? [];
    takeReady(tx, chosen, { upTo, pipelines, lane, project });
  }
  return chosen;
}

/** one at most, before all others. */
export function chooseSuspect(
  tx: Transaction,
  wanted: readonly Wanted[],
  trying: Parameters<typeof suspectAmong>[2],
): readonly ClaimCandidate[] {
  const left = wanted.flatMap((each) => each.left);
  const suspect = suspectAmong(tx, left, trying);
  if (suspect === undefined) return [];
  return loadByRowId(tx, [suspect.rowId]).map((row) => ({ row, isLost: true }));
}

function lostIn({ left }: Wanted): readonly Left[] {
  return left.filter(({ isSuspect }) => !isSuspect);
}

/** Whoever is held back by a gate leaves the index, so that a look at the next page goes on. */
function takeReady(
  tx: Transaction,
  chosen: ClaimCandidate[],
  from: {
    readonly upTo: number;
    readonly pipelines: readonly string[];
    readonly lane: number;
    readonly project: string;
  },
): void {
  const { lane, project } = from;
  const taken = new Set<string>();
  let gated = 0;
  while (chosen.length < from.upTo && gated < GATED_MAX) {
    const missing = from.upTo - chosen.length;
    const pages = from.pipelines.map((pipeline) =>
      readyRows(tx, { pipeline, lane, project }, missing + taken.size),
    );
    const page = (pages.length === 1 ? (pages[0] ?? []) : pages.flat().sort(byReady)).filter(
      ({ id }) => !taken.has(id),
    );
    if (page.length === 0) return;
    for (const row of page.slice(0, missing)) {
      if (row.gated) {
        gated += 1;
        if (!isLetThrough(tx, row)) continue;
      }
      chosen.push({ row, isLost: false });
      taken.add(row.id);
    }
  }
}

function isLetThrough(tx: Transaction, row: ChangingRow): boolean {
  const execution = passGate(tx, row);
  if (execution === undefined) return false;
  row.gated = 0;
  row.has_place = execution.hasPlace ? 1 : 0;
  return true;
}

/** What the claimer may wait for, once it has taken what it may have. */
export function outlook(
  tx: Transaction,
  wanted: readonly Wanted[],
  taken: readonly ClaimCandidate[],
): { readonly more: boolean; readonly nextReadyInMs?: number } {
  const heads = wanted.flatMap((each) => loadHeads(tx, each));
  const takenIds = new Set(taken.flatMap(({ row, isLost }) => (isLost ? [row.row_id] : [])));
  const isLostLeft = wanted.some((each) => lostIn(each).some(({ rowId }) => !takenIds.has(rowId)));
  if (heads.length === 0) return { more: isLostLeft };
  // One for each project and pipeline, of which there may be any number.
  const next = heads.reduce((least, { readyAt }) => Math.min(least, readyAt), Infinity);
  const nextReadyInMs = Math.max(0, next - tx.now);
  return { more: isLostLeft || nextReadyInMs === 0, nextReadyInMs };
}

/** The first of every project and pipeline, whether it is ready already or not. */
function loadHeads(tx: Transaction, wanted: Wanted): readonly Head[] {
  const heads = allHeads(tx, wanted);
  if (!wanted.pipelines.some(isForAnnounced)) return heads;
  return heads.filter((head) => isAdmitted(wanted, head));
}

/** RE-9: what is pinned is for who announced its release, and so is what is asked of it. */
export function isAdmitted(
  { announced }: Pick<Wanted, 'announced'>,
  { project, pipeline }: { readonly project: string; readonly pipeline: string },
): boolean {
  return !isForAnnounced(pipeline) || announced.has(`${project}\0${pipeline}`);
}

type NextProject = readonly [project: string, readyAt: number, id: string];

function allHeads(tx: Transaction, { pipelines, lane, project }: Wanted): readonly Head[] {
  if (project !== undefined) return headsOf(tx, { pipelines, lane, project });
  const statement = tx.arrays<NextProject>(NEXT_PROJECT);
  const heads: Head[] = [];
  for (const pipeline of pipelines) {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const found: NextProject | undefined = statement.get(pipeline, lane, after);
      if (found !== undefined) {
        heads.push({ pipeline, project: found[0], readyAt: found[1], id: found[2] });
      }
      after = found?.[0];
    }
  }
  return heads;
}

function headsOf(
  tx: Transaction,
  { pipelines, lane, project }: Pick<Wanted, 'pipelines' | 'lane'> & { readonly project: string },
): readonly Head[] {
  const statement = tx.arrays<readonly [readyAt: number, id: string]>(FIRST_OF_PROJECT);
  return pipelines.flatMap((pipeline) => {
    const found = statement.get(pipeline, lane, project);
    return found === undefined ? [] : { pipeline, project, readyAt: found[0], id: found[1] };
  });
}

/** In which pipelines a project has something ready; projects by the longest ready first. */
function readyPipelines(
  heads: readonly Head[],
  now: number,
): ReadonlyMap<string, readonly string[]> {
  const ready = heads
    .filter(({ readyAt }) => readyAt <= now)
    .sort((a, b) => a.readyAt - b.readyAt || (a.id < b.id ? -1 : 1));
  const byProject = Map.groupBy(ready, ({ project }) => project);
  return new Map(
    [...byProject].map(([project, of]) => [project, of.map(({ pipeline }) => pipeline)]),
  );
}

function byReady(a: ChangingRow, b: ChangingRow): number {
  return (a.ready_at ?? 0) - (b.ready_at ?? 0) || (a.id < b.id ? -1 : 1);
}
