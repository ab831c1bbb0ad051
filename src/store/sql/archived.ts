// The index of archived executions (F-7).

import type { ExecutionId } from '../../execution/names.ts';
import type { ArchivedExecution } from '../../features/retention/model.ts';
import type { ListArchived, RetentionStore } from '../../features/retention/port.ts';
import {
  ARCHIVED_LABELS,
  type ArchivedLabel,
  type ArchivedRow,
  archivedLabels,
  fromArchived,
  toArchived,
} from '../../features/retention/rows.ts';
import { STATUS_CODES } from '../execution-rows.ts';
import { all, type Gateway, one, type Script, type Sql, sql } from './script.ts';

const NAMES = [
  ...['id', 'project', 'pipeline', 'status', 'submitted_at', 'ended_at', 'archived_at'],
  ...['key', 'tags', 'parent_id', 'redrive_of', 'place', 'digest'],
];

// The transaction that removes the execution holds its row, so no other one writes this.
const KEEP = sql(`
  insert into hf.archived (${NAMES.join(', ')})
  values (${NAMES.map((name) => `:${name}`).join(', ')})
      on conflict (id) do nothing`);

const LABEL = sql(`
  insert into hf.archived_label (project, kind, value, ended_at, execution_id)
  values (:project, :kind, :value, :endedAt, :id)
      on conflict do nothing`);

const COLUMNS = NAMES.map((name) => `a.${name}`).join(', ');

const READ = sql(`
  select ${COLUMNS}
    from hf.archived as a
   where a.id = :id`);

/** Selects the labels of `a` that have this kind. */
const labels = (kind: number): string =>
  `hf.archived_label as l where l.project = :project and l.kind = ${kind} and l.ended_at = a.ended_at and l.execution_id = a.id`;

/**
 * One index gives the order of the list; the statement checks the other filters row by row. Bounds
 * are never null, because a bound that may be null keeps the planner from using the index.
 */
function listBy(
  lead: string,
  [endedAt, id]: readonly [string, string] = ['a.ended_at', 'a.id'],
): Sql {
  return sql(`
  select ${COLUMNS}
    from ${lead}
     and ${endedAt} >= :from::bigint
     and (${endedAt}, ${id}) < (:belowAt::bigint, :belowId::uuid)
     and (:pipeline::text is null or a.pipeline = :pipeline)
     and (:status::smallint is null or a.status = :status)
     and (:tag::text is null or exists (select 1 from ${labels(ARCHIVED_LABELS.tag)} and l.value = :tag))
     and (select count(*) from ${labels(ARCHIVED_LABELS.word)} and l.value = any (:words::text[])) = :wordCount::bigint
   order by ${endedAt} desc, ${id} desc
   limit :limit`);
}

const ALL = listBy('hf.archived as a indexed by archived_list where a.project = :project');
const BY_PIPELINE = listBy(
  'hf.archived as a indexed by archived_pipeline where a.project = :project and a.pipeline = :pipeline',
);
const BY_STATUS = listBy(
  'hf.archived as a indexed by archived_status where a.project = :project and a.status = :status',
);
const BY_LABEL = listBy(
  `hf.archived_label as w cross join hf.archived as a
   where a.id == w.execution_id and w.project = :project and w.kind = :kind and w.value = :value`,
  ['w.ended_at', 'w.execution_id'],
);

// Counts up to a limit that is enough to find the rarest label, which leads the list.
const COUNT = sql(`
  select count(*) as found
    from (select 1
            from hf.archived_label as l
           where l.project = :project
             and l.kind = :kind
             and l.value = :value
           limit 1000) as counted`);

export function archivesOf({ read }: Gateway): Pick<RetentionStore, 'archived' | 'listArchived'> {
  return {
    archived: (id) => read(() => archived(id)),
    listArchived: (query) => read(() => listArchived(query)),
  };
}

export function* keepArchived(execution: ArchivedExecution): Script<void> {
  yield* all(KEEP, fromArchived(execution));
  const { id, project, endedAt } = execution;
  for (const label of archivedLabels(execution)) {
    yield* all(LABEL, { id, project, endedAt, ...label });
  }
}

function* archived(id: ExecutionId): Script<ArchivedExecution | undefined> {
  const row = yield* one<ArchivedRow>(READ, { id });
  return row === undefined ? undefined : toArchived(row);
}

function* listArchived(query: ListArchived): Script<readonly ArchivedExecution[]> {
  const words = [...new Set(query.words)];
  const label = yield* rarestLabel(query, words);
  const rows = yield* all<ArchivedRow>(leadOf(query, label), {
    from: 0,
    ...query,
    ...belowOf(query),
    ...label,
    words,
    wordCount: words.length,
    status: query.status === undefined ? undefined : STATUS_CODES[query.status],
  });
  return rows.map(toArchived);
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Returns the lower of two upper bounds: the page mark and `to`. */
function belowOf({ to, before }: ListArchived): { belowAt: number; belowId: string } {
  const isBelow = before !== undefined && (to === undefined || before.endedAt < to);
  if (isBelow) return { belowAt: before.endedAt, belowId: before.id };
  return to === undefined
    ? { belowAt: Number.MAX_SAFE_INTEGER, belowId: LAST_ID }
    : { belowAt: to, belowId: FIRST_ID };
}

function* rarestLabel(
  { project, tag }: ListArchived,
  words: readonly string[],
): Script<ArchivedLabel | undefined> {
  const labels = [
    ...words.map((value) => ({ kind: ARCHIVED_LABELS.word, value })),
    ...(tag === undefined ? [] : [{ kind: ARCHIVED_LABELS.tag, value: tag }]),
  ];
  if (labels.length < 2) return labels[0];
  const counted: { readonly label: ArchivedLabel; readonly found: number }[] = [];
  for (const label of labels) {
    const row = yield* one<{ found: number }>(COUNT, { project, ...label });
    counted.push({ label, found: row?.found ?? 0 });
  }
  return counted.sort((a, b) => a.found - b.found)[0]?.label;
}

function leadOf({ pipeline, status }: ListArchived, label: ArchivedLabel | undefined): Sql {
  if (label !== undefined) return BY_LABEL;
  if (pipeline !== undefined) return BY_PIPELINE;
  return status === undefined ? ALL : BY_STATUS;
}
