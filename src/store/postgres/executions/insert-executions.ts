// Inserts any number of new executions in one statement: submits, children, successors and
// re-drives.
//
// It omits executions whose id or key the statement's snapshot already contains. A lost race for an
// id or key violates the index: PostgreSQL undoes the whole statement, and the caller repeats it
// with a newer snapshot.

import { hasFreeSlot } from '../../../execution/decide/gates.ts';
import type { Submit } from '../../contract/execution-store.ts';
import {
  aboutOf,
  HOLD_BITS,
  LABEL_KINDS,
  LANE_CODES,
  PREVIOUS_CODES,
  SAGA_CODES,
} from '../../execution-rows.ts';
import { type Bound, type Queries, statement } from '../database.ts';
import { longTexts, numbers, sparse, texts, uuids } from './arrays.ts';
import { NOW, type ResultRow, resultsFrom, resultsOf } from './owner-guards.ts';
import { countHanded, lockSlots, nameOf, type SlotBook, saveLimits } from './slots.ts';

// A row that starts with a history counts as given back, so that its claimer reads the history
// (Y-20).
const REPAIR = `, f.redrive_of, coalesce(f.saga, 0), case when f.seq is null then 0 else ${PREVIOUS_CODES['given-back']} end`;

// The rollouts of the submitted pipelines, locked until this commits (RE-5).
const ROLLOUTS = `
  line as materialized (
    select l.project, l.pipeline, l.active, l.candidate, l.percent
      from (select distinct f.project, f.pipeline from fresh f order by 1, 2) f
     cross join lateral (select l.* from hf.release_line l where l.project = f.project and l.pipeline = f.pipeline for share of l) l
  )`;

// The same hash as `bucketOf`.
const BUCKET = `('x' || lpad(substr(md5(coalesce(f.key, f.id::text)), 1, 7), 8, '0'))::bit(32)::integer % 100`;
const PIN = `case when l.candidate is not null and ${BUCKET} < l.percent then l.candidate else l.active end`;

// The releases that submits name, if they are not retired. The lock keeps them from retiring before
// this commits (RE-6).
const CHOSEN = `
  chosen as materialized (
    select r.project, r.pipeline, r.name
      from (select distinct u.project, u.pipeline, u.name from unnest($2::text[], $3::text[], $25::text[]) as u(project, pipeline, name) order by 1, 2, 3) u
     cross join lateral (select r.* from hf.release r where r.project = u.project and r.pipeline = u.pipeline and r.name = u.name and r.retired_at is null for share of r) r
  ),`;
const IS_CHOSEN = `
       and (u.release is null or exists (select from chosen c where c.project = u.project and c.pipeline = u.pipeline and c.name = u.release)) -- guard: release`;

const KEYED = `
  keyed as (
    insert into hf.label (execution_id, kind, project, name, value)
    select f.id, ${LABEL_KINDS.lineageKey}, f.project, '', f.about::json ->> 'lineageKey'
      from fresh f
     where f.redrive_of is not null
       and f.about::json ->> 'lineageKey' is not null
  ),`;

