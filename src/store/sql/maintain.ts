// What time and ended parents bring about: deadlines that have passed, children to cancel, keys to forget.

import { decideCancel } from '../../execution/decide/command.ts';
import { decideOverdue, PARENT_ENDED } from '../../execution/decide/overdue.ts';
import type { ExecutionId, ProjectName } from '../../execution/names.ts';
import type { ExecutionStore } from '../contract/execution-store.ts';
import { TERMINAL_FROM, toExecution } from '../execution-rows.ts';
import { type Natives, saveExecution } from './changes.ts';
import { isDone, obey } from './commands.ts';
import { appendEvent, lockExecution } from './executions.ts';
import { ForgottenKeys } from './forget-keys.ts';
import { all, type Gateway, one, type Script, sql } from './script.ts';

// What runs stays in the index of SQLite: its owner knows the deadline. What is listed is looked at again under the
// lock. With it comes when the next schedule is due, and whether there are errands: that is asked for as often, and
// a statement of its own would cost every idle process.
const DUE = sql(`
  select due.id, null::bigint as next_in_ms, false as has_errands
    from (select e.id
            from hf.execution as e indexed by execution_deadline
           where e.deadline_at is not null
             and e.ended_at is null
             and (e.status = 0 or e.status = 2)
             and e.deadline_at <= (select hf_now())
           order by e.deadline_at
           limit :limit) as due
   union all
  select null, (select s.next_at - hf_now() from hf.schedule as s indexed by schedule_next where s.next_at is not null order by s.next_at limit 1),
         exists (select 1 from hf.errand)`);

interface DueRow {
  readonly id: ExecutionId | null;
  readonly next_in_ms: number | null;
  readonly has_errands: boolean | number;
}

// Errands of parents that have not ended are those of children that came from elsewhere.
const ERRAND = sql(`
  select r.parent_id, r.after_id
    from hf.errand as r
    join hf.execution as p on p.id == r.parent_id
   where coalesce(p.status >= ${TERMINAL_FROM}, false)
   order by r.parent_id
   limit 1
     for update of r skip locked`);

// As children are listed: only the index of parents fits.
const OPEN_CHILDREN = sql(`
  select e.id, e.project
    from hf.execution as e indexed by execution_parent
   where e.parent_id is not null
     and e.parent_id <= :parent_id
     and (e.parent_id, e.id) > (:parent_id, coalesce(:after_id, '00000000-0000-0000-0000-000000000000'::uuid))
     and coalesce(e.status < ${TERMINAL_FROM}, false)
   order by e.parent_id, e.id
   limit :limit`);

const MOVE_ON = sql('update hf.errand set after_id = :id where parent_id = :parent_id');

const DONE = sql('delete from hf.errand where parent_id = :parent_id');

/** Bounds how many rows one transaction keeps locked. */
const PAGE = 100;

export function maintainer(
  { read, repeat }: Gateway,
  natives: Natives,
): Pick<ExecutionStore, 'maintain'> {
  const keys = new ForgottenKeys({ read, repeat });
  return {
    async maintain({ limit }) {
      const rows = await read(() => all<DueRow>(DUE, { limit: limit + 1 }));
      const due = rows.flatMap(({ id }) => id ?? []);
      const { next_in_ms: next = null, has_errands } = rows.find(({ id }) => id === null) ?? {};
      const overdue: ExecutionId[] = [];
      for (let from = 0; from < Math.min(due.length, limit); from += PAGE) {
        const page = due.slice(from, Math.min(from + PAGE, limit));
        const rings = (ended: readonly ExecutionId[]) => ended.length > 0;
        overdue.push(...(await repeat(() => endOverdue(natives, page), { rings })));
      }
      let cancelled = 0;
      let isMore = Boolean(has_errands) || due.length > 0;
      while (isMore && cancelled < limit) {
        const most = Math.min(PAGE, limit - cancelled);
        const rings = (page: Orphans) => page.cancelled > 0;
        const page = await repeat(() => cancelSome(natives, most), { rings });
        cancelled += page.cancelled;
        isMore = page.isMore;
      }
      const more = due.length > limit || isMore;
      const forgotten = await keys.forgetSome(limit);
      const on = next === null ? {} : { nextScheduleInMs: Math.max(0, next) };
      return { overdue, cancelled, forgotten, more, ...on };
    },
  };
}

/** Those of these that are overdue still. */
function* endOverdue(
  natives: Natives,
  ids: readonly ExecutionId[],
): Script<readonly ExecutionId[]> {
  const ended: ExecutionId[] = [];
  for (const id of ids) {
    const row = yield* lockExecution(id);
    const before = row && toExecution(row);
    const decision = before && decideOverdue(before, row.now);
    if (before === undefined || decision === undefined) continue;
    if (decision.kind === 'end') yield* natives.endWaiting(before, decision);
    else {
      yield* saveExecution(decision.execution);
      yield* appendEvent(id, decision.event);
    }
    ended.push(id);
  }
  return ended;
}

interface Orphans {
  readonly cancelled: number;
  /** There may be more to do. */
  readonly isMore: boolean;
}

/** children of one parent that has ended are asked once each; the errand remembers how far it got. */
function* cancelSome(natives: Natives, limit: number): Script<Orphans> {
  const errand = yield* one<{ parent_id: ExecutionId; after_id: ExecutionId | null }>(ERRAND);
  if (errand === undefined) return { cancelled: 0, isMore: false };
  type Child = { readonly id: ExecutionId; readonly project: ProjectName };
  const children = yield* all<Child>(OPEN_CHILDREN, { ...errand, limit });
  let cancelled = 0;
  for (const child of children) {
    // A running child that knows is left to its owner.
    const answer = yield* obey(natives, { ...child, body: PARENT_ENDED }, decideCancel);
    if (isDone(answer)) cancelled += 1;
  }
  const last = children.at(-1);
  const isDoneWith = last === undefined || children.length < limit;
  yield* isDoneWith ? all(DONE, errand) : all(MOVE_ON, { ...errand, ...last });
  return { cancelled, isMore: true };
}
