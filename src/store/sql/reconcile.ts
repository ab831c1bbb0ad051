// Checks that compare rows with each other, by existing indexes (Z-2). One statement reads all
// facts about a row, so they are from one moment.

import type { HistoryEventKind } from '../../execution/history.ts';
import { DETACHED_CALL, type ExecutionId, type ProjectName } from '../../execution/names.ts';
import { AWAIT_CODES, INTERACTION_CODES } from '../../features/awaits/rows.ts';
import {
  type About,
  CHILDREN_MAX,
  judgeExecution,
  judgeLetter,
  judgeSchedule,
  judgeSession,
  judgeSlots,
  judgeWaiting,
  type SlotFacts,
  type WaitingFacts,
} from '../../features/reconcile/decide.ts';
import type { BrokenInvariant, ReconcilePart } from '../../features/reconcile/model.ts';
import type { Reconcile } from '../../features/reconcile/port.ts';
import type { SessionId } from '../../lease/names.ts';
import type { Instant } from '../../support/clock.ts';
import { SAGA_CODES, STATUS_CODES, toStatus } from '../execution-rows.ts';
import { type SessionRow, toSession } from '../lease-rows.ts';
import { all, dialects, every, found, one, type Script, sql, sqlPerDialect } from './script.ts';

interface Page {
  readonly broken: readonly BrokenInvariant[];
  readonly next?: string;
}

/** SQLite returns 0 or 1, PostgreSQL a boolean. */
type Flag = number | boolean;

const FIRST_ID = "'00000000-0000-0000-0000-000000000000'::uuid";

export const CHECKS: Readonly<Record<ReconcilePart, (request: Reconcile) => Script<Page>>> = {
  running: checkSessions,
  waiting: checkWaiting,
  awaits: checkAwaits,
  slots: checkSlots,
  questions: checkQuestionSlots,
  'dead-letters': checkLetters,
  schedules: checkSchedules,
  executions: checkExecutions,
};

/** The members of the chain of session `c.id`, root first. */
const CHAIN = {
  sqlite: {
    path: 'a.path, a.metadata',
    members: `left join session as s on s.id = c.id
    left join json_each(s.path) as step
    left join session as a on a.id = step.value`,
    order: 'step.key',
  },
  postgres: {
    path: 'array_to_json(a.path)::text as path, a.metadata::text as metadata',
    members: `left join hf.session s on s.id == c.id
    left join hf.session a on a.id = any (s.path)`,
    order: 'cardinality(a.path)',
  },
};

const NEXT_SESSION =
  'select e.session_id from hf.execution as e indexed by execution_running where e.status = 1 and e.session_id >';

// Takes one index step per session, without visiting the session's executions.
const SESSIONS = sqlPerDialect(
  CHAIN,
  ({ path, members, order }) => `
  with recursive carrier (id, nth) as (
    select (${NEXT_SESSION} coalesce(:after, ${FIRST_ID}) order by e.session_id limit 1), 1
    union all
    select (${NEXT_SESSION} c.id order by e.session_id limit 1), c.nth + 1
      from carrier as c
     where c.id is not null
       and c.nth < :limit
  )
  select c.id as session, hf_now() as now, a.id, a.owner, ${path}, a.ttl_ms, a.grace_ms, a.opened_at, a.beat_at,
         a.expires_at, a.extended, a.notices, a.ended_at, a.exit, a.cause, a.actor
    from carrier as c
    ${members}
   where c.id is not null
   order by c.nth, ${order}`,
);

const ABOUT = 'e.id as execution, e.project, e.pipeline';

const OF_SESSION = sql(`
  select ${ABOUT}
    from hf.execution as e indexed by execution_running
   where e.status = 1
     and e.session_id = :session
   limit :limit`);

const UNOWNED = sql(`
  select ${ABOUT}
    from hf.execution as e indexed by execution_running
   where e.status = 1
     and e.session_id is null
   limit :limit`);

/** All columns of an unknown session are null. */
type MemberRow = SessionRow & { readonly session: SessionId; readonly now: Instant };

