import type { ExecutionId } from '../../../execution/names.ts';
import type { ListRemovable, RemovablePage } from '../../../features/retention/port.ts';
import { type RemovableRow, toRemovable } from '../../../features/retention/rows.ts';
import type { Instant } from '../../../support/clock.ts';
import { type Database, statement } from '../database.ts';
import { lookUp } from '../predicates.ts';
import { OPEN_LETTER, UNUSED } from './remove.ts';

// Where to go on is said to whoever asks: a page of a project has executions of that project only.
// $1 after, $2 before, $3 limit, $4 project, $5 since their end
const REMOVABLE = statement(`
  with page as materialized (
    select e.id
      from hf.execution e
     where e.id > coalesce($1, '00000000-0000-0000-0000-000000000000'::uuid)
       and e.id < coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
       and ($4::text is null or e.project = $4)
     order by e.id
     limit $3
  )
  select (select count(*) from page)::integer as looked, (select max(p.id::text) from page p) as last, hf_now() as now,
         f.id, f.project, f.status, f.ended_at, f.has_open_letter
    from (select 1) one
    left join lateral (
         select e.id, e.project, e.status, e.ended_at, ${OPEN_LETTER} as has_open_letter
           from page p
           join hf.execution e on ${lookUp('e.id', 'p.id')}
          where e.ended_at + $5::bigint <= hf_now()
            ${UNUSED}
          order by p.id
         ) f on true
   order by f.id`);

interface PageRow extends Omit<RemovableRow, 'id'> {
  readonly looked: number;
  readonly last: ExecutionId | null;
  readonly now: number;
  readonly id: string | null;
}

/** F-8. */
export async function removable(database: Database, query: ListRemovable): Promise<RemovablePage> {
  const { after = null, before = null, limit, project = null, endedMs } = query;
  const values = [after, before, limit, project, endedMs];
  const rows = await database.rows<PageRow & object>(REMOVABLE, values);
  const items = rows.flatMap(({ id, ...row }) =>
    id === null ? [] : [toRemovable({ ...row, id })],
  );
  const [first] = rows;
  const next = first === undefined || first.looked < limit ? null : first.last;
  return { items, now: (first?.now ?? 0) as Instant, ...(next === null ? {} : { next }) };
}