// Reads tags and attributes from `about`, so that no other column must be joined to `fresh`. Only
// re-drives and submits that name a release pay for the additional columns.
function inserting(withRepairs: boolean): string {
  return `
  with ${NOW},${withRepairs ? CHOSEN : ''}
  fresh as materialized (
    select u.*
      from unnest($1::uuid[], $2::text[], $3::text[], $4::smallint[], $5::bigint[], $6::bigint[], $7::smallint[], $8::boolean[], $9::boolean[], $10::text[],
                  $11::text[], $12::text[], $13::text[], $14::uuid[], $15::text[], $16::text[], $17::text[], $18::text[], $19::boolean[]${withRepairs ? ', $22::uuid[], $23::integer[], $24::smallint[], $25::text[]' : ''})
           with ordinality as u(id, project, pipeline, lane, delay_ms, deadline_ms, hold, gated, has_place, input, about, key, intent, parent_id, parent_call, place_key, rate_key, body, labelled${withRepairs ? ', redrive_of, seq, saga, release' : ''}, nth)
     where (select e.id from hf.execution e where e.id = u.id) is null -- guard: id
       and (u.key is null or not exists (select from hf.execution e where e.project = u.project and e.key = u.key)) -- guard: key${withRepairs ? IS_CHOSEN : ''}
  ),${ROLLOUTS},
  stored as (
    insert into hf.execution (id, project, pipeline, lane, status, hold, gated, has_place, ready_at, seq, submitted_at, deadline_at,
                              input, about, key, intent, parent_id, parent_call, place_key, rate_key${withRepairs ? ', redrive_of, saga, previous' : ''})
    select f.id, f.project, f.pipeline || coalesce(chr(31) || ${withRepairs ? `coalesce(f.release, ${PIN})` : PIN}, ''), f.lane, 0, coalesce(f.hold, 0), coalesce(f.gated, false), coalesce(f.has_place, false),
           now.at + coalesce(f.delay_ms, 0), ${withRepairs ? 'coalesce(f.seq, 1)' : '1'}, now.at, now.at + f.deadline_ms,
           f.input, f.about, f.key, f.intent, f.parent_id, f.parent_call, f.place_key, f.rate_key${withRepairs ? REPAIR : ''}
      from fresh f
      left join line l on l.project = f.project and l.pipeline = f.pipeline
     cross join now
  ),
  told as (
    insert into hf.history (execution_id, seq, at, kind, body)
    select f.id, 1, now.at, 'submitted', f.body
      from fresh f
     cross join now
  ),
  tagged as (
    insert into hf.label (execution_id, kind, project, name, value)
    select distinct f.id, 0, f.project, '', t.tag
      from fresh f
     cross join lateral json_array_elements_text(f.about::json -> 'tags') as t(tag)
     where f.labelled
  ),
  described as (
    insert into hf.label (execution_id, kind, project, name, value, number)
    select f.id,
           case json_typeof(a.value) when 'number' then 2 when 'boolean' then 3 else 1 end,
           f.project, a.name,
           case when json_typeof(a.value) <> 'number' then a.value #>> '{}' end,
           case when json_typeof(a.value) = 'number' then (a.value #>> '{}')::double precision end
      from fresh f
     cross join lateral json_each(f.about::json -> 'attributes') as a(name, value)
     where f.labelled
  ),
  ${withRepairs ? KEYED : ''}
  errand as (
    insert into hf.errand (parent_id)
    select distinct f.parent_id
      from fresh f
     where $20
       and f.parent_id is not null
        on conflict (parent_id) do update set after_id = null
  )
  select ${resultsOf('f', '$21::integer')}
    from fresh f`;
}

const INSERT = statement(inserting(false));
const INSERT_REPAIRS = statement(inserting(true));

export interface Insertable {
  readonly submit: Submit;
  readonly hold?: number;
  readonly hasSlot?: boolean;
  readonly gated?: boolean;
  /** For a re-drive: its last seq and its state of compensation. */
  readonly seq?: number;
  readonly saga?: number;
}

const isRepair = ({ submit, seq }: Insertable): boolean =>
  submit.redriveOf !== undefined || submit.release !== undefined || seq !== undefined;

/** The statement that inserts executions. */
export interface Insert extends Bound {
  /** Returns true for each inserted execution. */
  resultsFrom(rows: readonly object[]): readonly (true | undefined)[];
}

/** Returns true for each inserted execution. The caller passes distinct ids and keys. */
export async function insertExecutions(
  queries: Queries,
  inserts: readonly Insertable[],
  byOwner: boolean,
): Promise<readonly (true | undefined)[]> {
  const { statement, values, resultsFrom } = insertOf(inserts, byOwner);
  return resultsFrom(await queries.rows<object>(statement, values));
}

export function insertOf(inserts: readonly Insertable[], byOwner: boolean): Insert {
  const submits = inserts.map(({ submit }) => submit);
  const areRepairs = inserts.some(isRepair);
  const values = [
    uuids(submits.map(({ id }) => id)),
    texts(submits.map(({ project }) => project)),
    texts(submits.map(({ pipeline }) => pipeline)),
    numbers(submits.map(({ lane }) => LANE_CODES[lane])),
    sparse(submits.map(({ delayMs }) => delayMs)),
    sparse(inserts.map(deadlineOf)),
    sparse(inserts.map(({ hold }) => hold)),
    sparse(inserts.map(isGated)),
    sparse(inserts.map(({ hasSlot }) => hasSlot)),
    longTexts(submits.map(({ input }) => input)),
    sparse(submits.map(aboutOf)),
    sparse(submits.map(({ key }) => key)),
    sparse(submits.map(({ intent }) => intent)),
    sparse(submits.map(({ parent }) => parent?.id)),
    sparse(submits.map(({ parent }) => parent?.call)),
    sparse(submits.map(({ concurrency }) => concurrency?.key)),
    sparse(submits.map(({ rate }) => rate?.key)),
    sparse(submits.map(({ body }) => body)),
    sparse(submits.map(isLabelled)),
    // A parent that ends at the same moment may not see a child that was submitted on its own, so
    // an errand checks the parent later.
    !byOwner,
    inserts.length,
    ...(areRepairs ? repairColumns(inserts) : []),
  ];
  return {
    statement: areRepairs ? INSERT_REPAIRS : INSERT,
    values,
    resultsFrom: ([row]) => resultsFrom<true>(row as ResultRow | undefined, inserts.length, true),
  };
}

