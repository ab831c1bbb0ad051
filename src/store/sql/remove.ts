// Removes ended executions that are due, with everything that belongs to them (F-1 … F-8).

import type { ExecutionId } from '../../execution/names.ts';
import { archivedOf, decideRemove, type RemoveRequest } from '../../features/retention/model.ts';
import type {
  ListRemovable,
  RemovablePage,
  Removal,
  RetentionStore,
} from '../../features/retention/port.ts';
import { type RemovableRow, toRemovable } from '../../features/retention/rows.ts';
import type { Instant } from '../../support/clock.ts';
import { TERMINAL_FROM, toExecution } from '../execution-rows.ts';
import { keepArchived } from './archived.ts';
import { IS_ERASED, type LockedRow, lockExecution } from './executions.ts';
import { forgetLabels } from './labels.ts';
import {
  all,
  type Dialects,
  dialects,
  type Gateway,
  one,
  type Script,
  type Sql,
  sql,
  sqlPerDialect,
  wrote,
} from './script.ts';

const OPEN_LETTER =
  'coalesce((select d.redriven_by is null from hf.dead_letter as d where d.execution_id = e.id), false)';

const ID = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}';

/**
 * Expressions that find the neighbours in a chain of continuations, and the condition of the
 * re-drive index.
 */
const WORDS: Dialects<{
  readonly continues: string;
  readonly continuedAs: string;
  readonly open: string;
  readonly erased: string;
}> = {
  sqlite: {
    continues: `(select substr(h.body, 15, 36) from history as h where h.row_id = e.row_id and h.seq = 1 and h.body like '{"continues":"%')`,
    continuedAs: `(select substr(h.body, 17, 36) from history as h where h.row_id = e.row_id and h.seq = e.seq and h.body like '{"continuedAs":"%')`,
    open: 'r.ended_at is null',
    erased: IS_ERASED.sqlite,
  },
  postgres: {
    continues: `(select case when h.body ~ '^\\{"continues":"${ID}"' then substr(h.body, 15, 36)::uuid end from hf.history as h where h.execution_id = e.id and h.seq = 1)`,
    continuedAs: `(select case when h.body ~ '^\\{"continuedAs":"${ID}"' then substr(h.body, 17, 36)::uuid end from hf.history as h where h.execution_id = e.id and h.seq = e.seq)`,
    open: `r.status < ${TERMINAL_FROM}`,
    erased: IS_ERASED.postgres,
  },
};

/**
 * An execution can go when its creator is gone and everything that it created has ended (F-2).
 * PostgreSQL would read whole tables for `exists`. `between` leaves it only the index of parents.
 */
function unless(text: (unused: string, erased: string) => string): Sql {
  return sqlPerDialect(WORDS, ({ continues, continuedAs, open, erased }) =>
    text(
      `
     and (select p.id from hf.execution as p where p.id = e.parent_id) is null -- guard: parent
     and (select o.id from hf.execution as o where o.id = e.redrive_of) is null -- guard: redriven
     and (select b.id from hf.execution as b where b.id = ${continues}) is null -- guard: continues
     and (select c.id from hf.execution as c indexed by execution_parent where c.parent_id between e.id and e.id and c.parent_id is not null and c.ended_at is null limit 1) is null -- guard: children
     and (select r.id from hf.execution as r indexed by execution_redrive where r.redrive_of = e.id and r.redrive_of is not null and ${open}) is null -- guard: redrive
     and (select n.id from hf.execution as n where n.id = ${continuedAs} and n.ended_at is null) is null -- guard: continued
`,
      erased,
    ),
  );
}

const LATE =
  '(select coalesce(sum(i.late), 0) from hf.interaction as i where i.execution_id = e.id)';
const REDRIVEN_BY = '(select d.redriven_by from hf.dead_letter as d where d.execution_id = e.id)';

// A separate statement after the lock sees everything committed before the lock. A later re-drive
// waits for the lock and then finds no execution (F-5).
const REMOVE = unless(
  (unused, erased) => `
  delete from hf.execution as e
   where e.id = :id
     and e.project = :project -- guard: project
     and e.status >= ${TERMINAL_FROM}
     and e.ended_at + case when ${OPEN_LETTER} then :letterMs::bigint else :keepMs::bigint end <= hf_now() -- guard: due
     ${unused}
     and (:late::bigint is null or ${LATE} = :late) -- guard: late
     and (:late::bigint is null or ${REDRIVEN_BY} is not distinct from :redrivenBy::uuid) -- guard: redriven-by
     and (:late::bigint is null or ${erased} = :erased::boolean) -- guard: erased
  returning id`,
);

