// The index of archived executions (F-7).

import type { ExecutionId } from '../../execution/names.ts';
import type { ArchivedExecution } from '../../features/retention/model.ts';
import type { ArchivedPlace, ListArchived, RetentionStore } from '../../features/retention/port.ts';
import {
  ARCHIVED_LABELS,
  type ArchivedLabel,
  archivedLabels,
  fromArchived,
  toArchived,
} from '../../features/retention/rows.ts';
import { toInstant } from '../../support/clock.ts';
import { wordsIn } from '../../support/options.ts';
import { LIST_ROWS_MAX } from '../contract/execution-reads.ts';
import { STATUS_CODES } from '../execution-rows.ts';
import { countGiven, type Lists } from './newest-first.ts';
import { all, every, found, type Gateway, one, type Script, sql } from './script.ts';

const NAMES = wordsIn(
  'id project pipeline status submitted_at ended_at archived_at key tags parent_id redrive_of place digest erased',
);

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
): Lists {
  const edge = sql(`
  select ${endedAt} as ended_at, ${id} as id
    from ${lead}
     and ${endedAt} >= :from::bigint
     and (${endedAt}, ${id}) < (:belowAt::bigint, :belowId::uuid)
   order by ${endedAt} desc, ${id} desc
   limit 1 offset ${LIST_ROWS_MAX - 1}`);
  const list = sql(`
  select ${COLUMNS}
    from ${lead}
     and ${endedAt} >= :from::bigint
     and (${endedAt}, ${id}) < (:belowAt::bigint, :belowId::uuid)
     and (${endedAt}, ${id}) >= (:downAt::bigint, :downId::uuid)
     and (:pipeline::text is null or a.pipeline = :pipeline)
     and (:status::smallint is null or a.status = :status)
     and (:tag::text is null or exists (select 1 from ${labels(ARCHIVED_LABELS.tag)} and l.value = :tag))
     and (select count(*) from ${labels(ARCHIVED_LABELS.word)} and l.value = any (:words::text[])) = :wordCount::bigint
   order by ${endedAt} desc, ${id} desc
   limit :limit`);
  return { list, edge };
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

export function archivesOf({ read }: Gateway) {
  return {
    archived: (id) => read(() => found(READ, { id }, toArchived)),
    archivedEdge: (query) => read(() => archivedEdge(query)),
    listArchived: (query) => read(() => listArchived(query)),
  } satisfies Partial<RetentionStore>;
}

const LOCK = sql(`
  select ${COLUMNS}
    from hf.archived as a
   where a.id = :id
     for no key update of a`);

export function* lockArchived(id: ExecutionId): Script<ArchivedExecution | undefined> {
  return yield* found(LOCK, { id }, toArchived);
}

// The primary key of labels begins with project and kind, and the archived row has the rest.
const FORGET_TAGS = sql(`
  delete from hf.archived_label as l
   where l.kind = ${ARCHIVED_LABELS.tag}
     and l.project = (select a.project from hf.archived as a where a.id = :id)
     and l.value = any (:tags::text[])
     and l.ended_at = (select a.ended_at from hf.archived as a where a.id = :id)
     and l.execution_id = :id`);

/** Tags are values of the user. Words of the key stay, as the key does (F-13). */
export function* forgetTags({ id, tags }: Pick<ArchivedExecution, 'id' | 'tags'>): Script<void> {
  yield* all(FORGET_TAGS, { id, tags });
}

export function* keepArchived(execution: ArchivedExecution): Script<void> {
  yield* all(KEEP, fromArchived(execution));
  const { id, project, endedAt } = execution;
  for (const label of archivedLabels(execution)) {
    yield* all(LABEL, { id, project, endedAt, ...label });
  }
}

/** Checks of many rows block other requests, so a page ends after some. */
function* archivedEdge(query: ListArchived): Script<ArchivedPlace | undefined> {
  const words = wordsOf(query);
  if (countGiven(query.pipeline, query.status, query.tag, ...words) < 2) return undefined;
  const label = yield* rarestLabel(query, words);
  const { edge } = leadOf(query, label);
  type Row = { readonly ended_at: number; readonly id: ExecutionId };
  const row = yield* one<Row>(edge, parametersOf(query, label));
  return row && { endedAt: toInstant(row.ended_at), id: row.id };
}

function* listArchived(query: ListArchived): Script<readonly ArchivedExecution[]> {
  const label = yield* rarestLabel(query, wordsOf(query));
  const { list } = leadOf(query, label);
  return yield* every(list, parametersOf(query, label), toArchived);
}

function wordsOf({ words }: ListArchived): readonly string[] {
  return [...new Set(words)];
}

function parametersOf(query: ListArchived, label: ArchivedLabel | undefined): object {
  const words = wordsOf(query);
  return {
    ...{ from: 0, ...query, ...belowOf(query), ...label, words, wordCount: words.length },
    downAt: query.downTo?.endedAt ?? 0,
    downId: query.downTo?.id ?? FIRST_ID,
    status: query.status === undefined ? undefined : STATUS_CODES[query.status],
  };
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

function leadOf({ pipeline, status }: ListArchived, label: ArchivedLabel | undefined): Lists {
  if (label !== undefined) return BY_LABEL;
  if (pipeline !== undefined) return BY_PIPELINE;
  return status === undefined ? ALL : BY_STATUS;
}
