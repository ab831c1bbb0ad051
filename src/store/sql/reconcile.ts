// What is looked at when rows are compared with each other, by the indexes that are there (Z-2). Each look is one
// statement, so it is one moment.

import type { EventKind } from '../../execution/history.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import {
  judgeExecution,
  judgeLetter,
  judgePlace,
  judgeSchedule,
  type PlaceFacts,
} from '../../features/reconcile/decide.ts';
import type { Part, Violation } from '../../features/reconcile/model.ts';
import type { Reconcile } from '../../features/reconcile/port.ts';
import { STATUS_CODES, toStatus } from '../execution-rows.ts';
import { all, dialects, one, type Script, sql } from './script.ts';

export interface Page {
  readonly broken: readonly Violation[];
  readonly next?: string;
}

export interface About {
  readonly execution: ExecutionId;
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
}

/** Of SQLite, which has 0 and 1, or of PostgreSQL. */
type Flag = number | boolean;

const FIRST_ID = "'00000000-0000-0000-0000-000000000000'::uuid";

/** These look alike on both stores; sessions and what waits are paged by indexes that differ. */
export const LOOKS: Readonly<
  Record<Exclude<Part, 'running' | 'waiting'>, (request: Reconcile) => Script<Page>>
> = {
  awaits: lookAtAwaits,
  places: lookAtPlaces,
  'dead-letters': lookAtLetters,
  schedules: lookAtSchedules,
  executions: lookAtExecutions,
};

const OPEN_INTERACTIONS = sql(`
  select i.project, i.id, i.execution_id as execution, e.pipeline, coalesce(e.status >= 10, false) as ended
    from hf.interaction as i indexed by interaction_open
    left join hf.execution as e on e.id == i.execution_id
   where i.status = 0
     and (i.project, i.id) > (:project, :id)
   order by i.project, i.id
   limit :limit`);

/** Z-13. */
function* lookAtAwaits({ after, limit }: Reconcile): Script<Page> {
  type Row = About & { readonly id: string; readonly ended: Flag };
  const rows = yield* all<Row>(OPEN_INTERACTIONS, { ...placeIn(after), limit });
  const ended = new Map(
    rows.filter((row) => Boolean(row.ended)).map((row) => [row.execution, row]),
  );
  const broken = [...ended.values()].map(({ execution, project, pipeline }): Violation => {
    return { invariant: 'await-of-the-ended', project, execution, pipeline };
  });
  return { broken, ...goOn(rows, limit, ({ project, id }) => JSON.stringify([project, id])) };
}

const places = (held: string, wanted: string): string => `
  select p.project, p.key, p.slots, p.taken,
         (select count(*) from ${held} and e.project = p.project and e.place_key = p.key) as held,
         exists (select 1 from ${wanted} and e.project = p.project and e.place_key = p.key) as wanted
    from hf.place as p`;

const PLACES = {
  sqlite: places(
    'execution as e indexed by execution_placed where e.has_place = 1',
    'execution as e indexed by execution_behind where e.hold >= 4 and e.hold = 4 and e.gated = 1',
  ),
  postgres: places('hf.execution e where e.has_place', 'hf.execution e where e.hold = 4'),
};

const PAGE = `
   where (p.project, p.key) > (:project, :id)
   order by p.project, p.key
   limit :limit`;

const PAGE_OF_PLACES = dialects({
  sqlite: PLACES.sqlite + PAGE,
  postgres: PLACES.postgres + PAGE,
});

const ONE = `
   where p.project = :project
     and p.key = :key`;

const ONE_PLACE = dialects({ sqlite: PLACES.sqlite + ONE, postgres: PLACES.postgres + ONE });

type PlaceRow = Omit<PlaceFacts, 'isWanted'> & { readonly wanted: Flag };

/** Z-14. */
function* lookAtPlaces({ after, limit }: Reconcile): Script<Page> {
  const rows = yield* all<PlaceRow>(PAGE_OF_PLACES, { ...placeIn(after), limit });
  const broken = rows.flatMap((row) => judgePlace(toPlace(row)));
  return { broken, ...goOn(rows, limit, ({ project, key }) => JSON.stringify([project, key])) };
}

export function* placeFacts(project: string, key: string): Script<PlaceFacts | undefined> {
  const row = yield* one<PlaceRow>(ONE_PLACE, { project, key });
  return row === undefined ? undefined : toPlace(row);
}

function toPlace({ wanted, ...row }: PlaceRow): PlaceFacts {
  return { ...row, isWanted: Boolean(wanted) };
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

/** Z-22. */
function* lookAtLetters({ after, limit }: Reconcile): Script<Page> {
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

/** Z-15, Z-24. */
function* lookAtSchedules({ after, limit }: Reconcile): Script<Page> {
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

// By the primary key: this goes through all that there ever was, a page at a time.
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
  readonly last_kind: EventKind | null;
};

/** Z-15, Z-22, Z-23. */
function* lookAtExecutions({ after, limit }: Reconcile): Script<Page> {
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

/** There may be more after a page that is full. */
export function goOn<Row>(
  rows: readonly Row[],
  limit: number,
  mark: (last: Row) => string,
): { readonly next?: string } {
  const last = rows.at(-1);
  return last === undefined || rows.length < limit ? {} : { next: mark(last) };
}
