import {
  REFUSED_WRITES_MAX,
  type RefusedWrite,
  type RefusedWrites,
} from '../../../execution/refused-write.ts';
import { type RefusedWriteRow, toRefusedWrite } from '../../audit-rows.ts';
import type { ListRefusals } from '../../contract/audit-store.ts';
import { type Database, statement } from '../database.ts';
import { numbers, sparse, texts, uuids } from './arrays.ts';
import type { Parts } from './parts.ts';

const COLUMNS =
  'r.execution_id, r.fence, r.verb, r.project, r.why, r.newest, r.session_id, r.owner, r.count, r.first_at, r.last_at';

// As `addRefusedWrites` says it. In the order of the key, so that two processes do not wait for each other.
const ADD = statement(`
  insert into hf.refused_write as r (execution_id, fence, verb, project, why, newest, session_id, owner, count, first_at, last_at)
  select u.execution_id, u.fence, u.verb, u.project, u.why, u.newest, u.session_id, u.owner, u.count,
         now.at - u.first_ago_ms, now.at - u.last_ago_ms
    from unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[])
           as u(execution_id, fence, verb, project, why, newest, session_id, owner, count, first_ago_ms, last_ago_ms)
   cross join (select hf_now() as at) now
   order by u.execution_id, u.fence, u.verb
      on conflict (execution_id, fence, verb) do update
     set why        = case when excluded.last_at >= r.last_at then excluded.why else r.why end,
         newest     = case when excluded.last_at >= r.last_at then excluded.newest else r.newest end,
         session_id = case when excluded.last_at >= r.last_at then excluded.session_id else r.session_id end,
         owner      = case when excluded.last_at >= r.last_at then excluded.owner else r.owner end,
         count      = r.count + excluded.count,
         first_at   = least(r.first_at, excluded.first_at),
         last_at    = greatest(r.last_at, excluded.last_at)`);

// J-12. What others write at this moment is left to them.
const FORGET = statement(`
  delete from hf.refused_write r
   where (r.execution_id, r.fence, r.verb) in (
           select r.execution_id, r.fence, r.verb
             from unnest($1::text[]) as u(project)
            cross join lateral (
                  select r.last_at, r.execution_id, r.fence, r.verb
                    from hf.refused_write r
                   where r.project = u.project
                   order by r.last_at desc, r.execution_id desc, r.fence desc, r.verb desc
                  offset ${REFUSED_WRITES_MAX - 1}
                   limit 1
                  ) kept
             join hf.refused_write r
               on r.project = u.project
              and (r.last_at, r.execution_id, r.fence, r.verb) < (kept.last_at, kept.execution_id, kept.fence, kept.verb)
              for update of r skip locked)`);

/** J-11, J-12. Once: whoever counts tells a store nothing twice. */
export async function noteRefusals(parts: Parts, batch: readonly RefusedWrites[]): Promise<void> {
  if (batch.length === 0) return;
  await parts.database.attempt<void>(async (queries) => {
    await queries.rows(ADD, [
      uuids(batch.map(({ execution }) => execution)),
      numbers(batch.map(({ fence }) => fence)),
      texts(batch.map(({ verb }) => verb)),
      texts(batch.map(({ project }) => project)),
      texts(batch.map(({ why }) => why)),
      sparse(batch.map(({ newest }) => newest)),
      texts(batch.map(({ session }) => session)),
      texts(batch.map(({ owner }) => owner)),
      numbers(batch.map(({ count }) => count)),
      numbers(batch.map(({ firstAgoMs }) => firstAgoMs)),
      numbers(batch.map(({ lastAgoMs }) => lastAgoMs)),
    ]);
    await queries.rows(FORGET, [texts([...new Set(batch.map(({ project }) => project))])]);
    return { keep: true, result: undefined };
  }, parts.boundaries);
}

// $1 project, $2 … $5 the place it goes on from, $6 limit
function listing(from: string): ReturnType<typeof statement> {
  return statement(`
  select ${COLUMNS}
    from ${from}
   where r.project = $1
     and ($2::bigint is null or (r.last_at, r.execution_id, r.fence, r.verb) < ($2, $3::uuid, $4::bigint, $5::text))
   order by r.last_at desc, r.execution_id desc, r.fence desc, r.verb desc
   limit $6`);
}

const BY_PROJECT = listing('hf.refused_write r');
const BY_EXECUTION = listing(
  '(select r.* from hf.refused_write r where r.execution_id = $7 offset 0) r',
);

export async function refusals(
  database: Database,
  { project, execution, before, limit }: ListRefusals,
): Promise<readonly RefusedWrite[]> {
  const place = [before?.lastAt, before?.execution, before?.fence, before?.verb];
  const values = [project, ...place.map((each) => each ?? null), limit];
  const rows =
    execution === undefined
      ? await database.rows<RefusedWriteRow & object>(BY_PROJECT, values)
      : await database.rows<RefusedWriteRow & object>(BY_EXECUTION, [...values, execution]);
  return rows.map(toRefusedWrite);
}
