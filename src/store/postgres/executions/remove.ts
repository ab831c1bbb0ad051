import type { ExecutionRecord } from '../../../execution/execution.ts';
import type { ExecutionId } from '../../../execution/names.ts';
import {
  archivedOf,
  decideRemove,
  type RemoveRequest,
  type SeenOfEnded,
} from '../../../features/retention/model.ts';
import type { Removal } from '../../../features/retention/port.ts';
import type { Instant } from '../../../support/clock.ts';
import { type ExecutionRow, TERMINAL_FROM, toExecution } from '../../execution-rows.ts';
import { persistently } from '../committer.ts';
import { type Queries, statement } from '../database.ts';
import { keepArchived } from './archived.ts';
import type { Parts } from './parts.ts';
import { forgetLabels } from './removed-labels.ts';
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