/** Checks the sessions of running executions (Z-10, Z-20). */
function* checkSessions({ after, limit }: Reconcile): Script<Page> {
  const rows = yield* all<MemberRow>(SESSIONS, { after, limit });
  const sessions = [...Map.groupBy(rows, ({ session }) => session)];
  const broken: BrokenInvariant[] = [];
  for (const [session, members] of sessions) {
    const chain = members.filter(({ id }) => id !== null).map(toSession);
    const trouble = judgeSession({ session, chain }, members[0]?.now as Instant);
    if (trouble?.invariant === 'left-by-the-dead') {
      const left = yield* all<About>(OF_SESSION, { session, limit });
      broken.push(...left.map((row) => ({ ...trouble, ...row })));
    } else if (trouble !== undefined) broken.push(trouble);
  }
  if (after === undefined) {
    const unowned = yield* all<About>(UNOWNED, { limit });
    broken.push(
      ...unowned.map((row): BrokenInvariant => ({ invariant: 'running-unowned', ...row })),
    );
  }
  return { broken, ...goOn(sessions, limit, ([session]) => session) };
}

const KIND = 'e.project collate "POSIX", e.pipeline collate "POSIX"';

/** SQLite's index omits completed executions, PostgreSQL's omits running ones. */
const LISTED = { sqlite: '(e.status = 2 or e.status > 10)', postgres: 'e.status <> 1' };

// Steps over the rest of a project. PostgreSQL's index has the pipeline before the status.
const NEXT_KIND = dialects({
  sqlite: `
  select e.project, '' as pipeline
    from execution as e indexed by execution_status
   where e.project > :project
     and ${LISTED.sqlite}
   order by e.project
   limit 1`,
  postgres: `
  select e.project, e.pipeline
    from hf.execution e
   where ${LISTED.postgres}
     and (${KIND}) > (:project collate "POSIX", :pipeline collate "POSIX")
   order by ${KIND}
   limit 1`,
});

const WAITING = dialects({
  sqlite: `
  select e.id
    from execution as e indexed by execution_status
   where e.project = :project
     and e.status = 2
     and ${LISTED.sqlite}
     and e.id > :id
   order by e.id
   limit :limit`,
  postgres: `
  select e.id
    from hf.execution e
   where e.project collate "POSIX" = :project
     and e.pipeline collate "POSIX" = :pipeline
     and e.status between 2 and 2
     and ${LISTED.postgres}
     and e.id > :id
   order by e.status, e.id
   limit :limit`,
});

/** The position after which the walk continues. */
type Mark = readonly [project: string, pipeline: string, id?: string | undefined];

const BEFORE_ALL = '00000000-0000-0000-0000-000000000000';

function* nextKind(project: string, pipeline: string): Script<Mark | undefined> {
  type Row = { readonly project: string; readonly pipeline: string };
  const row = yield* one<Row>(NEXT_KIND, { project, pipeline });
  return row === undefined ? undefined : [row.project, row.pipeline];
}

/**
 * Checks waiting executions (Z-11, Z-12, Z-13, Z-21). A pipeline without waiting executions also
 * counts as a step, so each call does bounded work.
 */
function* checkWaiting({ after, limit }: Reconcile): Script<Page> {
  const ids: ExecutionId[] = [];
  let at: Mark | undefined =
    after === undefined ? yield* nextKind('', '') : (JSON.parse(after) as Mark);
  for (let steps = 0; at !== undefined && steps < limit && ids.length < limit; steps += 1) {
    const [project, pipeline, id = BEFORE_ALL]: Mark = at;
    const page = { project, pipeline, id, limit: limit - ids.length };
    const rows = yield* all<{ readonly id: ExecutionId }>(WAITING, page);
    ids.push(...rows.map((row) => row.id));
    const isFull = rows.length === page.limit;
    at = isFull ? [project, pipeline, ids.at(-1)] : yield* nextKind(project, pipeline);
  }
  const broken = (yield* waitingFacts(ids)).flatMap(judgeWaiting);
  return { broken, ...(at === undefined ? {} : { next: JSON.stringify(at) }) };
}

const CHILDREN = `(
           select c.parent_call, c.status
             from hf.execution as c indexed by execution_parent
            where c.parent_id between e.id and e.id
              and c.project = e.project
            order by c.parent_id, c.id
            limit ${CHILDREN_MAX + 1})`;

const DELIVERED =
  'select i.name collate "C" from hf.inbox as i where i.execution_id = e.id and i.kind =';

const SETTLED = `from hf.await_unit as u where u.execution_id = e.id and u.status <> ${AWAIT_CODES.open}`;

const PARKED = { sqlite: 'h.row_id = e.row_id', postgres: 'h.execution_id = e.id' };

const NEWEST = 'from hf.inbox as i where i.execution_id = e.id order by i.n desc limit 1';

