// What a re-drive reads of the execution that it repairs, and what it leaves: history that is reused, and
// the mark on the dead letter.

import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import type { Redrive } from '../../../features/repair/port.ts';
import type { Instant } from '../../../support/clock.ts';
import { type ExecutionRow, TERMINAL_FROM, toExecution } from '../../execution-rows.ts';
import { type Queries, statement } from '../database.ts';
import { lookUp } from '../predicates.ts';
import { numbers, uuids } from './arrays.ts';
import { eventColumns } from './items.ts';
import { EXECUTION_COLUMNS } from './rows.ts';

// Two re-drives of one execution come one after the other; the unique index is what holds (Y-21).
const LOCK = statement(`
  select ${EXECUTION_COLUMNS}
    from (select u.id from unnest($1::uuid[]) as u(id) order by u.id) u
   cross join lateral (
         select e.*
           from hf.execution e
          where e.id = u.id
            for no key update of e
         ) e`);

// A plan that is made while the table is empty would go through all of it: `offset 0` leaves it no choice.
const OPEN = statement(`
  select e.redrive_of, e.id
    from unnest($1::uuid[]) as u(id)
   cross join lateral (
         select e.*
           from hf.execution e
          where e.redrive_of = u.id
            and e.redrive_of is not null
            and e.status < ${TERMINAL_FROM}
         offset 0
         ) e`);

const BY_ID = statement(`
  select ${EXECUTION_COLUMNS}
    from unnest($1::uuid[]) as u(id)
   cross join lateral (select e.* from hf.execution e where e.id = u.id offset 0) e`);

const TIME = statement('select hf_now() as now');

export interface RedriveViews {
  readonly now: Instant;
  readonly ended: ReadonlyMap<ExecutionId, ExecutionRecord>;
  /** The open re-drive of each that has one. */
  readonly open: ReadonlyMap<ExecutionId, ExecutionId>;
  readonly byId: ReadonlyMap<ExecutionId, ExecutionRecord>;
}

export async function lockForRedrive(
  queries: Queries,
  requests: readonly Redrive[],
): Promise<RedriveViews> {
  const targets = uuids(requests.map(({ of }) => of));
  const ended = await queries.rows<ExecutionRow & object>(LOCK, [targets]);
  type Row = { redrive_of: ExecutionId; id: ExecutionId };
  const open = await queries.rows<Row>(OPEN, [targets]);
  const ids = uuids(requests.map(({ submit }) => submit.id));
  const byId = await queries.rows<ExecutionRow & object>(BY_ID, [ids]);
  const [time] = await queries.rows<{ now: number }>(TIME, []);
  return {
    now: (time?.now ?? 0) as Instant,
    ended: byIdOf(ended),
    open: new Map(open.map(({ redrive_of, id }) => [redrive_of, id])),
    byId: byIdOf(byId),
  };
}

function byIdOf(rows: readonly ExecutionRow[]): ReadonlyMap<ExecutionId, ExecutionRecord> {
  return new Map(rows.map(toExecution).map((execution) => [execution.id, execution]));
}

// At the time at which it was submitted, as if all of it had come then.
const APPEND = statement(`
  insert into hf.history (execution_id, seq, at, kind, name, body)
  select u.id, u.seq, (select h.at from hf.history h where h.execution_id = u.id and h.seq = 1), u.kind, u.name, u.body
    from unnest($1::uuid[], $2::integer[], $3::text[], $4::text[], $5::text[]) as u(id, seq, kind, name, body)`);

/** Bounds how much is sent at once; one execution may have a long history. */
const EVENTS_MAX = 5_000;

/** Y-20: what is reused follows `submitted`. */
export async function appendReused(queries: Queries, done: readonly Redrive[]): Promise<void> {
  const all = done.flatMap(({ submit, events }) =>
    events.map((event, nth) => ({ id: submit.id, seq: nth + 2, event })),
  );
  for (let from = 0; from < all.length; from += EVENTS_MAX) {
    const some = all.slice(from, from + EVENTS_MAX);
    await queries.rows(APPEND, [
      uuids(some.map(({ id }) => id)),
      numbers(some.map(({ seq }) => seq)),
      ...eventColumns(some.map(({ event }) => event)),
    ]);
  }
}

const MARK = statement(`
  update hf.dead_letter d
     set redriven_by = u.made
    from unnest($1::uuid[], $2::uuid[]) as u(id, made)
   where ${lookUp('d.execution_id', 'u.id')}`);

/** Y-22: where there is one. */
export async function markRedriven(queries: Queries, done: readonly Redrive[]): Promise<void> {
  await queries.rows(MARK, [
    uuids(done.map(({ of }) => of)),
    uuids(done.map(({ submit }) => submit.id)),
  ]);
}
