// Awaits as they are read and written. Whoever does so has the row of the execution locked; the unit's own
// lock keeps off who would forget to.

import type { CallKey, ExecutionId, InteractionId } from '../../../execution/names.ts';
import type { LateAnswer } from '../../../features/awaits/decide.ts';
import {
  type AwaitUnit,
  type Interaction,
  LATE_ANSWERS_MAX,
} from '../../../features/awaits/model.ts';
import {
  AWAIT_CODES,
  type AwaitUnitRow,
  fromAwaitUnit,
  fromInteraction,
  INTERACTION_CODES,
  type InteractionRow,
  toAwaitUnit,
  toInteraction,
} from '../../../features/awaits/rows.ts';
import type { Instant } from '../../../support/clock.ts';
import { type Queries, statement } from '../database.ts';
import { lookUp } from '../predicates.ts';
import { numbers, sparse, texts, uuids } from './arrays.ts';

const INTERACTION_COLUMNS =
  'i.id, i.execution_id, i.call, i.item, i.project, i.status, i.request, i.assignee, i.answer, i.digest, i.answered_by, i.answered_at, i.verified, i.late';

const SAVE_UNITS = statement(`
  insert into hf.await_unit as u (execution_id, call, project, pipeline, name, status, items, needed, answered, opened_at, settled_at, due_at, next_at, about)
  select n.*
    from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::smallint[], $7::integer[], $8::integer[], $9::integer[],
                $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::text[]) as n
      on conflict (execution_id, call) do update
     set status     = excluded.status,
         answered   = excluded.answered,
         settled_at = excluded.settled_at,
         due_at     = excluded.due_at,
         next_at    = excluded.next_at,
         about      = excluded.about`);

export async function saveUnits(queries: Queries, units: readonly AwaitUnit[]): Promise<void> {
  const rows = units.map(fromAwaitUnit);
  if (rows.length === 0) return;
  await queries.rows(SAVE_UNITS, [
    uuids(rows.map((row) => row.execution_id)),
    texts(rows.map(({ call }) => call)),
    texts(rows.map(({ project }) => project)),
    texts(rows.map(({ pipeline }) => pipeline)),
    texts(rows.map(({ name }) => name)),
    numbers(rows.map(({ status }) => status)),
    numbers(rows.map(({ items }) => items)),
    numbers(rows.map(({ needed }) => needed)),
    numbers(rows.map(({ answered }) => answered)),
    numbers(rows.map((row) => row.opened_at)),
    sparse(rows.map((row) => row.settled_at)),
    sparse(rows.map((row) => row.due_at)),
    sparse(rows.map((row) => row.next_at)),
    texts(rows.map(({ about }) => about)),
  ]);
}

// An early answer has a row before its unit has one (W-2).
const SAVE_INTERACTIONS = statement(`
  insert into hf.interaction as i (id, execution_id, call, item, project, status, late, name, request, assignee, answer, digest, answered_by, answered_at, verified)
  select n.*
    from unnest($1::text[], $2::uuid[], $3::text[], $4::integer[], $5::text[], $6::smallint[], $7::integer[], $8::text[], $9::text[],
                $10::text[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::boolean[]) as n
      on conflict (id) do update
     set status      = excluded.status,
         late        = excluded.late,
         name        = excluded.name,
         request     = excluded.request,
         assignee    = excluded.assignee,
         answer      = excluded.answer,
         digest      = excluded.digest,
         answered_by = excluded.answered_by,
         answered_at = excluded.answered_at,
         verified    = excluded.verified
   where i.execution_id = excluded.execution_id -- guard: own`);

/** `name` is that of their unit. */
export async function saveInteractions(
  queries: Queries,
  interactions: readonly { readonly interaction: Interaction; readonly name?: string }[],
): Promise<void> {
  if (interactions.length === 0) return;
  const rows = interactions.map(({ interaction }) => fromInteraction(interaction));
  await queries.rows(SAVE_INTERACTIONS, [
    texts(rows.map(({ id }) => id)),
    uuids(rows.map((row) => row.execution_id)),
    texts(rows.map(({ call }) => call)),
    numbers(rows.map(({ item }) => item)),
    texts(rows.map(({ project }) => project)),
    numbers(rows.map(({ status }) => status)),
    numbers(rows.map(({ late }) => late)),
    sparse(interactions.map(({ name }) => name)),
    sparse(rows.map(({ request }) => request)),
    sparse(rows.map(({ assignee }) => assignee)),
    sparse(rows.map(({ answer }) => answer)),
    sparse(rows.map(({ digest }) => digest)),
    sparse(rows.map((row) => row.answered_by)),
    sparse(rows.map((row) => row.answered_at)),
    sparse(rows.map(({ verified }) => Boolean(verified))),
  ]);
}

const CLOSE_OTHERS = statement(`
  update hf.interaction i
     set status = ${INTERACTION_CODES.closed}
   where i.execution_id = $1
     and i.call = $2
     and coalesce(i.status = ${INTERACTION_CODES.open}, false) -- guard: open`);

/** W-3: those that nobody answered. */
export async function closeOthers(
  queries: Queries,
  { execution, call }: Pick<AwaitUnit, 'execution' | 'call'>,
): Promise<void> {
  await queries.rows(CLOSE_OTHERS, [execution, call]);
}

const COUNT_LATE = statement('update hf.interaction i set late = i.late + 1 where i.id = $1');

export async function countLate(queries: Queries, id: InteractionId): Promise<void> {
  await queries.rows(COUNT_LATE, [id]);
}