// `except` evaluates each side once; a condition would query one side for every row of the other.
// An inbox may be long, so the statement reads it only where it has to.
const FACTS = sqlPerDialect(
  PARKED,
  (ofHistory) => `
  select e.id as execution, e.project, e.pipeline, e.ready_at, e.wake_after, e.saga, e.news,
         (select h.at from hf.history as h where ${ofHistory} and h.kind = 'parked' order by h.seq desc limit 1) as parked_at,
         (select h.body from hf.history as h where ${ofHistory} and h.kind = 'parked' order by h.seq desc limit 1) as parked_body,
         (select i.n ${NEWEST}) as newest_n, (select i.at ${NEWEST}) as newest_at, (select i.kind ${NEWEST}) as newest_kind,
         (select count(*) from ${CHILDREN} as c) as children,
         (select count(*) from ${CHILDREN} as c where c.status < 10) as open_children,
         exists (
           select 1
             from hf.await_unit as u
            where u.execution_id = e.id
              and u.status = ${AWAIT_CODES.open}
              and (u.next_at is not null
                   or exists (select 1 from hf.interaction as i indexed by interaction_execution where i.execution_id = u.execution_id and i.call = u.call and coalesce(i.status in (${INTERACTION_CODES.open}, ${INTERACTION_CODES.queued}), false)))) as asking,
         case when exists (select 1 ${SETTLED})
              then (select u.call collate "C" ${SETTLED}
                    except
                    ${DELIVERED} 'await-settled'
                    limit 1)
         end as undelivered_unit,
         case when exists (select 1 from ${CHILDREN} as c)
              then (select c.parent_call collate "C" from ${CHILDREN} as c where c.status >= 10
                    except
                    select c.parent_call collate "C" from ${CHILDREN} as c where c.status < 10
                    except
                    ${DELIVERED} 'child-ended'
                    limit 1)
         end as undelivered_child,
         exists (select 1 from hf.execution as p where p.id = e.parent_id and coalesce(p.status >= 10, false))
         and substr(e.parent_call, 1, ${DETACHED_CALL.length}) <> '${DETACHED_CALL}'
         and not exists (select 1 from hf.errand as r where r.parent_id = e.parent_id and coalesce(r.after_id, ${FIRST_ID}) < e.id)
         and not exists (select 1 from hf.inbox as i indexed by inbox_asked where i.execution_id = e.id and i.kind = 'cancel' and i.kind in ('cancel', 'pause', 'resume')) as left_behind
    from hf.execution as e
   where e.id = any (:ids::uuid[])
     and coalesce(e.status = 2, false)`,
);

interface WaitingRow extends About {
  readonly ready_at: Instant | null;
  readonly wake_after: number;
  readonly saga: number;
  readonly news: number;
  readonly parked_at: Instant | null;
  readonly parked_body: string | null;
  readonly newest_n: number | null;
  readonly newest_at: Instant | null;
  readonly newest_kind: string | null;
  readonly children: number;
  readonly open_children: number;
  readonly asking: Flag;
  readonly undelivered_unit: string | null;
  readonly undelivered_child: string | null;
  readonly left_behind: Flag;
}

/** Omits executions that do not wait. */
export function* waitingFacts(ids: readonly ExecutionId[]): Script<readonly WaitingFacts[]> {
  return ids.length === 0 ? [] : yield* every(FACTS, { ids }, toWaiting);
}

function toWaiting(row: WaitingRow): WaitingFacts {
  const { execution, project, pipeline, news: inboxCount, children } = row;
  const { newest_n: n, newest_at: at, newest_kind: kind } = row;
  return {
    ...{ execution, project, pipeline, inboxCount, children },
    readyAt: row.ready_at ?? undefined,
    wakeAfter: row.wake_after,
    compensating: row.saga === SAGA_CODES.compensating,
    parkedAt: row.parked_at ?? undefined,
    parkedBody: row.parked_body ?? undefined,
    newest: n === null || at === null || kind === null ? undefined : { n, at, kind },
    isAsking: Boolean(row.asking),
    openChildren: row.open_children,
    undeliveredUnit: row.undelivered_unit ?? undefined,
    undeliveredChild: row.undelivered_child ?? undefined,
    isLeftBehind: Boolean(row.left_behind),
  };
}

const OPEN_INTERACTIONS = sql(`
  select i.project, i.id, i.execution_id as execution, e.pipeline, coalesce(e.status >= 10, false) as ended
    from hf.interaction as i indexed by interaction_open
    left join hf.execution as e on e.id == i.execution_id
   where i.status = 0
     and (i.project, i.id) > (:project, :id)
   order by i.project, i.id
   limit :limit`);