const FACTS = unless(
  (unused) => `
  select ${OPEN_LETTER} as has_open_letter, ${LATE} as late, ${REDRIVEN_BY} as redriven_by,
         not (true ${unused}) as in_use
    from hf.execution as e
   where e.id = :id`,
);

const REST: readonly Sql[] = [
  dialects({ sqlite: 'delete from input where row_id = :row_id', postgres: '' }),
  dialects({
    sqlite: 'delete from history where row_id = :row_id',
    postgres: 'delete from hf.history where execution_id = :id',
  }),
  sqlPerDialect(
    { sqlite: ['in (', ')'], postgres: ['= any (array(', '))'] },
    ([open, close]) =>
      `delete from hf.late_answer where interaction_id ${open}select i.id from hf.interaction as i where i.execution_id = :id${close}`,
  ),
  ...['inbox', 'attachment', 'await_unit', 'interaction', 'dead_letter'].map((table) =>
    sql(`delete from hf.${table} where execution_id = :id`),
  ),
  sql('delete from hf.job_item where job_id = :id'),
  sql('delete from hf.errand where parent_id = :id'),
];

const page = (isOfProject: string): Sql =>
  sql(`
  select looked.id, clock.now
    from (select hf_now() as now) as clock
    left join (
         select e.id
           from hf.execution as e
          where e.id > coalesce(:after, '00000000-0000-0000-0000-000000000000'::uuid)
            and e.id < coalesce(:before, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
            ${isOfProject}
          order by e.id
          limit :limit
         ) as looked on true
   order by looked.id`);

const PAGE = page('');

// The page mark goes back to the caller, so a project's page must contain only executions of that
// project.
const PAGE_OF_PROJECT = page('and e.project = :project');

const REMOVABLE = unless(
  (unused) => `
  select e.id, e.project, e.status, e.ended_at, ${OPEN_LETTER} as has_open_letter
    from hf.execution as e
   where e.id = any (:ids::uuid[])
     and e.ended_at + :endedMs::bigint <= hf_now()
     ${unused}
   order by e.id`,
);

export function removalsOf({
  read,
  repeat,
}: Gateway): Pick<RetentionStore, 'removable' | 'remove'> {
  return {
    removable: (query) => read(() => removable(query)),
    remove: (request) => repeat(() => remove(request)),
  };
}

/** The predicate decides. The record to archive comes from the locked row. */
function* remove(request: RemoveRequest): Script<Removal> {
  const { id, archived } = request;
  const locked = yield* lockExecution(id);
  if (
    locked === undefined ||
    !(yield* wrote(REMOVE, {
      ...request,
      ...archived?.seen,
      erased: archived?.seen.erased === true,
    }))
  ) {
    return yield* explain(request, locked);
  }
  const { row_id, now } = locked;
  const execution = toExecution(locked);
  for (const each of REST) yield* all(each, { id, row_id });
  yield* forgetLabels(execution);
  if (archived !== undefined) yield* keepArchived(archivedOf(execution, archived, now));
  return { kind: 'removed' };
}

function* explain(request: RemoveRequest, locked: LockedRow | undefined): Script<Removal> {
  type Facts = {
    readonly has_open_letter: boolean | number;
    readonly in_use: boolean | number;
    readonly late: number;
    readonly redriven_by: ExecutionId | null;
  };
  const facts = yield* one<Facts>(FACTS, request);
  const redrivenBy = facts?.redriven_by ?? undefined;
  const execution = locked === undefined ? undefined : toExecution(locked);
  const view = {
    execution,
    hasOpenLetter: Boolean(facts?.has_open_letter),
    seen: {
      late: facts?.late ?? 0,
      ...(redrivenBy && { redrivenBy }),
      ...(execution?.erased && { erased: true as const }),
    },
    isHeld: Boolean(facts?.in_use),
    isNeeded: false,
  };
  const decision = decideRemove(view, request, locked?.now ?? (0 as Instant));
  return decision.kind === 'kept' ? decision : { kind: 'kept', why: 'changed' };
}

/** Lists executions that may be removed, one page at a time (F-8). */
function* removable(query: ListRemovable): Script<RemovablePage> {
  const { project, limit, endedMs } = query;
  type PageRow = { readonly id: ExecutionId | null; readonly now: Instant };
  const page = yield* all<PageRow>(project === undefined ? PAGE : PAGE_OF_PROJECT, query);
  const ids = page.flatMap(({ id }) => id ?? []);
  const rows = yield* all<RemovableRow>(REMOVABLE, { ids, endedMs });
  const next = ids.length < limit ? undefined : ids.at(-1);
  const now = page[0]?.now ?? (0 as Instant);
  return { items: rows.map(toRemovable), now, ...(next === undefined ? {} : { next }) };
}
