// What is looked at when rows are compared with each other, by the indexes that are there (Z-2). Each is one
// statement, so it is one moment.

import {
  judgeExecution,
  judgeLetter,
  judgePlace,
  judgeSchedule,
  judgeSession,
  type PlaceFacts,
} from '../../../execution/decide/reconcile.ts';
import type { EventKind } from '../../../execution/history.ts';
import type { Violation } from '../../../execution/invariants.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../../execution/names.ts';
import type { SessionId } from '../../../lease/names.ts';
import type { Instant } from '../../../support/clock.ts';
import type { Reconcile } from '../../contract/reconcile-store.ts';
import { STATUS_CODES } from '../../execution-rows.ts';
import { type Queries, statement } from '../database.ts';
import { chainOf, type SessionJson, toChain } from '../load-view.ts';
import { lookUp } from '../predicates.ts';
import { statusOf } from './rows.ts';

export interface Page {
  readonly broken: readonly Violation[];
  readonly next?: string;
}

interface About {
  readonly execution: ExecutionId;
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
}

export const FIRST_ID = '00000000-0000-0000-0000-000000000000';

const ABOUT = 'e.id as execution, e.project, e.pipeline';

// One step through the index for each session: what they run is not looked at.
const SESSIONS = statement(`
  with recursive carrier as (
    select (select e.session_id from hf.execution e where e.status = 1 and e.session_id > $1 order by e.session_id limit 1) as id, 1 as nth
    union all
    select (select e.session_id from hf.execution e where e.status = 1 and e.session_id > c.id order by e.session_id limit 1), c.nth + 1
      from carrier c
     where c.id is not null
       and c.nth < $2
  )
  select c.id as session, ${chainOf('c.id')} as chain, hf_now() as now
    from carrier c
   where c.id is not null
   order by c.nth`);

const OF_SESSION = statement(`
  select ${ABOUT}
    from hf.execution e
   where e.status = 1
     and e.session_id = $1
   limit $2`);

const OF_NOBODY = statement(`
  select ${ABOUT}
    from hf.execution e
   where e.status = 1
     and e.session_id is null
   limit $1`);

interface SessionFound {
  readonly session: SessionId;
  readonly chain: SessionJson[] | null;
  readonly now: Instant;
}

/** Z-10, Z-20. */
export async function lookAtSessions(queries: Queries, request: Reconcile): Promise<Page> {
  const { after = FIRST_ID, limit } = request;
  const rows = await queries.rows<SessionFound & object>(SESSIONS, [after, limit]);
  const broken: Violation[] = [];
  for (const { session, chain, now } of rows) {
    const trouble = judgeSession({ session, chain: toChain(chain) }, now);
    if (trouble?.invariant === 'left-by-the-dead') {
      const left = await queries.rows<About & object>(OF_SESSION, [session, limit]);
      broken.push(...left.map((row) => ({ ...trouble, ...row })));
    } else if (trouble !== undefined) broken.push(trouble);
  }
  if (request.after === undefined) {
    const unowned = await queries.rows<About & object>(OF_NOBODY, [limit]);
    broken.push(...unowned.map((row): Violation => ({ invariant: 'run-by-nobody', ...row })));
  }
  return { broken, ...goOn(rows, limit, ({ session }) => session) };
}

const OPEN_INTERACTIONS = statement(`
  select i.project, i.id, i.execution_id as execution, e.pipeline, coalesce(e.status >= 10, false) as ended
    from hf.interaction i
    left join hf.execution e on ${lookUp('e.id', 'i.execution_id')}
   where i.status = 0
     and (i.project, i.id) > ($1, $2)
   order by i.project, i.id
   limit $3`);

/** Z-13. */
export async function lookAtAwaits(queries: Queries, { after, limit }: Reconcile): Promise<Page> {
  type Row = About & { readonly id: string; readonly ended: boolean };
  const rows = await queries.rows<Row & object>(OPEN_INTERACTIONS, [...placeIn(after), limit]);
  const ended = new Map(rows.filter((row) => row.ended).map((row) => [row.execution, row]));
  const broken = [...ended.values()].map(({ execution, project, pipeline }): Violation => {
    return { invariant: 'await-of-the-ended', project, execution, pipeline };
  });
  return { broken, ...goOn(rows, limit, ({ project, id }) => JSON.stringify([project, id])) };
}

const PLACES = `
  select p.project, p.key, p.slots, p.taken,
         (select count(*)::integer from hf.execution e where e.has_place and e.project = p.project and e.place_key = p.key) as held,
         exists (select from hf.execution e where e.hold = 4 and e.project = p.project and e.place_key = p.key) as "isWanted"
    from hf.place p`;

const PAGE_OF_PLACES = statement(`${PLACES}
   where (p.project, p.key) > ($1, $2)
   order by p.project, p.key
   limit $3`);

const ONE_PLACE = statement(`${PLACES}
   where p.project = $1
     and p.key = $2`);

