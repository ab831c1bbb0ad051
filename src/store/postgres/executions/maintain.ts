import { decideCancel } from '../../../execution/decide/command.ts';
import { decideOverdue, PARENT_ENDED } from '../../../execution/decide/overdue.ts';
import type { ExecutionId, ProjectName } from '../../../execution/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Maintain, Maintained } from '../../contract/execution-store.ts';
import { toExecution } from '../../execution-rows.ts';
import { saveExecution } from '../../sql/changes.ts';
import { isDone, obey } from '../../sql/commands.ts';
import { appendEvent, lockExecution } from '../../sql/executions.ts';
import { persistently } from '../committer.ts';
import { type Queries, statement } from '../database.ts';
import { play } from '../gateway.ts';
import { lookUp } from '../predicates.ts';
import { endWaiting } from './end-execution.ts';
import { NATIVES } from './natives.ts';
import type { Parts } from './parts.ts';

// What is listed is looked at again under the lock. With it comes when the next schedule is due, and whether
// there are errands: that is asked for as often, and a statement of its own would cost every idle process.
const DUE = statement(`
  (select e.id, null::bigint as next_in_ms, false as has_errands
     from hf.execution e
    where e.deadline_at is not null
      and (e.status = 0 or e.status = 2)
      and e.deadline_at <= (select hf_now())
    order by e.deadline_at
    limit $1)
   union all
  select null, (select greatest(s.next_at - hf_now(), 0) from hf.schedule s where s.next_at is not null order by s.next_at limit 1),
         exists (select from hf.errand r)`);

interface DueRow {
  readonly id: ExecutionId | null;
  readonly next_in_ms: number | null;
  readonly has_errands: boolean;
}

// Errands of parents that have not ended are those of children that came from elsewhere.
const ERRAND = statement(`
  select r.parent_id, r.after_id
    from hf.errand r
    join hf.execution p on ${lookUp('p.id', 'r.parent_id')}
   where coalesce(p.status >= 10, false)
   order by r.parent_id
   limit 1
     for update of r skip locked`);

// As in children.ts: only the index of parents fits.
const OPEN_CHILDREN = statement(`
  select e.id, e.project
    from hf.execution e
   where e.parent_id between $1 and $1
     and e.id > coalesce($2, '00000000-0000-0000-0000-000000000000'::uuid)
     and coalesce(e.status < 10, false)
   order by e.parent_id, e.id
   limit $3`);

const MOVE_ON = statement('update hf.errand r set after_id = $2 where r.parent_id = $1');

const DONE = statement('delete from hf.errand r where r.parent_id = $1');

/** Bounds how many rows one transaction keeps locked. */
const PAGE = 100;

export async function maintain(parts: Parts, { limit }: Maintain): Promise<Maintained> {
  const rows = await parts.database.rows<DueRow & object>(DUE, [limit + 1]);
  const due = rows.flatMap(({ id }) => (id === null ? [] : [id]));
  const { next_in_ms: next, has_errands } = rows.find(({ id }) => id === null) ?? {};
  const overdue: ExecutionId[] = [];
  for (const id of due.slice(0, limit)) {
    if (await endOverdue(parts, id)) overdue.push(id);
  }
  let cancelled = 0;
  let isMore = has_errands === true || due.length > 0;
  while (isMore && cancelled < limit) {
    const page = await cancelSome(parts, Math.min(PAGE, limit - cancelled));
    cancelled += page.cancelled;
    isMore = page.isMore;
  }
  if (overdue.length + cancelled > 0) parts.bell.ring();
  const more = due.length > limit || isMore;
  const forgotten = await parts.keys.forgetSome(limit);
  return {
    overdue,
    cancelled,
    forgotten,
    more,
    ...(next == null ? {} : { nextScheduleInMs: next }),
  };
}

function endOverdue(parts: Parts, id: ExecutionId): Promise<boolean> {
  return persistently(parts.surroundings, () =>
    parts.database.attempt(async (queries) => {
      const row = await play(queries, lockExecution(id));
      const before = row === undefined ? undefined : toExecution(row);
      const now = row?.now ?? (0 as Instant);
      const decision = before === undefined ? undefined : decideOverdue(before, now);
      if (before === undefined || decision === undefined) return { keep: false, result: false };
      if (decision.kind === 'end') await endWaiting(queries, before, decision);
      else {
        await play(queries, saveExecution(decision.execution));
        await play(queries, appendEvent(id, decision.event));
      }
      return { keep: true, result: true };
    }, parts.boundaries),
  );
}

interface Page {
  readonly cancelled: number;
  /** There may be more to do. */
  readonly isMore: boolean;
}

/** Children of one parent that has ended; the errand remembers how far it got. */
function cancelSome(parts: Parts, limit: number): Promise<Page> {
  return persistently(parts.surroundings, () =>
    parts.database.attempt<Page>(async (queries) => {
      const [errand] = await queries.rows<{ parent_id: string; after_id: string | null }>(
        ERRAND,
        [],
      );
      if (errand === undefined) return { keep: false, result: { cancelled: 0, isMore: false } };
      const { parent_id, after_id } = errand;
      const values = [parent_id, after_id, limit];
      const children = await queries.rows<{ id: ExecutionId; project: ProjectName }>(
        OPEN_CHILDREN,
        values,
      );
      let cancelled = 0;
      for (const child of children) cancelled += await askToCancel(queries, child);
      const last = children.at(-1);
      if (last === undefined || children.length < limit) await queries.rows(DONE, [parent_id]);
      else await queries.rows(MOVE_ON, [parent_id, last.id]);
      return { keep: true, result: { cancelled, isMore: true } };
    }, parts.boundaries),
  );
}

/** Asked once: a running child that knows is left to its owner. */
async function askToCancel(
  queries: Queries,
  child: { readonly id: ExecutionId; readonly project: ProjectName },
): Promise<0 | 1> {
  const asked = { ...child, body: PARENT_ENDED };
  const answer = await play(queries, obey(NATIVES, asked, decideCancel));
  return isDone(answer) ? 1 : 0;
}
