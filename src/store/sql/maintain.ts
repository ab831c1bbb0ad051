// Applies what follows from time and from ended parents: passed deadlines, children to
// cancel, unused keys to delete.

import { decideCancel } from '../../execution/decide/command.ts';
import { decideOverdue, PARENT_ENDED } from '../../execution/decide/overdue.ts';
import { DETACHED_CALL, type ExecutionId, type ProjectName } from '../../execution/names.ts';
import { LIST_ROWS_MAX } from '../contract/execution-reads.ts';
import type { ExecutionStore } from '../contract/execution-store.ts';
import { TERMINAL_FROM, toExecution } from '../execution-rows.ts';
import { type Natives, saveExecution } from './changes.ts';
import { isDone, runCommand } from './commands.ts';
import { dueInTurn, takeDue } from './due.ts';
import { appendEvent, lockExecution } from './executions.ts';
import { all, type Gateway, one, type Script, type Sql, sql, sqlPerDialect } from './script.ts';

// SQLite's index also contains running executions, whose owners watch the deadline themselves. The
// caller checks each listed execution again under its lock. The statement also returns the time of
// the next schedule and if there are errands, because every idle process would otherwise pay for a
// second statement.
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

const DUE_IN_TURN = dueInTurn({
  ...{ name: 'hf.execution', at: 'deadline_at', index: 'execution_deadline_turn' },
  where: 'x.deadline_at is not null and (x.status = 0 or x.status = 2)',
  columns: 'x.id',
});

interface DueRow {
  readonly id: ExecutionId | null;
  readonly next_in_ms: number | null;
  readonly has_errands: boolean | number;
}

// Reads a page of errands, so that each call does bounded work, however many there are. Within the
// page, projects take turns, so that the parents of one do not delay another. Skips parents
// that have not ended: a child that was submitted on its own adds an errand too.
const ERRANDS = sql(`
  with page as (
    select r.parent_id, row_number() over (order by r.parent_id) as nth
      from hf.errand as r
     where r.parent_id > :after
     order by r.parent_id
     limit ${LIST_ROWS_MAX}
  )
  select o.parent_id, false as is_mark
    from (select g.parent_id, row_number() over (partition by p.project order by g.parent_id) as turn
            from page as g
            join hf.execution as p on p.id == g.parent_id
           where coalesce(p.status >= ${TERMINAL_FROM}, false)
           order by turn, g.parent_id
           limit :limit) as o
   union all
  select g.parent_id, true
    from page as g
   where g.nth = ${LIST_ROWS_MAX}`);

/** Sorts before all ids. */
const FIRST_ID = '00000000-0000-0000-0000-000000000000' as ExecutionId;

const LOCK_ERRAND = sql(`
  select r.parent_id, r.after_id
    from hf.errand as r
   where r.parent_id = :parent_id
     for update of r skip locked`);

// As in lists of children, only the index of parents fits.
const OPEN_CHILDREN = sql(`
  select e.id, e.project, e.parent_call as call
    from hf.execution as e indexed by execution_parent
   where e.parent_id is not null
     and e.parent_id <= :parent_id
     and (e.parent_id, e.id) > (:parent_id, coalesce(:after_id, '${FIRST_ID}'::uuid))
     and coalesce(e.status < ${TERMINAL_FROM}, false)
   order by e.parent_id, e.id
   limit :limit`);

const MOVE_ON = sql('update hf.errand set after_id = :id where parent_id = :parent_id');

const DONE = sql('delete from hf.errand where parent_id = :parent_id');

/** Bounds the number of rows that one transaction keeps locked. */
const PAGE = 100;

