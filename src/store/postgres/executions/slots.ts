// The slots of concurrency keys. A transaction locks the key's row before it changes it, and
// locks several rows in the order of project and key.

import { type ConcurrencySlots, passGates } from '../../../execution/decide/gates.ts';
import type { ExecutionRecord, Submission } from '../../../execution/execution.ts';
import type { Instant } from '../../../support/clock.ts';
import { type ExecutionRow, toExecution } from '../../execution-rows.ts';
import { saveExecution } from '../../sql/changes.ts';
import { EXECUTION_COLUMNS } from '../../sql/executions.ts';
import { type Queries, statement } from '../database.ts';
import { play } from '../gateway.ts';
import { equalsByIndex } from '../predicates.ts';
import { numbers, texts, uuids } from './arrays.ts';
import { lockRates, rateNameOf, saveRates } from './rates.ts';

const MAKE_SLOTS = statement(`
  insert into hf.place (project, key, slots)
  select u.project, u.key, u.slots
    from unnest($1::text[], $2::text[], $3::integer[]) as u(project, key, slots)
      on conflict (project, key) do nothing`);

const LOCK_SLOTS = statement(`
  select p.project, p.key, p.slots, p.taken
    from (select u.project, u.key from unnest($1::text[], $2::text[]) as u(project, key) order by u.project collate "C", u.key collate "C") u
   cross join lateral (
         select p.*
           from hf.place p
          where p.project = u.project
            and p.key = u.key
            for no key update of p
         ) p`);

const SET_SLOTS = statement(`
  update hf.place p
     set slots = u.slots,
         taken = u.taken
    from unnest($1::text[], $2::text[], $3::integer[], $4::integer[]) as u(project, key, slots, taken)
   where ${equalsByIndex('p.project', 'u.project')}
     and p.key = u.key`);

export interface SlotEntry {
  readonly slots: ConcurrencySlots;
  readonly of: readonly string[];
}

export type SlotBook = Map<string, SlotEntry>;

export function nameOf({ project, concurrency }: Submission): string {
  return JSON.stringify([project, concurrency?.key]);
}

/** Locks the concurrency keys of all these submissions. */
export async function lockSlots(
  queries: Queries,
  submissions: readonly Submission[],
): Promise<SlotBook> {
  const keyed = new Map<string, { of: readonly [string, string]; slots: number }>();
  for (const submission of submissions) {
    const { project, concurrency } = submission;
    if (concurrency === undefined) continue;
    keyed.set(nameOf(submission), { of: [project, concurrency.key], slots: concurrency.limit });
  }
  const wanted = [...keyed.values()];
  if (wanted.length === 0) return new Map();
  const projects = texts(wanted.map(({ of }) => of[0]));
  const keys = texts(wanted.map(({ of }) => of[1]));
  const slots = numbers(wanted.map((each) => each.slots));
  for (;;) {
    await queries.rows(MAKE_SLOTS, [projects, keys, slots]);
    const rows = await queries.rows<SlotRow & object>(LOCK_SLOTS, [projects, keys]);
    // Maintenance may have deleted an existing key in between. The next round inserts and
    // locks it.
    if (rows.length === wanted.length) return new Map(rows.map(toEntry));
  }
}

interface SlotRow {
  readonly project: string;
  readonly key: string;
  readonly slots: number;
  readonly taken: number;
}

function toEntry({ project, key, slots, taken }: SlotRow): [string, SlotEntry] {
  const entry = { slots: { taken, limit: slots }, of: [project, key] } as const;
  return [JSON.stringify([project, key]), entry];
}

export async function saveSlots(queries: Queries, book: SlotBook): Promise<void> {
  if (book.size === 0) return;
  const all = [...book.values()];
  await queries.rows(SET_SLOTS, [
    texts(all.map(({ of }) => of[0] ?? '')),
    texts(all.map(({ of }) => of[1] ?? '')),
    numbers(all.map(({ slots }) => slots.limit)),
    numbers(all.map(({ slots }) => slots.taken)),
  ]);
}