function repairColumns(inserts: readonly Insertable[]): readonly unknown[] {
  return [
    sparse(inserts.map(({ submit }) => submit.redriveOf)),
    sparse(inserts.map(({ seq }) => seq)),
    sparse(inserts.map(({ saga }) => saga)),
    sparse(inserts.map(({ submit }) => submit.release)),
  ];
}

/** An execution that compensates has no deadline (Y-2). */
function deadlineOf({ submit, saga }: Insertable): number | undefined {
  return saga === SAGA_CODES.compensating ? undefined : submit.deadlineMs;
}

function isGated({ submit, gated }: Insertable): boolean | undefined {
  if (gated !== undefined) return gated;
  return submit.concurrency !== undefined || submit.rate !== undefined ? true : undefined;
}

function isLabelled({ tags, attributes }: Submit): true | undefined {
  return tags.length > 0 || Object.keys(attributes).length > 0 ? true : undefined;
}

export function hasConcurrency(submits: readonly Submit[]): boolean {
  return submits.some(({ concurrency }) => concurrency !== undefined);
}

/** Runs in a transaction. Executions whose key is exhausted get a hold from the start (X-64). */
export async function insertWithSlots(
  queries: Queries,
  submits: readonly Submit[],
  byOwner: boolean,
): Promise<readonly (true | undefined)[]> {
  const book: SlotBook = hasConcurrency(submits) ? await lockSlots(queries, submits) : new Map();
  const inserts: Insertable[] = [];
  const handed = new Map<string, number>();
  for (const submit of submits) {
    const entry = book.get(nameOf(submit));
    if (entry === undefined || submit.concurrency === undefined) {
      inserts.push({ submit });
      continue;
    }
    // Waiting executions come first, up to the highest limit so far.
    const { limit } = submit.concurrency;
    const before = handed.get(nameOf(submit)) ?? 0;
    const now = Math.max(before, await countHanded(queries, entry, limit));
    handed.set(nameOf(submit), now);
    const isExhausted = !hasFreeSlot({ taken: entry.slots.taken + now, limit });
    // A delayed execution asks for a slot when its time comes.
    const isDelayed = (submit.delayMs ?? 0) > 0;
    inserts.push(
      isExhausted && !isDelayed ? { submit, hold: HOLD_BITS['concurrency-limit'] } : { submit },
    );
  }
  const inserted = await insertExecutions(queries, inserts, byOwner);
  await saveLimits(
    queries,
    book,
    submits.filter((_, nth) => inserted[nth]),
  );
  return inserted;
}

/**
 * Runs in the transaction of the parent's write, and omits executions that already exist (X-13).
 */
export async function insertChildren(queries: Queries, children: readonly Submit[]): Promise<void> {
  for (const batch of withoutDuplicates(children)) await insertWithSlots(queries, batch, true);
}

/**
 * Splits submits into batches without duplicate ids or keys, because a statement does not see its
 * own inserts.
 */
function withoutDuplicates(submits: readonly Submit[]): readonly (readonly Submit[])[] {
  const batches: { readonly names: Set<string>; readonly submits: Submit[] }[] = [];
  for (const submit of submits) {
    const names = [namesOf(submit)].flat();
    let batch = batches.find((each) => names.every((name) => !each.names.has(name)));
    if (batch === undefined) {
      batch = { names: new Set(), submits: [] };
      batches.push(batch);
    }
    for (const name of names) batch.names.add(name);
    batch.submits.push(submit);
  }
  return batches.map((batch) => batch.submits);
}

/** The identifiers that no two executions may share. */
export function namesOf({ id, project, key }: Submit): string | readonly string[] {
  return key === undefined ? id : [id, JSON.stringify([project, key])];
}
