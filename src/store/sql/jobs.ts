// Stores the items of bulk jobs. It also holds repin, the only verb of releases that bulk jobs use.

import type { ExecutionId } from '../../execution/names.ts';
import { routeOf } from '../../execution/route.ts';
import { changedByRepin } from '../../features/audit/decide.ts';
import { decideRepin } from '../../features/releases/decide.ts';
import type {
  ExecutionRepinned,
  ReleaseStore,
  RepinExecution,
} from '../../features/releases/port.ts';
import type {
  JobResults,
  NoteJobItem,
  RedriveResult,
  RepairStore,
} from '../../features/repair/port.ts';
import {
  fromItemResult,
  fromRefusedItem,
  toItemResult,
  toJobItem,
} from '../../features/repair/rows.ts';
import type { Instant } from '../../support/clock.ts';
import { LIST_ROWS_MAX } from '../contract/execution-reads.ts';
import type { CommandResult } from '../contract/execution-store.ts';
import { holdsOf, toExecution, toStatus } from '../execution-rows.ts';
import { writeAudit } from './audit.ts';
import { appendEvent, lockExecution } from './executions.ts';
import { shareRelease } from './releases.ts';
import { all, dialects, every, type Gateway, type Script, type Sql, sql } from './script.ts';

/** SQLite's column is named `target`. */
function ofItems(text: string): Sql {
  return dialects({ sqlite: text.replaceAll('target_id', 'target'), postgres: text });
}

const KEPT = ofItems(`
  select j.job_id as job, j.target_id as target, j.answer
    from jsonb_to_recordset(:items::jsonb) as n(job uuid, target uuid)
    join hf.job_item as j on j.job_id == n.job and j.target_id = n.target`);

// If two transactions process one item, the second violates the primary key. Its retry finds the
// first one's result.
const KEEP = ofItems(`
  insert into hf.job_item (job_id, target_id, at, outcome, made, answer)
  select n.job, n.target, hf_now(), n.outcome, n.made, n.answer
    from jsonb_to_recordset(:items::jsonb) as n(job uuid, target uuid, outcome text, made uuid, answer text)`);

const NOTE = ofItems(`
  insert into hf.job_item (job_id, target_id, at, outcome, answer)
  values (:job, :target, hf_now(), :outcome, :answer)
      on conflict (job_id, target_id) do nothing`);

const LIST = ofItems(`
  select j.target_id as target, j.outcome, j.made, j.at,
         (select e.status from hf.execution as e where e.id = j.made) as made_status
    from hf.job_item as j
   where j.job_id = :job
     and j.target_id > coalesce(:after, '00000000-0000-0000-0000-000000000000'::uuid)
   order by j.target_id
   limit :limit`);

const RESULTS = ofItems(`
  select (select e.status from hf.execution as e where e.id = m.made) as status, count(*) as count
    from (select j.made from hf.job_item as j where j.job_id = :job and j.made is not null limit ${LIST_ROWS_MAX}) as m
   group by 1`);

const REPIN = sql(`
  update hf.execution
     set pipeline = :route,
         hold     = :hold,
         seq      = :seq
   where id = :id`);

export function jobsOf({
  read,
  repeat,
}: Gateway): Pick<RepairStore, 'noteJobItem' | 'jobItems' | 'jobResults'> &
  Pick<ReleaseStore, 'repinExecution'> {
  return {
    noteJobItem: (request) => repeat(() => noteJobItem(request)),
    jobItems: (query) => read(() => every(LIST, query, toJobItem)),
    jobResults: (query) => read(() => jobResults(query)),
    repinExecution: (request) =>
      repeat(() => onceOfJob({ job: request.job, target: request.id }, () => repin(request)), {
        notifies: ({ kind }) => kind === 'repinned',
      }),
  };
}

type ItemResult = CommandResult | RedriveResult | ExecutionRepinned;

/** Identifies one item of a job. */
export interface OfJob {
  readonly job: ExecutionId;
  readonly target: ExecutionId;
}

/**
 * Returns the stored result of an item, or runs the operation and stores its result, refusals
 * included (Y-23).
 */
export function* onceOfJob<Result extends ItemResult>(
  { job, target }: { readonly job: ExecutionId | undefined; readonly target: ExecutionId },
  operation: () => Script<Result>,
): Script<Result> {
  if (job === undefined) return yield* operation();
  const item = { job, target };
  const kept = yield* keptResults<Result>([item]);
  const known = kept.get(itemName(item));
  if (known !== undefined) return known;
  const result = yield* operation();
  yield* keepResults([{ item, result }]);
  return result;
}

export function itemName({ job, target }: OfJob): string {
  return `${job} ${target}`;
}

/** Returns results by item name. Items that have not run are missing. */
export function* keptResults<Result extends ItemResult>(
  items: readonly OfJob[],
): Script<ReadonlyMap<string, Result>> {
  if (items.length === 0) return new Map();
  type Row = OfJob & { readonly answer: string };
  const rows = yield* all<Row>(KEPT, { items: JSON.stringify(items) });
  return new Map(rows.map((row) => [itemName(row), toItemResult<Result>(row.answer)]));
}

/** Runs in the transaction that processes the items. */
export function* keepResults(
  results: readonly { readonly item: OfJob; readonly result: ItemResult }[],
): Script<void> {
  if (results.length === 0) return;
  const items = results.map(({ item, result }) => ({ ...item, ...fromItemResult(result) }));
  yield* all(KEEP, { items: JSON.stringify(items) });
}

/** A result that is already stored stays. */
function* noteJobItem({ job, target, outcome }: NoteJobItem): Script<void> {
  yield* all(NOTE, { job, target, ...fromRefusedItem(outcome) });
}

function* jobResults({ job }: { readonly job: ExecutionId }): Script<JobResults> {
  type Row = { readonly status: number | null; readonly count: number };
  const rows = yield* all<Row>(RESULTS, { job });
  const known = rows.flatMap(({ status, count }) =>
    status === null ? [] : [[toStatus(status), count] as const],
  );
  return Object.fromEntries(known);
}

function* repin(request: RepinExecution): Script<ExecutionRepinned> {
  const { id, project, to } = request;
  const row = yield* lockExecution(id);
  const before = row === undefined ? undefined : toExecution(row);
  const pipeline = before?.pipeline;
  const release =
    pipeline === undefined ? undefined : yield* shareRelease({ project, pipeline, name: to });
  const now = row?.now ?? (0 as Instant);
  const decision = decideRepin({ execution: before, release }, request, now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'no-change' || before === undefined) {
    return { kind: 'no-change', id, release: to };
  }
  const { execution, event } = decision;
  const { seq } = event;
  yield* all(REPIN, { id, route: routeOf(execution), hold: holdsOf(execution), seq });
  yield* appendEvent(id, event);
  yield* writeAudit(request, changedByRepin(before, execution), now);
  return { kind: 'repinned', id, release: to };
}