/** Checks open awaits (Z-13). */
function* checkAwaits({ after, limit }: Reconcile): Script<Page> {
  type Row = About & { readonly id: string; readonly ended: Flag };
  const rows = yield* all<Row>(OPEN_INTERACTIONS, { ...placeIn(after), limit });
  const ended = new Map(
    rows.filter((row) => Boolean(row.ended)).map((row) => [row.execution, row]),
  );
  const broken = [...ended.values()].map(({ execution, project, pipeline }): BrokenInvariant => {
    return { invariant: 'await-of-the-ended', project, execution, pipeline };
  });
  return { broken, ...goOn(rows, limit, ({ project, id }) => JSON.stringify([project, id])) };
}

const slots = (held: string, wanted: string): string => `
  select p.project, p.key, p.slots, p.taken,
         (select count(*) from ${held} and e.project = p.project and e.place_key = p.key) as held,
         exists (select 1 from ${wanted} and e.project = p.project and e.place_key = p.key) as wanted
    from hf.place as p`;

const SLOTS = {
  sqlite: slots(
    'execution as e indexed by execution_placed where e.has_place = 1',
    'execution as e indexed by execution_behind where e.hold >= 4 and e.hold = 4 and e.gated = 1',
  ),
  postgres: slots('hf.execution e where e.has_place', 'hf.execution e where e.hold = 4'),
};

const PAGE = `
   where (p.project, p.key) > (:project, :id)
   order by p.project, p.key
   limit :limit`;

const PAGE_OF_SLOTS = dialects({ sqlite: SLOTS.sqlite + PAGE, postgres: SLOTS.postgres + PAGE });

const ONE = `
   where p.project = :project
     and p.key = :key`;

const ONE_KEY = dialects({ sqlite: SLOTS.sqlite + ONE, postgres: SLOTS.postgres + ONE });

type SlotRow = Omit<SlotFacts, 'isWanted'> & { readonly wanted: Flag };

/** Checks the counts of concurrency keys (Z-14). */
function* checkSlots({ after, limit }: Reconcile): Script<Page> {
  const rows = yield* all<SlotRow>(PAGE_OF_SLOTS, { ...placeIn(after), limit });
  const broken = rows.flatMap((row) => judgeSlots(toSlots(row)));
  return { broken, ...goOn(rows, limit, ({ project, key }) => JSON.stringify([project, key])) };
}

export function* slotFacts(project: string, key: string): Script<SlotFacts | undefined> {
  return yield* found(ONE_KEY, { project, key }, toSlots);
}

function toSlots({ wanted, ...row }: SlotRow): SlotFacts {
  return { ...row, isWanted: Boolean(wanted) };
}

// A question that waits proves that all slots are taken: each transaction opens the next ones.
const QUESTION_LIMITS = sql(`
  select l.project, l.key, l.slots,
         exists (select 1 from hf.interaction as i indexed by interaction_queue where i.concurrency_key = l.key and i.project = l.project and i.status = ${INTERACTION_CODES.queued}) as wanted,
         (select count(*) from hf.interaction as i indexed by interaction_slots where i.concurrency_key = l.key and i.project = l.project and i.status = ${INTERACTION_CODES.open}) as taken
    from hf.question_limit as l
   where (l.project, l.key) > (:project, :id)
   order by l.project, l.key
   limit :limit`);

/** Checks the slots of questions with a concurrency key (Z-16). */
function* checkQuestionSlots({ after, limit }: Reconcile): Script<Page> {
  type Row = Pick<SlotFacts, 'project' | 'key' | 'slots' | 'taken'> & { readonly wanted: Flag };
  const rows = yield* all<Row>(QUESTION_LIMITS, { ...placeIn(after), limit });
  const broken = rows
    .filter(({ wanted, taken, slots }) => Boolean(wanted) && taken < slots)
    .map(({ project, key }): BrokenInvariant => {
      return { invariant: 'question-slot-not-given', project, about: key };
    });
  return { broken, ...goOn(rows, limit, ({ project, key }) => JSON.stringify([project, key])) };
}

const LETTERS = sql(`
  select l.execution_id as execution, l.project, l.pipeline, l.status, l.redriven_by, e.status as actual,
         exists (select 1 from hf.execution as r where r.id = l.redriven_by and r.redrive_of = l.execution_id) as is_redrive
    from hf.dead_letter as l
    left join hf.execution as e on e.id == l.execution_id
   where l.execution_id > coalesce(:after, ${FIRST_ID})
   order by l.execution_id
   limit :limit`);

