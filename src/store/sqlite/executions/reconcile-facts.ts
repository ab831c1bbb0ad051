// What is looked at when rows are compared with each other, by the indexes that are there (Z-2).

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
import type { Reconcile } from '../../contract/reconcile-store.ts';
import { STATUS_CODES, toStatus } from '../../execution-rows.ts';
import { loadChain } from '../load-view.ts';
import type { ReadTransaction } from '../transaction.ts';

export interface Page {
  readonly broken: readonly Violation[];
  readonly next?: string;
}

interface About {
  readonly execution: ExecutionId;
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
}

const ABOUT = 'id as execution, project, pipeline';

// One step through the index for each session: what they run is not looked at.
const SESSIONS = `
  with recursive carrier (session) as (
    select (select min(session_id) from execution indexed by execution_running where status = 1 and session_id > :after)
    union all
    select (select min(session_id) from execution indexed by execution_running where status = 1 and session_id > carrier.session)
      from carrier
     where carrier.session is not null)
  select session
    from carrier
   where session is not null
   limit :limit`;

const OF_SESSION = `
  select ${ABOUT}
    from execution indexed by execution_running
   where status = 1
     and session_id = :session
   limit :limit`;

const OF_NOBODY = `
  select ${ABOUT}
    from execution indexed by execution_running
   where status = 1
     and session_id is null
   limit :limit`;

/** Z-10, Z-20. */
export function lookAtSessions(tx: ReadTransaction, { after = '', limit }: Reconcile): Page {
  const sessions = tx.all<{ session: SessionId }>(SESSIONS, { after, limit });
  const broken = sessions.flatMap(({ session }): readonly Violation[] => {
    const trouble = judgeSession({ session, chain: loadChain(tx, session) }, tx.now);
    if (trouble?.invariant !== 'left-by-the-dead') return trouble === undefined ? [] : [trouble];
    return tx.all<About>(OF_SESSION, { session, limit }).map((row) => ({ ...trouble, ...row }));
  });
  const nobodys = after === '' ? tx.all<About>(OF_NOBODY, { limit }) : [];
  const unowned = nobodys.map((row): Violation => ({ invariant: 'run-by-nobody', ...row }));
  return { broken: [...unowned, ...broken], ...goOn(sessions, limit, ({ session }) => session) };
}

const OPEN_INTERACTIONS = `
  select open.project, open.id, open.execution_id as execution, execution.pipeline,
         coalesce(execution.status >= 10, 0) as ended
    from interaction as open indexed by interaction_open
    left join execution on execution.id = open.execution_id
   where open.status = 0
     and (open.project, open.id) > (:project, :id)
   order by open.project, open.id
   limit :limit`;

/** Z-13. */
export function lookAtAwaits(tx: ReadTransaction, { after, limit }: Reconcile): Page {
  type Row = About & { readonly id: string; readonly ended: number };
  const rows = tx.all<Row>(OPEN_INTERACTIONS, { ...placeIn(after), limit });
  const ended = new Map(rows.filter((row) => row.ended === 1).map((row) => [row.execution, row]));
  const broken = [...ended.values()].map(({ execution, project, pipeline }): Violation => {
    return { invariant: 'await-of-the-ended', project, execution, pipeline };
  });
  return { broken, ...goOn(rows, limit, ({ project, id }) => JSON.stringify([project, id])) };
}

const PLACES = `
  select project, key, slots, taken,
         (select count(*) from execution indexed by execution_placed where execution.has_place = 1 and execution.project = place.project and execution.place_key = place.key) as held,
         exists (select 1 from execution indexed by execution_behind where execution.project = place.project and execution.place_key = place.key and execution.hold >= 4 and execution.hold = 4 and execution.gated = 1) as wanted
    from place`;

const PAGE_OF_PLACES = `${PLACES}
   where (project, key) > (:project, :id)
   order by project, key
   limit :limit`;

const ONE_PLACE = `${PLACES}
   where project = :project
     and key = :key`;

type PlaceRow = Omit<PlaceFacts, 'isWanted'> & { readonly wanted: number };

/** Z-14. */
export function lookAtPlaces(tx: ReadTransaction, { after, limit }: Reconcile): Page {
  const rows = tx.all<PlaceRow>(PAGE_OF_PLACES, { ...placeIn(after), limit });
  const broken = rows.flatMap((row) => judgePlace({ ...row, isWanted: row.wanted === 1 }));
  return { broken, ...goOn(rows, limit, ({ project, key }) => JSON.stringify([project, key])) };
}