/** Z-14. */
export async function lookAtPlaces(queries: Queries, { after, limit }: Reconcile): Promise<Page> {
  const values = [...placeIn(after), limit];
  const rows = await queries.rows<PlaceFacts & object>(PAGE_OF_PLACES, values);
  const broken = rows.flatMap(judgePlace);
  return { broken, ...goOn(rows, limit, ({ project, key }) => JSON.stringify([project, key])) };
}

export async function placeFacts(
  queries: Queries,
  project: string,
  key: string,
): Promise<PlaceFacts | undefined> {
  const [row] = await queries.rows<PlaceFacts & object>(ONE_PLACE, [project, key]);
  return row;
}

const LETTERS = statement(`
  select l.execution_id as execution, l.project, l.pipeline, l.status, l.redriven_by, e.status as actual,
         exists (select from hf.execution r where r.id = l.redriven_by and r.redrive_of = l.execution_id) as is_redrive
    from hf.dead_letter l
    left join hf.execution e on ${lookUp('e.id', 'l.execution_id')}
   where l.execution_id > $1
   order by l.execution_id
   limit $2`);

type LetterRow = About & {
  readonly status: number;
  readonly actual: number | null;
  readonly redriven_by: ExecutionId | null;
  readonly is_redrive: boolean;
};

/** Z-22. */
export async function lookAtLetters(queries: Queries, request: Reconcile): Promise<Page> {
  const { after = FIRST_ID, limit } = request;
  const rows = await queries.rows<LetterRow & object>(LETTERS, [after, limit]);
  const broken = rows.flatMap(({ execution, project, pipeline, ...row }) =>
    judgeLetter({
      ...{ execution, project, pipeline },
      status: statusOf(row.status),
      actual: row.actual === null ? undefined : statusOf(row.actual),
      redrivenBy: row.redriven_by ?? undefined,
      isRedrive: row.is_redrive,
    }),
  );
  return { broken, ...goOn(rows, limit, ({ execution }) => execution) };
}

const SCHEDULES = statement(`
  select s.project, s.id, s.paused, s.next_at is not null as "hasNext"
    from hf.schedule s
   where (s.project, s.id) > ($1, $2)
   order by s.project, s.id
   limit $3`);

/** Z-15, Z-24. */
export async function lookAtSchedules(
  queries: Queries,
  { after, limit }: Reconcile,
): Promise<Page> {
  type Row = Parameters<typeof judgeSchedule>[0];
  const rows = await queries.rows<Row & object>(SCHEDULES, [...placeIn(after), limit]);
  const broken = rows.flatMap(judgeSchedule);
  return { broken, ...goOn(rows, limit, ({ project, id }) => JSON.stringify([project, id])) };
}

// By the primary key: this goes through all that there ever was, a page at a time.
const EXECUTIONS = statement(`
  select ${ABOUT}, e.status, e.seq, e.ready_at is not null as has_time, h.seq as last_seq, h.kind as last_kind,
         e.status in (${STATUS_CODES.failed}, ${STATUS_CODES.quarantined})
         and exists (select from hf.dead_letter l where l.execution_id = e.id) as has_letter
    from (select e.* from hf.execution e where e.id > $1 order by e.id limit $2) e
    left join lateral (select h.seq, h.kind from hf.history h where h.execution_id = e.id order by h.seq desc limit 1) h on true
   order by e.id`);

type ExecutionPageRow = About & {
  readonly status: number;
  readonly seq: number;
  readonly has_time: boolean;
  readonly has_letter: boolean;
  readonly last_seq: number | null;
  readonly last_kind: EventKind | null;
};

/** Z-15, Z-22, Z-23. */
export async function lookAtExecutions(queries: Queries, request: Reconcile): Promise<Page> {
  const { after = FIRST_ID, limit } = request;
  const rows = await queries.rows<ExecutionPageRow & object>(EXECUTIONS, [after, limit]);
  const broken = rows.flatMap(({ execution, project, pipeline, seq, ...row }) => {
    const { last_seq, last_kind } = row;
    const isThere = last_seq !== null && last_kind !== null;
    return judgeExecution({
      ...{ execution, project, pipeline, seq },
      status: statusOf(row.status),
      hasTime: row.has_time,
      hasLetter: row.has_letter,
      last: isThere ? { seq: last_seq, kind: last_kind } : undefined,
    });
  });
  return { broken, ...goOn(rows, limit, ({ execution }) => execution) };
}

function placeIn(after: string | undefined): readonly [string, string] {
  const [project = '', name = ''] = after === undefined ? [] : (JSON.parse(after) as string[]);
  return [project, name];
}

/** There may be more after a page that is full. */
function goOn<Row>(
  rows: readonly Row[],
  limit: number,
  mark: (last: Row) => string,
): { readonly next?: string } {
  const last = rows.at(-1);
  return last === undefined || rows.length < limit ? {} : { next: mark(last) };
}