export function maintainer(
  { read, repeat }: Gateway,
  natives: Natives,
): Pick<ExecutionStore, 'maintain'> {
  const keys = new ForgottenKeys({ read, repeat });
  // The last errand that was read, if there are more than a page: it walks them in a circle.
  let mark = FIRST_ID;
  return {
    async maintain({ limit }) {
      const { due, isMoreDue, rest } = await read(() => findDue(limit));
      const { next_in_ms: next = null, has_errands } = rest ?? {};
      const overdue: ExecutionId[] = [];
      for (let from = 0; from < due.length; from += PAGE) {
        // Every process locks in the same order, so that none waits for another in a circle.
        const page = due.slice(from, from + PAGE).sort();
        const notifies = (ended: readonly ExecutionId[]) => ended.length > 0;
        overdue.push(...(await repeat(() => endOverdue(natives, page), { notifies })));
      }
      let cancelled = 0;
      let served = 0;
      let isMore = Boolean(has_errands) || due.length > 0;
      while (isMore && served < limit) {
        const left = limit - served;
        const found = await read(() => findErrands(mark, Math.min(PAGE, left)));
        const { parents } = found;
        mark = found.mark;
        const most = Math.min(PAGE, Math.max(1, Math.floor(left / parents.length)));
        isMore = mark !== FIRST_ID;
        for (const parent of parents) {
          const notifies = (page: Orphans) => page.cancelled > 0;
          const page = await repeat(() => cancelSome(natives, parent, most), { notifies });
          cancelled += page.cancelled;
          // An errand without open children takes a transaction too.
          served += Math.max(1, page.cancelled);
          isMore ||= page.isServed;
        }
      }
      const more = isMoreDue || isMore;
      const forgotten = await keys.forgetSome(limit);
      const on = next === null ? {} : { nextScheduleInMs: Math.max(0, next) };
      return { overdue, cancelled, forgotten, more, ...on };
    },
  };
}

function* findDue(limit: number) {
  const rows = yield* all<DueRow>(DUE, { limit: limit + 1 });
  const found = rows.filter(({ id }) => id !== null);
  const due = yield* takeDue(found, DUE_IN_TURN, limit);
  return {
    due: due.flatMap(({ id }) => id ?? []),
    isMoreDue: found.length > limit,
    rest: rows.find(({ id }) => id === null),
  };
}

/** Ends the executions that are still overdue, and returns their ids. */
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

interface Errands {
  readonly parents: readonly ExecutionId[];
  /** Where the next page begins. */
  readonly mark: ExecutionId;
}

function* findErrands(after: ExecutionId, limit: number): Script<Errands> {
  type Errand = { readonly parent_id: ExecutionId; readonly is_mark: boolean | number };
  const rows = yield* all<Errand>(ERRANDS, { after, limit });
  const isMark = ({ is_mark }: Errand) => Boolean(is_mark);
  return {
    parents: rows.filter((row) => !isMark(row)).map(({ parent_id }) => parent_id),
    mark: rows.find(isMark)?.parent_id ?? FIRST_ID,
  };
}

interface Orphans {
  readonly cancelled: number;
  /** False if the errand is done, or another process has it. */
  readonly isServed: boolean;
}

/** Asks each child of an ended parent once to cancel. The errand stores how far it got. */
function* cancelSome(natives: Natives, parent_id: ExecutionId, limit: number): Script<Orphans> {
  type Errand = { readonly parent_id: ExecutionId; readonly after_id: ExecutionId | null };
  const errand = yield* one<Errand>(LOCK_ERRAND, { parent_id });
  if (errand === undefined) return { cancelled: 0, isServed: false };
  type Child = {
    readonly id: ExecutionId;
    readonly project: ProjectName;
    readonly call: string;
  };
  const children = yield* all<Child>(OPEN_CHILDREN, { ...errand, limit });
  let cancelled = 0;
  for (const { call, ...child } of children) {
    if (call.startsWith(DETACHED_CALL)) continue;
    // A running child that already has the request is left to its owner.
    const result = yield* runCommand(natives, { ...child, body: PARENT_ENDED }, decideCancel);
    if (isDone(result)) cancelled += 1;
  }
  const last = children.at(-1);
  const isDoneWith = last === undefined || children.length < limit;
  yield* isDoneWith ? all(DONE, errand) : all(MOVE_ON, { ...errand, ...last });
  return { cancelled, isServed: true };
}

// The rest of this file deletes keys of limits that no execution uses any more.