type LetterRow = About & {
  readonly status: number;
  readonly actual: number | null;
  readonly redriven_by: ExecutionId | null;
  readonly is_redrive: Flag;
};

/** Checks dead letters (Z-22). */
function* checkLetters({ after, limit }: Reconcile): Script<Page> {
  const rows = yield* all<LetterRow>(LETTERS, { after, limit });
  const broken = rows.flatMap(({ execution, project, pipeline, ...row }) =>
    judgeLetter({
      ...{ execution, project, pipeline },
      status: toStatus(row.status),
      actual: row.actual === null ? undefined : toStatus(row.actual),
      redrivenBy: row.redriven_by ?? undefined,
      isRedrive: Boolean(row.is_redrive),
    }),
  );
  return { broken, ...goOn(rows, limit, ({ execution }) => execution) };
}

const SCHEDULES = sql(`
  select project, id, paused, next_at is not null as has_next
    from hf.schedule
   where (project, id) > (:project, :id)
   order by project, id
   limit :limit`);

/** Checks schedules (Z-15, Z-24). */
function* checkSchedules({ after, limit }: Reconcile): Script<Page> {
  type Row = { project: ProjectName; id: string; paused: Flag; has_next: Flag };
  const rows = yield* all<Row>(SCHEDULES, { ...placeIn(after), limit });
  const broken = rows.flatMap(({ project, id, paused, has_next }) =>
    judgeSchedule({ project, id, paused: Boolean(paused), hasNext: Boolean(has_next) }),
  );
  return { broken, ...goOn(rows, limit, ({ project, id }) => JSON.stringify([project, id])) };
}

const HAS_LETTER = `
         e.status in (${STATUS_CODES.failed}, ${STATUS_CODES.quarantined})
         and exists (select 1 from hf.dead_letter as l where l.execution_id = e.id) as has_letter`;

const LAST = 'from history as h where h.row_id = e.row_id order by h.seq desc limit 1';

// Walks the primary key, because this part reads all executions, one page at a time.
const EXECUTIONS = dialects({
  sqlite: `
  select e.row_id as mark, e.id as execution, e.project, e.pipeline, e.status, e.seq, e.ready_at is not null as has_time,
         (select h.seq ${LAST}) as last_seq, (select h.kind ${LAST}) as last_kind, ${HAS_LETTER}
    from execution as e
   where e.row_id > cast(coalesce(:after, '0') as integer)
   order by e.row_id
   limit :limit`,
  postgres: `
  select e.id as mark, e.id as execution, e.project, e.pipeline, e.status, e.seq, e.ready_at is not null as has_time,
         h.seq as last_seq, h.kind as last_kind, ${HAS_LETTER}
    from (select e.* from hf.execution e where e.id > coalesce(:after, ${FIRST_ID}) order by e.id limit :limit) e
    left join lateral (select h.seq, h.kind from hf.history h where h.execution_id = e.id order by h.seq desc limit 1) h on true
   order by e.id`,
});

type ExecutionPageRow = About & {
  readonly mark: number | string;
  readonly status: number;
  readonly seq: number;
  readonly has_time: Flag;
  readonly has_letter: Flag;
  readonly last_seq: number | null;
  readonly last_kind: HistoryEventKind | null;
};

/** Compares executions with their histories and dead letters (Z-15, Z-22, Z-23). */
function* checkExecutions({ after, limit }: Reconcile): Script<Page> {
  const rows = yield* all<ExecutionPageRow>(EXECUTIONS, { after, limit });
  const broken = rows.flatMap(({ execution, project, pipeline, seq, ...row }) => {
    const { last_seq, last_kind } = row;
    const isThere = last_seq !== null && last_kind !== null;
    return judgeExecution({
      ...{ execution, project, pipeline, seq },
      status: toStatus(row.status),
      hasTime: Boolean(row.has_time),
      hasLetter: Boolean(row.has_letter),
      last: isThere ? { seq: last_seq, kind: last_kind } : undefined,
    });
  });
  return { broken, ...goOn(rows, limit, ({ mark }) => String(mark)) };
}

function placeIn(after: string | undefined): { readonly project: string; readonly id: string } {
  const [project = '', id = ''] = after === undefined ? [] : (JSON.parse(after) as string[]);
  return { project, id };
}

/** Only a full page may have a next one. */
function goOn<Row>(
  rows: readonly Row[],
  limit: number,
  mark: (last: Row) => string,
): { readonly next?: string } {
  const last = rows.at(-1);
  return last === undefined || rows.length < limit ? {} : { next: mark(last) };
}
