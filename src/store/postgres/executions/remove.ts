import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import {
  archivedOf,
  decideRemove,
  type RemoveRequest,
  type SeenOfEnded,
} from '../../../features/retention/model.ts';
import type { ListRemovable, RemovablePage, Removal } from '../../../features/retention/port.ts';
import { type RemovableRow, toRemovable } from '../../../features/retention/rows.ts';
import type { Instant } from '../../../support/clock.ts';
import { type ExecutionRow, TERMINAL_FROM, toExecution } from '../../execution-rows.ts';
import { persistently } from '../committer.ts';
import { type Database, type Queries, statement } from '../database.ts';
import { lookUp } from '../predicates.ts';
import { keepArchived } from './archived.ts';
import { texts } from './arrays.ts';
import type { Parts } from './parts.ts';
import { EXECUTION_COLUMNS, lockExecution } from './rows.ts';

export const OPEN_LETTER: string =
  'coalesce((select d.redriven_by is null from hf.dead_letter d where d.execution_id = e.id), false)';

// What an event says of the chain of continuations that its execution stands in.
const ID = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const CONTINUES = `(select case when h.body ~ '^\\{"continues":"${ID}"' then substr(h.body, 15, 36)::uuid end from hf.history h where h.execution_id = e.id and h.seq = 1)`;
const CONTINUED_AS = `(select case when h.body ~ '^\\{"continuedAs":"${ID}"' then substr(h.body, 17, 36)::uuid end from hf.history h where h.execution_id = e.id and h.seq = e.seq)`;

// F-2: what made it is gone, and what it made has ended. `between` leaves the planner the index of parents only.
export const UNUSED: string = `
     and (select p.id from hf.execution p where p.id = e.parent_id) is null -- guard: parent
     and (select o.id from hf.execution o where o.id = e.redrive_of) is null -- guard: redriven
     and (select b.id from hf.execution b where b.id = ${CONTINUES}) is null -- guard: continues
     and (select c.id from hf.execution c where c.parent_id between e.id and e.id and c.ended_at is null limit 1) is null -- guard: children
     and (select r.id from hf.execution r where r.redrive_of = e.id and r.redrive_of is not null and r.status < ${TERMINAL_FROM}) is null -- guard: redrive
     and (select n.id from hf.execution n where n.id = ${CONTINUED_AS} and n.ended_at is null) is null -- guard: continued
`;

const LATE =
  '(select coalesce(sum(i.late), 0)::integer from hf.interaction i where i.execution_id = e.id)';
const REDRIVEN_BY = '(select d.redriven_by from hf.dead_letter d where d.execution_id = e.id)';

// A statement of its own, after the lock: what it sees was committed before the lock was had, and who drives
// it again later waits for it and finds nothing (F-5).
const REMOVE = statement(`
  delete from hf.execution e
   where e.id = $1
     and e.project = $2 -- guard: project
     and e.status >= ${TERMINAL_FROM}
     and e.ended_at + case when ${OPEN_LETTER} then $4::bigint else $3::bigint end <= hf_now() -- guard: due
     ${UNUSED}
     and ($5::integer is null or ${LATE} = $5) -- guard: late
     and ($5::integer is null or ${REDRIVEN_BY} is not distinct from $6::uuid) -- guard: redriven-by
  returning ${EXECUTION_COLUMNS}, hf_now() as now`);

const FACTS = statement(`
  select ${OPEN_LETTER} as has_open_letter, ${LATE} as late, ${REDRIVEN_BY} as redriven_by,
         not (true ${UNUSED}) as in_use
    from hf.execution e
   where e.id = $1`);

const REST = [
  'delete from hf.late_answer l where l.interaction_id = any (array(select i.id from hf.interaction i where i.execution_id = $1))',
  ...['history', 'inbox', 'attachment', 'await_unit', 'interaction', 'dead_letter'].map(
    (table) => `delete from hf.${table} t where t.execution_id = $1`,
  ),
  'delete from hf.job_item t where t.job_id = $1',
  'delete from hf.errand t where t.parent_id = $1',
].map(statement);

export function remove(parts: Parts, request: RemoveRequest): Promise<Removal> {
  return persistently(parts.surroundings, () =>
    parts.database.attempt<Removal>(async (queries) => {
      const locked = await lockExecution(queries, request.id);
      const { id, project, keepMs = null, letterMs = null, archived } = request;
      const { late = null, redrivenBy = null } = archived?.seen ?? {};
      const values = [id, project, keepMs, letterMs, late, redrivenBy];
      type Row = ExecutionRow & { readonly now: number };
      const [row] = await queries.rows<Row & object>(REMOVE, values);
      if (row === undefined) {
        const before = locked === undefined ? undefined : toExecution(locked);
        const result = await explain(queries, request, [before, (locked?.now ?? 0) as Instant]);
        return { keep: false, result };
      }
      const execution = toExecution(row);
      for (const each of REST) await queries.rows(each, [id]);
      await forgetLabels(queries, execution);
      if (archived !== undefined) {
        await keepArchived(queries, archivedOf(execution, archived, row.now as Instant));
      }
      return { keep: true, result: { kind: 'removed' } };
    }, parts.boundaries),
  );
}

async function explain(
  queries: Queries,
  request: RemoveRequest,
  [execution, now]: readonly [ExecutionRecord | undefined, Instant],
): Promise<Removal> {
  type Facts = {
    has_open_letter: boolean;
    in_use: boolean;
    late: number;
    redriven_by: ExecutionId;
  };
  const [facts] = await queries.rows<Facts & object>(FACTS, [request.id]);
  const redrivenBy = facts?.redriven_by ?? undefined;
  const seen: SeenOfEnded = { late: facts?.late ?? 0, ...(redrivenBy && { redrivenBy }) };
  const hasOpenLetter = facts?.has_open_letter === true;
  const view = { execution, hasOpenLetter, seen, isHeld: facts?.in_use === true, isNeeded: false };
  const decision = decideRemove(view, request, now);
  return decision.kind === 'kept' ? decision : { kind: 'kept', why: 'changed' };
}

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

// The labels of an execution that is removed. They are found by what they say: no index is by execution.

const TAGS = statement(`
  delete from hf.label l
   where l.project = $2
     and l.kind = 0
     and l.name = ''
     and l.value = any ($3::text[])
     and l.execution_id = $1`);

const VALUE = statement(`
  delete from hf.label l
   where l.project = $2
     and l.kind = $3
     and l.name = $4
     and l.value = $5
     and l.execution_id = $1`);

const NUMBER = statement(`
  delete from hf.label l
   where l.project = $2
     and l.name = $3
     and l.number = $4
     and l.execution_id = $1`);

export async function forgetLabels(queries: Queries, execution: ExecutionRecord): Promise<void> {
  const { id, project, tags, attributes } = execution;
  if (tags.length > 0) await queries.rows(TAGS, [id, project, texts(tags)]);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'number') await queries.rows(NUMBER, [id, project, name, value]);
    else {
      const kind = typeof value === 'boolean' ? 3 : 1;
      await queries.rows(VALUE, [id, project, kind, name, String(value)]);
    }
  }
}
