// Selects the executions that a claim may take. It finds them by index seeks. Ended
// executions, other pipelines, executions that wait for a slot and running ones cost nothing,
// however many there are.

import { fairPart, inTurn } from '../../../execution/decide/claim.ts';
import { isForAnnounced } from '../../../execution/route.ts';
import { positional } from '../connection.ts';
import type { Transaction } from '../transaction.ts';
import { passGate } from './gates.ts';
import { type ChangingRow, loadByRowId } from './load-execution.ts';
import { type Left, suspectAmong } from './lost.ts';
import { readyRows } from './ready-rows.ts';

interface Served {
  readonly lane: number;
  /** Each includes the release, if the worker announced one. */
  readonly pipelines: readonly string[];
  /** Project and route of the pinned executions that the worker may take (RE-9). */
  readonly announced: ReadonlySet<string>;
  /** All projects when undefined. */
  readonly project: string | undefined;
}

export interface Wanted extends Served {
  readonly limit: number;
  /** As `loadHeads` returned them before the claim took anything. */
  readonly heads: readonly Head[];
  /** Executions of these pipelines and this lane whose sessions have ended. */
  readonly left: readonly Left[];
  readonly dice: number | undefined;
}

export interface ClaimCandidate {
  readonly row: ChangingRow;
  /** The execution's session ended while it ran. */
  readonly isLost: boolean;
}

// `hold = 0` is not a guard: SQLite refuses to use the index without it. The statement finds the
// first execution of the next project, and so skips the rest of this one.
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

/**
 * The number of executions that gates let through or hold back in one call. `more` reports that
 * there are others.
 */
const GATED_MAX = 1_000;

interface Head {
  readonly project: string;
  readonly pipeline: string;
  readonly readyAt: number;
  readonly id: string;
}

/**
 * Chooses at most `limit` executions, and no more than its fair part per project. Projects with
 * lost work come first, then those ready for longest, or by dice.
 */
export function chooseCandidates(tx: Transaction, wanted: Wanted): readonly ClaimCandidate[] {
  const { limit, lane } = wanted;
  const left = Map.groupBy(lostIn(wanted), ({ project }) => project);
  const ready = readyPipelines(wanted.heads, tx.now);
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

/** Chooses at most one suspect, before all other executions. */
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

/** An execution that a gate holds back leaves the index, so the next page starts with others. */
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
        if (!passesGates(tx, row)) continue;
      }
      chosen.push({ row, isLost: false });
      taken.add(row.id);
    }
  }
}

function passesGates(tx: Transaction, row: ChangingRow): boolean {
  const execution = passGate(tx, row);
  if (execution === undefined) return false;
  row.gated = 0;
  row.has_place = execution.hasSlot ? 1 : 0;
  return true;
}

interface Looked {
  readonly chosen: readonly ClaimCandidate[];
  /** Dead sessions may have left more than this claim read. */
  readonly isPart: boolean;
}

/** Returns what the claimer can wait for after this claim. */
export function outlook(
  tx: Transaction,
  wanted: readonly Wanted[],
  { chosen, isPart }: Looked,
): { readonly more: boolean; readonly nextReadyInMs?: number } {
  // A claim changes no lane in which nothing was ready.
  const heads = wanted.flatMap((each) =>
    each.heads.some(({ readyAt }) => readyAt <= tx.now) ? loadHeads(tx, each) : each.heads,
  );
  const taken = new Set(chosen.flatMap(({ row, isLost }) => (isLost ? [row.row_id] : [])));
  // A claim that saw only a part, and took something, claims again at once to see the rest.
  const isLostLeft =
    (isPart && taken.size > 0) ||
    wanted.some((each) => lostIn(each).some(({ rowId }) => !taken.has(rowId)));
  if (heads.length === 0) return { more: isLostLeft };
  // There is one head per project and pipeline, and there may be any number of them, so spreading
  // them into `Math.min` could overflow the stack.
  const next = heads.reduce((least, { readyAt }) => Math.min(least, readyAt), Infinity);
  const nextReadyInMs = Math.max(0, next - tx.now);
  return { more: isLostLeft || nextReadyInMs === 0, nextReadyInMs };
}

/** Returns the first execution of every project and pipeline, ready or not. */
export function loadHeads(tx: Transaction, wanted: Served): readonly Head[] {
  const heads = allHeads(tx, wanted);
  if (!wanted.pipelines.some(isForAnnounced)) return heads;
  return heads.filter((head) => isAdmitted(wanted, head));
}

/**
 * Only a worker that announced the release may take executions pinned to it, and preflights of it
 * (RE-9).
 */
export function isAdmitted(
  { announced }: Pick<Served, 'announced'>,
  { project, pipeline }: { readonly project: string; readonly pipeline: string },
): boolean {
  return !isForAnnounced(pipeline) || announced.has(`${project}\0${pipeline}`);
}

type NextProject = readonly [project: string, readyAt: number, id: string];

function allHeads(tx: Transaction, { pipelines, lane, project }: Served): readonly Head[] {
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
  { pipelines, lane, project }: Pick<Served, 'pipelines' | 'lane'> & { readonly project: string },
): readonly Head[] {
  const statement = tx.arrays<readonly [readyAt: number, id: string]>(FIRST_OF_PROJECT);
  return pipelines.flatMap((pipeline) => {
    const found = statement.get(pipeline, lane, project);
    return found === undefined ? [] : { pipeline, project, readyAt: found[0], id: found[1] };
  });
}

/**
 * Returns the pipelines in which each project has ready work. Projects with the longest ready work
 * come first.
 */
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