// The next execution that waits for a slot of this key and nothing else: interactive first, then
// the longest waiting.
const NEXT = statement(`
  select ${EXECUTION_COLUMNS.postgres}
    from hf.execution e
   where e.project = $1
     and e.place_key = $2
     and e.hold = 4 -- guard: behind
     and e.id <> all ($3::uuid[]) -- guard: newcomer
   order by e.lane, e.ready_at, e.id
   limit 1
     for no key update of e`);

const COUNT_WAITING = statement(`
  select count(*)::integer as n
    from (select from hf.execution e where e.project = $1 and e.place_key = $2 and e.hold = 4 limit $3) e`);

const TIME = statement('select hf_now() as now');

/** Hands on the slot of an ended execution, unless the limit was lowered. */
export async function freeSlot(
  queries: Queries,
  ended: ExecutionRecord,
  now: Instant,
): Promise<void> {
  if (!ended.hasSlot || ended.concurrency === undefined) return;
  const book = await lockSlots(queries, [ended]);
  const [entry] = book.values();
  if (entry === undefined) return;
  await handOn(queries, { entry, taken: entry.slots.taken - 1, now });
}

/** Counts the executions that would get a slot of a locked key if it had this limit. */
export async function countHanded(
  queries: Queries,
  { slots, of }: SlotEntry,
  limit: number,
): Promise<number> {
  // With the current limit, no execution waits while a slot is free.
  if (limit <= slots.limit) return 0;
  const free = Math.max(0, limit - slots.taken);
  const [row] = await queries.rows<{ n: number }>(COUNT_WAITING, [...of, free]);
  return row?.n ?? 0;
}

/**
 * Sets the limit of locked keys to that of the last submit, also for waiting executions, which come
 * before these submits.
 */
export async function saveLimits(
  queries: Queries,
  book: SlotBook,
  submits: readonly Submission[],
): Promise<void> {
  const newcomers = uuids(submits.map(({ id }) => id));
  for (const [name, entry] of book) {
    const limits = submits.flatMap((submit) =>
      submit.concurrency === undefined || nameOf(submit) !== name ? [] : submit.concurrency.limit,
    );
    const limit = limits.at(-1);
    if (limit === undefined) continue;
    let { taken } = entry.slots;
    const highest = Math.max(...limits);
    if (highest > entry.slots.limit) {
      const [time] = await queries.rows<{ now: Instant }>(TIME, []);
      const raised = { ...entry, slots: { taken, limit: highest } };
      const now = time?.now ?? (0 as Instant);
      taken += await handOn(queries, { entry: raised, taken, now, newcomers });
    }
    book.set(name, { ...entry, slots: { taken, limit } });
  }
  await saveSlots(queries, book);
}

const NO_IDS = uuids([]);

interface Handing {
  readonly entry: SlotEntry;
  readonly taken: number;
  readonly now: Instant;
  readonly newcomers?: string;
}

/**
 * Stores the number of taken slots of a locked key and hands free ones to waiting executions.
 * Returns the number of those.
 */
export async function handOn(
  queries: Queries,
  { entry, taken: before, now, newcomers = NO_IDS }: Handing,
): Promise<number> {
  let taken = before;
  const { limit } = entry.slots;
  while (taken < limit) {
    const [row] = await queries.rows<ExecutionRow & object>(NEXT, [...entry.of, newcomers]);
    if (row === undefined) break;
    const next = toExecution(row);
    const rates = await lockRates(queries, [next]);
    const name = rateNameOf(next);
    const rate = rates.get(name);
    const handed = passGates(next, rate?.state, now);
    await play(queries, saveExecution(handed.execution));
    if (rate !== undefined) rates.set(name, { ...rate, state: handed.rate });
    await saveRates(queries, rates);
    taken += 1;
  }
  await saveSlots(queries, new Map([['', { ...entry, slots: { taken, limit } }]]));
  return taken - before;
}