export function placeFacts(
  tx: ReadTransaction,
  project: string,
  key: string,
): PlaceFacts | undefined {
  const row = tx.get<PlaceRow>(ONE_PLACE, { project, key });
  return row && { ...row, isWanted: row.wanted === 1 };
}

const LETTERS = `
  select letter.execution_id as execution, letter.project, letter.pipeline, letter.status,
         letter.redriven_by, execution.status as actual,
         exists (select 1 from execution as redrive where redrive.id = letter.redriven_by and redrive.redrive_of = letter.execution_id) as is_redrive
    from dead_letter as letter
    left join execution on execution.id = letter.execution_id
   where letter.execution_id > :after
   order by letter.execution_id
   limit :limit`;

type LetterRow = About & {
  readonly status: number;
  readonly actual: number | null;
  readonly redriven_by: ExecutionId | null;
  readonly is_redrive: number;
};

/** Z-22. */
export function lookAtLetters(tx: ReadTransaction, { after = '', limit }: Reconcile): Page {
  const rows = tx.all<LetterRow>(LETTERS, { after, limit });
  const broken = rows.flatMap(({ execution, project, pipeline, ...row }) =>
    judgeLetter({
      ...{ execution, project, pipeline },
      status: toStatus(row.status),
      actual: row.actual === null ? undefined : toStatus(row.actual),
      redrivenBy: row.redriven_by ?? undefined,
      isRedrive: row.is_redrive === 1,
    }),
  );
  return { broken, ...goOn(rows, limit, ({ execution }) => execution) };
}

const SCHEDULES = `
  select project, id, paused, next_at is not null as has_next
    from schedule
   where (project, id) > (:project, :id)
   order by project, id
   limit :limit`;

/** Z-15, Z-24. */
export function lookAtSchedules(tx: ReadTransaction, { after, limit }: Reconcile): Page {
  type Row = { project: ProjectName; id: string; paused: number; has_next: number };
  const rows = tx.all<Row>(SCHEDULES, { ...placeIn(after), limit });
  const broken = rows.flatMap(({ project, id, paused, has_next }) =>
    judgeSchedule({ project, id, paused: paused === 1, hasNext: has_next === 1 }),
  );
  return { broken, ...goOn(rows, limit, ({ project, id }) => JSON.stringify([project, id])) };
}

// By the primary key: this goes through all that there ever was, a page at a time.
const EXECUTIONS = `
  select row_id, ${ABOUT}, status, seq, ready_at is not null as has_time,
         (select json_array(last.seq, last.kind) from history as last where last.row_id = execution.row_id order by last.seq desc limit 1) as last,
         status in (${STATUS_CODES.failed}, ${STATUS_CODES.quarantined})
         and exists (select 1 from dead_letter where dead_letter.execution_id = execution.id) as has_letter
    from execution
   where row_id > :after
   order by row_id
   limit :limit`;

type ExecutionPageRow = About & {
  readonly row_id: number;
  readonly status: number;
  readonly seq: number;
  readonly has_time: number;
  readonly last: string | null;
  readonly has_letter: number;
};

/** Z-15, Z-22, Z-23. */
export function lookAtExecutions(tx: ReadTransaction, { after = '0', limit }: Reconcile): Page {
  const rows = tx.all<ExecutionPageRow>(EXECUTIONS, { after: Number(after), limit });
  const broken = rows.flatMap(({ execution, project, pipeline, seq, ...row }) => {
    const last = JSON.parse(row.last ?? 'null') as [number, EventKind] | null;
    return judgeExecution({
      ...{ execution, project, pipeline, seq },
      status: toStatus(row.status),
      hasTime: row.has_time === 1,
      hasLetter: row.has_letter === 1,
      last: last === null ? undefined : { seq: last[0], kind: last[1] },
    });
  });
  return { broken, ...goOn(rows, limit, ({ row_id }) => String(row_id)) };
}

function placeIn(after: string | undefined): { readonly project: string; readonly id: string } {
  const [project = '', id = ''] = after === undefined ? [] : (JSON.parse(after) as string[]);
  return { project, id };
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