const KEEP_LATE = statement(`
  insert into hf.late_answer (interaction_id, n, answer, digest, answered_by, answered_at)
  select i.id, i.late, $2, $3, $4, $5
    from hf.interaction i
   where i.id = $1
     and i.late <= ${LATE_ANSWERS_MAX} -- guard: room`);

/** W-5: it was counted; it is kept while there is room. */
export async function keepLate(queries: Queries, { id, answer }: LateAnswer): Promise<void> {
  const { value, digest, by, at } = answer;
  await queries.rows(KEEP_LATE, [id, value, digest, by ?? null, at]);
}

const PLACE_OF = statement('select i.execution_id, i.call from hf.interaction i where i.id = $1');

export interface UnitPlace {
  readonly execution: ExecutionId;
  readonly call: CallKey;
}

/** Where an interaction stands, which never changes. */
export async function placeOf(queries: Queries, id: InteractionId): Promise<UnitPlace | undefined> {
  type Row = { execution_id: ExecutionId; call: CallKey };
  const [row] = await queries.rows<Row>(PLACE_OF, [id]);
  return row === undefined ? undefined : { execution: row.execution_id, call: row.call };
}

// With the execution locked: a statement of its own sees what was committed before that.
const LOAD = statement(`
  with unit as materialized (
    select u.*
      from hf.await_unit u
     where u.execution_id = $1
       and u.call = $2
       for no key update of u
  )
  select hf_now() as now,
         (select row_to_json(u) from unit u) as unit,
         (select row_to_json(i) from hf.interaction i where i.id = $3) as interaction`);

export interface LoadedUnit {
  readonly now: Instant;
  readonly unit: AwaitUnit | undefined;
  readonly interaction: Interaction | undefined;
}

export async function loadUnit(
  queries: Queries,
  { execution, call }: UnitPlace,
  id?: InteractionId,
): Promise<LoadedUnit> {
  type Row = { now: number; unit: AwaitUnitRow | null; interaction: InteractionRow | null };
  const [row] = await queries.rows<Row>(LOAD, [execution, call, id ?? null]);
  return {
    now: (row?.now ?? 0) as Instant,
    unit: row?.unit == null ? undefined : toAwaitUnit(row.unit),
    interaction: row?.interaction == null ? undefined : toInteraction(row.interaction),
  };
}

const ANSWERED = statement(`
  select ${INTERACTION_COLUMNS}
    from hf.interaction i
   where i.execution_id = $1
     and i.call = $2
     and coalesce(i.status = ${INTERACTION_CODES.answered}, false)
   order by i.execution_id, i.call, i.item`);

export async function answeredOf(
  queries: Queries,
  { execution, call }: UnitPlace,
): Promise<readonly Interaction[]> {
  const rows = await queries.rows<InteractionRow & object>(ANSWERED, [execution, call]);
  return rows.map(toInteraction);
}

// Of units that are there already nothing else is read. `offset 0`: by index, however few there were when the
// plan was made.
const OPENING = statement(`
  select n.call, u.call is not null as known, early.row as early
    from unnest($2::text[]) as n(call)
    left join lateral (
         select u.call
           from hf.await_unit u
          where u.execution_id = $1
            and u.call = n.call
         offset 0
         ) u on true
    left join lateral (
         select row_to_json(i) as row
           from hf.interaction i
          where u.call is null
            and i.execution_id = $1
            and i.call = n.call
         offset 0
         ) early on true`);

/** What is there already of units that are to be opened. */
export async function loadOpening(
  queries: Queries,
  id: ExecutionId,
  calls: readonly CallKey[],
): Promise<{ readonly known: ReadonlySet<CallKey>; readonly early: readonly Interaction[] }> {
  type Row = { call: CallKey; known: boolean; early: InteractionRow | null };
  const rows = await queries.rows<Row>(OPENING, [id, texts(calls)]);
  return {
    known: new Set(rows.filter(({ known }) => known).map(({ call }) => call)),
    early: rows.flatMap(({ early }) => (early === null ? [] : [toInteraction(early)])),
  };
}

const OPEN_UNITS = statement(`
  select u.*
    from hf.await_unit u
   where u.execution_id = $1
     and coalesce(u.status = ${AWAIT_CODES.open}, false) -- guard: open-unit
     for no key update of u`);

export async function openUnitsOf(
  queries: Queries,
  id: ExecutionId,
): Promise<readonly AwaitUnit[]> {
  const rows = await queries.rows<AwaitUnitRow & object>(OPEN_UNITS, [id]);
  return rows.map(toAwaitUnit);
}

// Those that are open have no answer; those that are early had theirs for nothing.
const CLOSE_LEFT = statement(`
  with left_over as materialized (
    select i.*
      from hf.interaction i
     where i.execution_id = $1
       and coalesce(i.status = any ('{${INTERACTION_CODES.open},${INTERACTION_CODES.early}}'), false) -- guard: left
  ),
  closed as (
    update hf.interaction i
       set status      = ${INTERACTION_CODES.closed},
           late        = i.late + case when l.status = ${INTERACTION_CODES.early} then 1 else 0 end,
           answer      = null,
           digest      = null,
           answered_by = null,
           answered_at = null,
           verified    = false
      from left_over l
     where ${lookUp('i.id', 'l.id')}
  )
  insert into hf.late_answer (interaction_id, n, answer, digest, answered_by, answered_at)
  select l.id, l.late + 1, l.answer, l.digest, l.answered_by, l.answered_at
    from left_over l
   where l.status = ${INTERACTION_CODES.early}`);

/** W-9: what is open is closed; what came early and was never taken up is a late answer. */
export async function closeLeft(queries: Queries, id: ExecutionId): Promise<void> {
  await queries.rows(CLOSE_LEFT, [id]);
}
