// Counts refused writes (J-11, J-12, J-15).

import {
  REFUSED_WRITES_MAX,
  type RefusedWrite,
  type RefusedWrites,
} from '../../features/audit/model.ts';
import type { AuditStore, ListRefusals } from '../../features/audit/port.ts';
import { toRefusedWrite } from '../../features/audit/rows.ts';
import { all, dialects, every, type Gateway, type Script, sql } from './script.ts';

const COLUMNS =
  'execution_id, fence, verb, project, why, newest, session_id, owner, transport, count, first_at, last_at, lost_at';

const newer = (column: string): string =>
  `${column} = case when excluded.last_at >= r.last_at then excluded.${column} else r.${column} end`;

// Adds to the line with the same execution, fence and verb. Reason, newest fence and session come
// from the latest report (J-14). The claim ended when its session did, or when a newer claim began
// (J-15). The first report keeps that time, because the store deletes ended sessions.
const ADD = sql(`
  insert into hf.refused_write as r (${COLUMNS})
  values (:execution, :fence, :verb, :project, :why, :newest, :session::text, :owner, :transport, :count,
          hf_now() - :firstAgoMs::bigint, hf_now() - :lastAgoMs::bigint,
          coalesce((select s.ended_at from hf.session s where s.id = :session::text::uuid),
                   (select e.claimed_at from hf.execution e where e.id = :execution and e.fence > :fence)))
      on conflict (execution_id, fence, verb) do update
     set ${newer('why')},
         ${newer('newest')},
         ${newer('session_id')},
         ${newer('owner')},
         ${newer('transport')},
         lost_at = coalesce(r.lost_at, excluded.lost_at),
         count = r.count + excluded.count,
         first_at = case when excluded.first_at < r.first_at then excluded.first_at else r.first_at end,
         last_at = case when excluded.last_at > r.last_at then excluded.last_at else r.last_at end`);

const ORDER = 'last_at desc, execution_id desc, fence desc, verb desc';

// Keeps the newest rows of a project (J-12). PostgreSQL skips rows that another transaction is
// writing.
const FORGET = dialects({
  sqlite: `
  delete from refused_write
   where project = :project
     and (last_at, execution_id, fence, verb) < (
           select last_at, execution_id, fence, verb
             from refused_write indexed by refused_write_last
            where project = :project
            order by ${ORDER}
            limit 1 offset ${REFUSED_WRITES_MAX - 1})`,
  postgres: `
  delete from hf.refused_write r
   where (r.execution_id, r.fence, r.verb) in (
           select r.execution_id, r.fence, r.verb
             from (select last_at, execution_id, fence, verb
                     from hf.refused_write
                    where project = :project
                    order by ${ORDER}
                   offset ${REFUSED_WRITES_MAX - 1}
                    limit 1) kept
             join hf.refused_write r
               on r.project = :project
              and (r.last_at, r.execution_id, r.fence, r.verb) < (kept.last_at, kept.execution_id, kept.fence, kept.verb)
              for update of r skip locked)`,
});

const listing = (from: string): string => `
  select ${COLUMNS}
    from ${from}
     and (last_at, execution_id, fence, verb) < (:lastAt, :of::uuid, :fence, :verb)
   order by ${ORDER}
   limit :limit`;

const BY_PROJECT = sql(
  listing('hf.refused_write indexed by refused_write_last where project = :project'),
);

const BY_EXECUTION = dialects({
  sqlite: listing('refused_write where execution_id = :execution and project = :project'),
  postgres: listing(
    '(select r.* from hf.refused_write r where r.execution_id = :execution offset 0) r where project = :project',
  ),
});

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

export function refusalsOf({
  read,
  write,
}: Gateway): Pick<AuditStore, 'noteRefusals' | 'refusals'> {
  return {
    // `write`, not `repeat`: a batch that was stored twice would count too high (J-14).
    noteRefusals: (batch) => write(() => noteRefusals(batch)),
    refusals: (query) => read(() => refusals(query)),
  };
}

/** Writes in the order of the primary key, so that two processes cannot deadlock. */
function* noteRefusals(batch: readonly RefusedWrites[]): Script<void> {
  const key = ({ execution, fence, verb }: RefusedWrites): string =>
    `${execution} ${String(fence).padStart(16, '0')} ${verb}`;
  const ordered = batch.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  for (const each of ordered) yield* all(ADD, each);
  for (const project of new Set(batch.map((each) => each.project))) yield* all(FORGET, { project });
}

function* refusals(query: ListRefusals): Script<readonly RefusedWrite[]> {
  const { project, execution, before, limit } = query;
  const { lastAt = Number.MAX_SAFE_INTEGER, fence = 0, verb = '' } = before ?? {};
  const place = { lastAt, of: before?.execution ?? FIRST_ID, fence, verb };
  const list = execution === undefined ? BY_PROJECT : BY_EXECUTION;
  return yield* every(list, { project, execution, limit, ...place }, toRefusedWrite);
}
