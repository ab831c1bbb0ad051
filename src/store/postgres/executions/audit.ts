// Many audits at once, for flushes and for verbs that are not scripts; one is in store/sql/audit.ts.

import type { AuditRecord } from '../../../features/audit/model.ts';
import { fromAudit } from '../../../features/audit/rows.ts';
import { type Queries, statement } from '../database.ts';
import { numbers, sparse, texts, uuids } from './arrays.ts';

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
