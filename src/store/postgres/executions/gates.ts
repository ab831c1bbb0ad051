// Admission. It lets ready gated executions through, holds them until a slot is free, or
// gives them a later turn. It follows the order of the claim and stops when that claim has enough.

import { decideGate } from '../../../execution/decide/gates.ts';
import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { Instant } from '../../../support/clock.ts';
import { holdsOf, toExecution } from '../../execution-rows.ts';
import { EXECUTION_COLUMNS, type LockedRow } from '../../sql/executions.ts';
import { type Queries, statement } from '../database.ts';
import { equalsByIndex } from '../predicates.ts';
import { numbers, uuids } from './arrays.ts';
import { CANDIDATES, type ClaimValues } from './claim-statement.ts';
import { lockRates, type RateBook, rateNameOf, type Started, saveStarts } from './rates.ts';
import { lockSlots, nameOf, type SlotBook, saveSlots } from './slots.ts';

/** The number of gated executions that one round reads per pipeline, lane and project. */
const GATED_MAX = 250;

interface Candidate {
  readonly lane: number;
  readonly project: string;
  readonly part: number;
  readonly projects: number;
  readonly id: string;
  readonly gated: boolean;
}

// Skips rows that another transaction has locked, because that one decides about them. So a claim
// that finds nothing does not prove that there is no work.
const LOCK = statement(`
  select ${EXECUTION_COLUMNS.postgres}, hf_now() as now
    from (select u.id from unnest($1::uuid[]) as u(id) order by u.id) u
   cross join lateral (
         select e.*
           from hf.execution e
          where e.id = u.id
            and e.gated -- guard: gated
            and e.hold = 0 -- guard: hold
            and coalesce(e.ready_at <= hf_now(), false) -- guard: ready
            for no key update of e skip locked
         ) e`);

const SAVE = statement(`
  update hf.execution e
     set hold      = u.hold,
         gated     = u.gated,
         has_place = u.has_place,
         ready_at  = u.ready_at
    from unnest($1::uuid[], $2::smallint[], $3::boolean[], $4::boolean[], $5::bigint[]) as u(id, hold, gated, has_place, ready_at)
   where ${equalsByIndex('e.id', 'u.id')}`);

interface Admitted {
  /** The number of projects with ready executions before the gates were processed, by lane. */
  readonly projects: ReadonlyMap<number, number>;
  /** Some spot could give more, and not all gated executions were read. */
  readonly isMore: boolean;
  /**
   * Call this at the end of the transaction. It counts the starts of claimed executions, and puts
   * back those that were let through but not claimed. Returns true if there were any of the latter.
   */
  settle(claimed: readonly Started[]): Promise<boolean>;
}

/**
 * Runs in the transaction of the claim, so that others cannot read the same keys before it commits.
 */
export async function admit(
  queries: Queries,
  base: ClaimValues,
  known: string | null,
): Promise<Admitted> {
  const values = [...base, GATED_MAX, known];
  const candidates = await queries.rows<Candidate & object>(CANDIDATES, values);
  const gated = candidates.filter((each) => each.gated).map(({ id }) => id);
  const rows = await queries.rows<LockedRow>(LOCK, [uuids(gated)]);
  const executions = rows.map(toExecution);
  const slots = await lockSlots(queries, executions);
  const rates = await lockRates(queries, executions);
  const gates: Gates = {
    locked: new Map(executions.map((each) => [each.id as string, each])),
    slots,
    rates: new Map(rates),
    changed: [],
    starting: new Map(),
    now: (rows[0]?.now ?? 0) as Instant,
  };
  const isMore = goThrough(candidates, gates);
  await saveAll(queries, gates);
  return {
    projects: new Map(candidates.map((each) => [each.lane, each.projects])),
    isMore,
    settle: (claimed) => saveStarts(queries, { ...gates, before: rates, claimed }),
  };
}

interface Gates {
  readonly locked: ReadonlyMap<string, ExecutionRecord>;
  readonly slots: SlotBook;
  readonly rates: RateBook;
  readonly changed: ExecutionRecord[];
  /** The executions that start with this claim, with the names of their rate keys. */
  readonly starting: Map<string, string>;
  readonly now: Instant;
}

/**
 * Walks the candidates in the claim's order, until each lane and project has its part. Returns true
 * if there may be more.
 */
function goThrough(candidates: readonly Candidate[], gates: Gates): boolean {
  const spots = new Map<string, { claimable: number; gated: number; part: number }>();
  for (const { id, lane, project, part, gated } of candidates) {
    const name = `${lane} ${project}`;
    const spot = spots.get(name) ?? { claimable: 0, gated: 0, part };
    spots.set(name, spot);
    if (spot.claimable >= part) continue;
    if (gated) spot.gated += 1;
    const execution = gates.locked.get(id);
    if (!gated || (execution !== undefined && passGate(execution, gates))) spot.claimable += 1;
  }
  return [...spots.values()].some((spot) => spot.claimable < spot.part && spot.gated >= GATED_MAX);
}

/** Returns true if a claim may take it now. */
function passGate(execution: ExecutionRecord, gates: Gates): boolean {
  const { slots, rates, now } = gates;
  const name = nameOf(execution);
  const entry = execution.concurrency === undefined ? undefined : slots.get(name);
  const rate = rates.get(rateNameOf(execution));
  const view = { execution, slots: entry?.slots, rate: rate?.state };
  const decision = decideGate(view, now);
  gates.changed.push(decision.execution);
  if (decision.kind === 'over-limit') return false;
  if (entry !== undefined && !execution.hasSlot) {
    const { taken, limit } = entry.slots;
    slots.set(name, { ...entry, slots: { taken: taken + 1, limit } });
  }
  if (rate !== undefined) rates.set(rateNameOf(execution), { ...rate, state: decision.rate });
  if (decision.kind === 'later') return false;
  if (rate !== undefined) gates.starting.set(execution.id, rateNameOf(execution));
  return true;
}

async function saveAll(queries: Queries, { changed, slots }: Gates): Promise<void> {
  if (changed.length === 0) return;
  await queries.rows(SAVE, [
    uuids(changed.map(({ id }) => id)),
    numbers(changed.map(holdsOf)),
    `{${changed.map(({ gated }) => gated).join(',')}}`,
    `{${changed.map(({ hasSlot }) => hasSlot).join(',')}}`,
    numbers(changed.map(({ readyAt }) => readyAt ?? 0)),
  ]);
  await saveSlots(queries, slots);
}
