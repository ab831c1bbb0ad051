// Limits by key. SQLite has one writer at a time, so the key's row needs no lock of its own.

import {
  type ConcurrencySlots,
  decideGate,
  hasFreeSlot,
  passGates,
  type RateState,
} from '../../../execution/decide/gates.ts';
import type { ExecutionRecord, Submission } from '../../../execution/execution.ts';
import type { Instant } from '../../../support/clock.ts';
import { type ExecutionRow, toExecution } from '../../execution-rows.ts';
import { positional } from '../connection.ts';
import type { Transaction } from '../transaction.ts';
import { COLUMNS, loadRows } from './load-execution.ts';

const NOTE_LIMIT = `
  insert into place (project, key, slots, taken)
  values (:project, :key, :limit, 0)
  on conflict (project, key) do update
     set slots = excluded.slots`;

const LOAD_SLOTS = 'select slots, taken from place where project = :project and key = :key';

const TAKE_SLOTS = `
  insert into place (project, key, slots, taken)
  values (:project, :key, :limit, :change)
  on conflict (project, key) do update
     set taken = max(0, taken + :change)`;

const HOLD_BACK = `
  update execution
     set hold = hold | 4
   where id = :id`;

const PASS_GATES = `
  update execution
     set hold = 0,
         gated = :gated,
         has_place = :hasSlot,
         ready_at = :readyAt
   where id = :id`;

// The next execution that waits only for a slot: interactive before batch, then the longest
// waiting.
const NEXT_IN_QUEUE = positional(
  'project key',
  `
  select ${COLUMNS}
    from execution indexed by execution_behind
   where project = :project
     and place_key = :key
     and hold >= 4
     and hold = 4 -- guard: hold
     and gated = 1
   order by lane, ready_at, id
   limit 1`,
);

type Keyed = Pick<Submission, 'project' | 'concurrency'>;

/**
 * The last submit sets the limit, also for executions that already wait. Returns true if all slots
 * are taken.
 */
export function noteLimit(tx: Transaction, { project, concurrency }: Keyed): boolean {
  if (concurrency === undefined) return false;
  const { key, limit } = concurrency;
  tx.run(NOTE_LIMIT, { project, key, limit });
  return handOn(tx, { project, concurrency }) === 'none-free';
}

/** Returns the execution if it may be claimed now. Otherwise it gets a hold or a later time. */
export function passGate(tx: Transaction, row: ExecutionRow): ExecutionRecord | undefined {
  const execution = toExecution(row);
  const slots = slotsOf(tx, execution);
  const decision = decideGate({ execution, slots, rate: rateOf(tx, execution) }, tx.now);
  if (decision.kind === 'over-limit') {
    tx.run(HOLD_BACK, { id: row.id });
    return undefined;
  }
  admit(tx, execution, decision);
  return decision.kind === 'pass' ? decision.execution : undefined;
}

/** Hands on the slot of an execution that ended. */
export function freeSlot(tx: Transaction, ended: ExecutionRow): void {
  const { project, concurrency } = toExecution(ended);
  if (concurrency === undefined) return;
  changeTaken(tx, { project, concurrency }, -1);
  handOn(tx, { project, concurrency });
}

/** Hands free slots to waiting executions, and returns why it stopped. */
export function handOn(
  tx: Transaction,
  { project, concurrency }: Pick<Keyed, 'project'> & Required<Pick<Keyed, 'concurrency'>>,
): 'none-free' | 'nobody-waits' {
  const { key } = concurrency;
  for (;;) {
    const slots = slotsOf(tx, { project, concurrency });
    if (slots !== undefined && !hasFreeSlot(slots)) return 'none-free';
    const next = loadRows(tx, NEXT_IN_QUEUE, project, key)[0];
    if (next === undefined) return 'nobody-waits';
    const execution = toExecution(next);
    admit(tx, execution, passGates(execution, rateOf(tx, execution), tx.now));
    tx.notify(project);
  }
}

/**
 * Stores that an execution was let through: its slot, its turn, and if it must ask again at that
 * time.
 */
function admit(
  tx: Transaction,
  before: ExecutionRecord,
  { execution, rate }: { readonly execution: ExecutionRecord; readonly rate?: RateState },
): void {
  const { id, gated, hasSlot, readyAt = tx.now } = execution;
  tx.run(PASS_GATES, { id, gated: gated ? 1 : 0, hasSlot: hasSlot ? 1 : 0, readyAt });
  if (!before.hasSlot) changeTaken(tx, execution, 1);
  keepRate(tx, execution, rate);
}

function changeTaken(tx: Transaction, { project, concurrency }: Keyed, change: 1 | -1): void {
  if (concurrency === undefined) return;
  const { key, limit } = concurrency;
  tx.run(TAKE_SLOTS, { project, key, limit, change });
}

interface SlotRow {
  readonly slots: number;
  readonly taken: number;
}

function toSlots({ slots, taken }: SlotRow): ConcurrencySlots {
  return { limit: slots, taken };
}

function slotsOf(tx: Transaction, { project, concurrency }: Keyed): ConcurrencySlots | undefined {
  if (concurrency === undefined) return undefined;
  const row = tx.get<SlotRow>(LOAD_SLOTS, { project, key: concurrency.key });
  return row === undefined ? { limit: concurrency.limit, taken: 0 } : toSlots(row);
}

// The turns of rate keys.

const LOAD_RATE = `
  select last_at, burst, per_ms, starts, late
    from rate
   where project = :project
     and key = :key`;

const KEEP_RATE = `
  insert into rate (project, key, last_at, burst, per_ms, starts, late)
  values (:project, :key, :lastAt, :left, :perMs, :starts, :late)
  on conflict (project, key) do update
     set last_at = excluded.last_at,
         burst = excluded.burst,
         per_ms = excluded.per_ms,
         starts = excluded.starts,
         late = excluded.late`;

type Rated = Pick<Submission, 'project' | 'rate'>;

interface RateRow {
  readonly last_at: Instant;
  readonly burst: number;
  readonly per_ms: number;
  readonly starts: string;
  readonly late: number;
}

function rateOf(tx: Transaction, { project, rate }: Rated): RateState | undefined {
  if (rate === undefined) return undefined;
  const row = tx.get<RateRow>(LOAD_RATE, { project, key: rate.key });
  if (row === undefined) return undefined;
  const { last_at: lastAt, burst: left, per_ms: perMs, starts, late } = row;
  return { lastAt, left, perMs, starts: JSON.parse(starts), late };
}

function keepRate(tx: Transaction, { project, rate }: Rated, state: RateState | undefined): void {
  if (rate === undefined || state === undefined) return;
  const { lastAt, left, perMs, late } = state;
  const starts = JSON.stringify(state.starts);
  tx.run(KEEP_RATE, { project, key: rate.key, lastAt, left, perMs, starts, late });
}