// Reads a page of keys of each kind, used or not, so each call does bounded work. It is one
// statement, because every idle process runs it.
const PAGES = sql(`
  select *
    from (select 'place' as kind, p.project, p.key
            from hf.place as p
           where (p.project, p.key) > (:placeProject, :placeKey)
           order by p.project, p.key
           limit :limit) as places
   union all
  select *
    from (select 'rate', r.project, r.key
            from hf.rate as r
           where (r.project, r.key) > (:rateProject, :rateKey)
           order by r.project, r.key
           limit :limit) as rates`);

// Skips locked keys: another transaction is about to use them.
const LOCK_SLOTS = sql(`
  select p.key
    from hf.place as p
   where p.project = :project
     and p.key = any (:keys::text[])
     and p.taken = 0 -- guard: taken
     for update of p skip locked`);

// A gated execution will ask for a slot by the stored limit, so its key must stay. This separate
// statement sees everything committed before the locks. A later submit with the key waits for them.
const FORGET_SLOTS = sqlPerDialect(
  { sqlite: 'e.gated = 1', postgres: 'e.gated' },
  (isGated) => `
  delete from hf.place as p
   where p.project = :project
     and p.key = any (:keys::text[])
     and (select e.id from hf.execution as e indexed by execution_gated where ${isGated} and e.place_key is not null and e.project = p.project and e.place_key = p.key limit 1) is null -- guard: gated
  returning 1 as used`,
);

// A key that was idle for this long has no memory: its next turn starts a new burst.
const LOCK_RATES = sql(`
  select r.key
    from hf.rate as r
   where r.project = :project
     and r.key = any (:keys::text[])
     and r.last_at + r.per_ms <= hf_now() -- guard: idle
     for update of r skip locked`);

// Keys at zero belong to an execution that asked for a turn and then found no free slot.
const FORGET_RATES = sql(`
  delete from hf.rate as r
   where r.project = :project
     and r.key = any (:keys::text[])
  returning last_at as used`);

const STATEMENTS: Readonly<Record<Kind, { readonly lock: Sql; readonly forget: Sql }>> = {
  place: { lock: LOCK_SLOTS, forget: FORGET_SLOTS },
  rate: { lock: LOCK_RATES, forget: FORGET_RATES },
};

type Kind = 'place' | 'rate';

interface Key {
  readonly project: string;
  readonly key: string;
}

/** Sorts before all keys. */
const START: Key = { project: '', key: '' };

/** Walks all keys in a circle, one page of each kind per call. */
class ForgottenKeys {
  readonly #gateway: Pick<Gateway, 'read' | 'repeat'>;
  /** The last key that was read of each kind. */
  readonly #marks: Record<Kind, Key> = { place: START, rate: START };

  constructor(gateway: Pick<Gateway, 'read' | 'repeat'>) {
    this.#gateway = gateway;
  }

  async forgetSome(limit: number): Promise<number> {
    const { place, rate } = this.#marks;
    const found = await this.#gateway.read(() =>
      all<Key & { readonly kind: Kind }>(PAGES, {
        ...{ placeProject: place.project, placeKey: place.key },
        ...{ rateProject: rate.project, rateKey: rate.key, limit },
      }),
    );
    let forgotten = 0;
    for (const kind of ['place', 'rate'] as const) {
      const page = found.filter((each) => each.kind === kind);
      this.#marks[kind] = page.length < limit ? START : (page.at(-1) ?? START);
      if (page.length > 0) forgotten += await this.#gateway.repeat(() => forget(kind, page));
    }
    return forgotten;
  }
}

function* forget(kind: Kind, page: readonly Key[]): Script<number> {
  let forgotten = 0;
  for (const [project, keys] of Map.groupBy(page, (each) => each.project)) {
    const { lock, forget } = STATEMENTS[kind];
    const values = { project, keys: keys.map(({ key }) => key) };
    const locked = yield* all<{ key: string }>(lock, values);
    if (locked.length === 0) continue;
    const free = { project, keys: locked.map(({ key }) => key) };
    const rows = yield* all<{ used: number }>(forget, free);
    forgotten += rows.filter(({ used }) => used > 0).length;
  }
  return forgotten;
}
