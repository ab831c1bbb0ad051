import type { AuditRecord } from '../../../execution/audit.ts';
import { auditOf, changedByAct, noteOf } from '../../../execution/decide/audit.ts';
import { assert } from '../../../support/assert.ts';
import type { Instant } from '../../../support/clock.ts';
import { type AuditRow, fromAudit, toAudit } from '../../audit-rows.ts';
import type { ListAudit, Note, NoteAnswer, RecordAct } from '../../contract/audit-store.ts';
import { persistently } from '../committer.ts';
import { type Database, type Queries, type Statement, statement } from '../database.ts';
import { numbers, sparse, texts, uuids } from './arrays.ts';
import type { Parts } from './parts.ts';

// J-3: the first one of an id stays.
const WRITE = statement(`
  insert into hf.audit (id, at, project, actor, act, target_kind, target_id, reason, was, became)
  select u.*
    from unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[]) as u
      on conflict (id) do nothing`);

/** J-1: in the transaction of their acts; nothing for those that changed nothing. */
export async function writeAudit(
  queries: Queries,
  records: readonly (AuditRecord | undefined)[],
): Promise<void> {
  const rows = records.filter((record) => record !== undefined).map(fromAudit);
  if (rows.length === 0) return;
  await queries.rows(WRITE, [
    uuids(rows.map(({ id }) => id)),
    numbers(rows.map(({ at }) => at)),
    texts(rows.map(({ project }) => project)),
    texts(rows.map(({ actor }) => actor)),
    texts(rows.map(({ act }) => act)),
    texts(rows.map(({ target_kind }) => target_kind)),
    texts(rows.map(({ target_id }) => target_id)),
    texts(rows.map(({ reason }) => reason)),
    sparse(rows.map(({ was }) => was)),
    sparse(rows.map(({ became }) => became)),
  ]);
}

const RECORD = statement(`
  insert into hf.audit (id, at, project, actor, act, target_kind, target_id, reason, became)
  values ($1, hf_now(), $2, $3, $4, $5, $6, $7, $8)
      on conflict (id) do nothing`);

/** J-9. */
export async function recordAct(parts: Parts, request: RecordAct): Promise<void> {
  const record = auditOf(request, changedByAct(request), 0 as Instant);
  assert(record !== undefined, 'J-9: what is asked for is always on record');
  const row = fromAudit(record);
  const values = [row.id, row.project, row.actor, row.act, row.target_kind, row.target_id];
  await persistently(parts.surroundings, () =>
    parts.boundaries.around(() => parts.database.rows(RECORD, [...values, row.reason, row.became])),
  );
}

// A repeated one finds itself.
const NOTE = statement(`
  with known as (
    select e.id
      from hf.execution e
     where e.id = $2::uuid
       and e.project = $3 -- guard: project
  ),
  noted as (
    insert into hf.audit (id, at, project, actor, act, target_kind, target_id, reason)
    select $1::uuid, hf_now(), $3::text, $4::text, $5::text, $6::text, $2::uuid::text, $7::text
      from known
        on conflict (id) do nothing
  )
  select k.id
    from known k`);

/** J-5. */
export async function note(parts: Parts, { id, project, audit }: Note): Promise<NoteAnswer> {
  const { actor, act, reason, target } = noteOf(audit, { id, project }, 0 as Instant);
  const values = [audit.id, id, project, actor, act, target.kind, reason];
  const known = await persistently(parts.surroundings, () =>
    parts.boundaries.around(() => parts.database.rows(NOTE, values)),
  );
  return known.length > 0 ? { kind: 'noted' } : { kind: 'refused', why: 'execution-unknown', id };
}

const COLUMNS =
  'a.id, a.at, a.project, a.actor, a.act, a.target_kind, a.target_id, a.reason, a.was, a.became';

const LAST_ID = "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid";

/**
 * Newest first, by the index that has these columns and then the id; as in interactions.ts.
 * $1 project, $2 kind and $3 id of the target, $4 actor, $5 act, $6 before, $7 limit
 */
function listBy(columns: readonly string[], values: string): Statement {
  const of = columns.join(', ');
  const order = [...columns, 'a.id'].map((column) => `${column} desc`).join(', ');
  return statement(`
  select ${COLUMNS}
    from hf.audit a
   where (${of}) >= (${values})
     and (${of}, a.id) < (${values}, coalesce($6, ${LAST_ID}))
     and ($2::text is null or coalesce(a.target_kind = $2, false))
     and ($3::text is null or coalesce(a.target_id = $3, false))
     and ($4::text is null or coalesce(a.actor = $4, false))
     and ($5::text is null or coalesce(a.act = $5, false))
   order by ${order}
   limit $7`);
}

const BY_PROJECT = listBy(['a.project'], '$1');
const BY_TARGET = listBy(['a.target_id', 'a.target_kind', 'a.project'], '$3, $2, $1');
const BY_ACTOR = listBy(['a.actor', 'a.project'], '$4, $1');
const BY_ACT = listBy(['a.act', 'a.project'], '$5, $1');

function indexFor({ target, actor, act }: ListAudit): Statement {
  if (target !== undefined) return BY_TARGET;
  if (actor !== undefined) return BY_ACTOR;
  return act === undefined ? BY_PROJECT : BY_ACT;
}

export async function listAudit(
  database: Database,
  query: ListAudit,
): Promise<readonly AuditRecord[]> {
  const { project, target, actor, act, before, limit } = query;
  const filters = [target?.kind, target?.id, actor, act, before].map((each) => each ?? null);
  const values = [project, ...filters, limit];
  return (await database.rows<AuditRow & object>(indexFor(query), values)).map(toAudit);
}
