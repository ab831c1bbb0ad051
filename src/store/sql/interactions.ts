// Reads units and interactions, and lists them for people (W-5, W-10).

import type { ExecutionId, InteractionId } from '../../execution/names.ts';
import {
  type Answer,
  type AwaitUnit,
  type DuePlace,
  duePlaceOf,
} from '../../features/awaits/model.ts';
import type {
  AwaitStore,
  DuePage,
  FilterOpen,
  InteractionFound,
  ListDue,
  ListInteractions,
  ReadInteraction,
} from '../../features/awaits/port.ts';
import {
  AWAIT_CODES,
  INTERACTION_CODES,
  type InteractionRow,
  toAnswer,
  toAwaitUnit,
  toInteraction,
} from '../../features/awaits/rows.ts';
import { COUNT_MAX, type Count } from '../../features/overview/model.ts';
import { toInstant } from '../../support/clock.ts';
import { LIST_ROWS_MAX } from '../contract/execution-reads.ts';
import { countGiven, edgeOf, ifGiven, type Lists, newestFirst } from './newest-first.ts';
import {
  all,
  every,
  found,
  type Gateway,
  one,
  type Script,
  type Sql,
  sql,
  sqlPerDialect,
} from './script.ts';

/** Columns with the types that PostgreSQL needs to read rows from JSON. */
export const UNIT = `execution_id uuid, call text, project text, pipeline text, name text, status smallint, items integer,
         needed integer, answered integer, opened_at bigint, settled_at bigint, due_at bigint, next_at bigint, about text`;

export const INTERACTION = `id text, execution_id uuid, call text, item integer, project text, status smallint, request text,
         assignee text, answer text, digest text, answered_by text, answered_at bigint, verified boolean, late integer,
         correlation text`;

export function columnNames(columns: string): readonly string[] {
  return columns.split(',').map((column) => column.trim().split(' ')[0] ?? '');
}

const UNIT_NAMES = columnNames(UNIT);

function columnsOf(names: readonly string[], column: (name: string) => string): string {
  return names.map(column).join(', ');
}

export const UNIT_COLUMNS: string = columnsOf(UNIT_NAMES, (name) => `u.${name}`);
export const INTERACTION_COLUMNS: string = columnsOf(
  columnNames(INTERACTION),
  (name) => `i.${name}`,
);

/** Prefixes the unit's columns, because the interaction's columns have the same names. */
export const OF_UNIT: string = columnsOf(UNIT_NAMES, (name) => `u.${name} as unit_${name}`);

export type FoundRow = InteractionRow & Readonly<Record<`unit_${string}`, unknown>>;

export function unitIn(row: FoundRow): AwaitUnit | undefined {
  const values = UNIT_NAMES.map((name): unknown[] => [name, row[`unit_${name}`]]);
  return values[0]?.[1] === null ? undefined : toAwaitUnit(Object.fromEntries(values));
}

export function interactionsOf({ read }: Pick<Gateway, 'read'>) {
  return {
    interaction: (query) => read(() => found(READ, query, toFound)),
    interactions: (query) => {
      const list = query.execution === undefined ? indexFor(query).list : BY_EXECUTION;
      return read(() => every(list, query, toFound));
    },
    idOfCorrelation: (query) =>
      read(() => found(BY_CORRELATION, query, ({ id }: { readonly id: InteractionId }) => id)),
    interactionsEdge: (query) => read(() => interactionsEdge(query)),
    dueInteractions: (query) => read(() => dueInteractions(query)),
    countInteractions: (query) => read(() => countInteractions(query)),
    lateAnswers: (query) => read(() => lateAnswers(query)),
  } satisfies Partial<AwaitStore>;
}

const WITH_UNIT =
  'left join hf.await_unit as u on u.execution_id == i.execution_id and u.call = i.call';

const READ = sql(`
  select ${INTERACTION_COLUMNS}, ${OF_UNIT}
    from hf.interaction as i ${WITH_UNIT}
   where i.id = :id
     and i.project = :project`);

const BY_CORRELATION = sql(`
  select i.id
    from hf.interaction as i
   where i.project = :project
     and i.correlation = :correlation`);

function toFound(row: FoundRow): InteractionFound {
  return { interaction: toInteraction(row), unit: unitIn(row) };
}

const IS_OPEN = `i.status = ${INTERACTION_CODES.open}`;
const IS_QUEUED = `i.status = ${INTERACTION_CODES.queued}`;

/** Greater than the id of any interaction. */
const LAST_ID = "'~'";

const FILTERS = [
  `(:open::boolean is null or (${IS_OPEN}) = :open)`,
  `(:queued::boolean is null or ${IS_QUEUED})`,
  '(:execution::uuid is null or coalesce(i.execution_id = :execution, false))',
  ifGiven('i.call', ':call'),
  ifGiven('i.assignee', ':assignee'),
  ifGiven('i.name', ':name'),
];

function listBy(index: string, lead: Readonly<Record<string, string>>, where = 'true'): Lists {
  return newestFirst({
    select: `${INTERACTION_COLUMNS}, ${OF_UNIT}`,
    table: 'interaction as i',
    join: WITH_UNIT,
    id: 'i.id',
    first: "''",
    last: LAST_ID,
    ...{ index, lead, where, filters: FILTERS },
  });
}

const project = ':project';
const BY_PROJECT = listBy('interaction_list', { 'i.project collate "POSIX"': project });
const OPEN_BY_PROJECT = listBy('interaction_open', { 'i.project': project }, IS_OPEN);
const QUEUED_BY_PROJECT = listBy('interaction_queued', { 'i.project': project }, IS_QUEUED);
const OPEN_BY_ASSIGNEE = listBy(
  'interaction_assignee',
  { 'i.assignee': ':assignee', 'i.project': project },
  `${IS_OPEN} and i.assignee is not null`,
);
const OPEN_BY_NAME = listBy(
  'interaction_name',
  { 'i.name': ':name', 'i.project': project },
  `${IS_OPEN} and i.name is not null`,
);

// An expression on the id keeps PostgreSQL from using the index of ids, where it would read the
// interactions of all executions.
const BY_EXECUTION = sql(`
  select ${INTERACTION_COLUMNS}, ${OF_UNIT}
    from hf.interaction as i indexed by interaction_execution ${WITH_UNIT}
   where i.execution_id = :execution
     and coalesce(i.project = :project, false)
     and i.id || '' < coalesce(:before, ${LAST_ID})
     and ${FILTERS.join('\n     and ')}
   order by i.id || '' desc
   limit :limit`);

function* interactionsEdge(query: ListInteractions): Script<InteractionId | undefined> {
  const { open, execution, call, assignee, name } = query;
  if (execution !== undefined) return undefined;
  const isLed = open === true && (assignee ?? name) !== undefined;
  const checks = countGiven(call, assignee, name, open === true ? undefined : open);
  return checks === (isLed ? 1 : 0) ? undefined : yield* edgeOf(indexFor(query).edge, query);
}

/**
 * One filter selects the index; the statement checks the others row by row (W-10). The indexes of
 * open interactions contain only open ones.
 */
function indexFor({
  open,
  queued,
  assignee,
  name,
}: Pick<ListInteractions, 'open' | 'queued' | 'assignee' | 'name'>): Lists {
  if (queued === true) return QUEUED_BY_PROJECT;
  if (open !== true) return BY_PROJECT;
  if (assignee !== undefined) return OPEN_BY_ASSIGNEE;
  return name === undefined ? OPEN_BY_PROJECT : OPEN_BY_NAME;
}

interface DueRow {
  readonly due_at: number | null;
  readonly execution_id: ExecutionId;
  readonly id: InteractionId;
}

function toPlace({ due_at, execution_id, id }: DueRow): DuePlace {
  return { ...(due_at === null ? {} : { dueAt: toInstant(due_at) }), execution: execution_id, id };
}

/** Open units in the order of the index, and the open interactions of each. */
function dueBy(where: string, order: string, bound: (end: 'after' | 'upTo') => string): Lists {
  const rows = (select: string, end: string): Sql =>
    sqlPerDialect(
      { sqlite: 'cross join', postgres: 'join' },
      (join) => `
  select ${select}
    from hf.await_unit as u indexed by await_unit_due
    ${join} hf.interaction as i on i.execution_id == u.execution_id and i.call = u.call
   where u.project = :project
     and u.project >= ''
     and u.status = ${AWAIT_CODES.open}
     and ${where}
     and (${order}) >= (${bound('after')})
     and (${order}, i.id) > (${bound('after')}, :afterId)
     and coalesce(${IS_OPEN}, false)
     ${end}`,
    );
  const inOrder = `order by ${order}, i.id`;
  return {
    list: rows(
      `${INTERACTION_COLUMNS}, ${OF_UNIT}`,
      `and (${order}, i.id) <= (${bound('upTo')}, :upToId)
     and ${ifGiven('i.assignee', ':assignee')}
     and ${ifGiven('i.name', ':name')}
   ${inOrder}
   limit :limit`,
    ),
    edge: rows(
      'u.due_at, u.execution_id, i.id',
      `${inOrder}
   limit 1 offset ${LIST_ROWS_MAX - 1}`,
    ),
  };
}

/** First those with a time limit. Both parts are ranges of one index. */
const TIMED = dueBy(
  'u.due_at is not null',
  'u.due_at, u.execution_id',
  (end) => `:${end}At::bigint, :${end}Execution::uuid`,
);
const UNTIMED = dueBy('u.due_at is null', 'u.execution_id', (end) => `:${end}Execution::uuid`);

const END = {
  upToAt: Number.MAX_SAFE_INTEGER,
  upToExecution: 'ffffffff-ffff-ffff-ffff-ffffffffffff',
  upToId: '~',
} as const;

function* dueInteractions(query: ListDue): Script<DuePage> {
  const { after, limit } = query;
  const timed: DuePage =
    after !== undefined && after.dueAt === undefined
      ? { items: [] }
      : yield* duePart(TIMED, query, after);
  if (timed.next !== undefined) return timed;
  const rest = { ...query, limit: limit - timed.items.length };
  const untimed = yield* duePart(UNTIMED, rest, after?.dueAt === undefined ? after : undefined);
  return { ...untimed, items: [...timed.items, ...untimed.items] };
}

/** Filters are checked row by row, so a page with one ends after some rows. */
function* duePart(by: Lists, query: ListDue, after: DuePlace | undefined): Script<DuePage> {
  const { assignee, name, limit } = query;
  const values = {
    ...query,
    afterAt: after?.dueAt ?? 0,
    afterExecution: after?.execution ?? '00000000-0000-0000-0000-000000000000',
    afterId: after?.id ?? '',
  };
  const isChecked = (assignee ?? name) !== undefined;
  const edge = isChecked ? yield* found(by.edge, values, toPlace) : undefined;
  const upTo = edge && {
    upToAt: edge.dueAt,
    upToExecution: edge.execution,
    upToId: edge.id,
  };
  const items = yield* every(by.list, { ...values, ...END, ...upTo }, toFound);
  const last = items.at(-1);
  const next = items.length < limit || last === undefined ? edge : duePlaceOf(last);
  return { items, ...(next && { next }) };
}

const COUNTS: ReadonlyMap<Lists, Sql> = new Map([
  [OPEN_BY_PROJECT, openCount('interaction_open', 'i.project = :project')],
  [
    OPEN_BY_ASSIGNEE,
    openCount('interaction_assignee', 'i.project = :project and i.assignee = :assignee'),
  ],
  [OPEN_BY_NAME, openCount('interaction_name', 'i.project = :project and i.name = :name')],
]);

/** One more than the maximum shows that there are more. */
function openCount(index: string, lead: string): Sql {
  return sql(`
  select count(*) as examined, count(case when ${ifGiven('i.assignee', ':assignee')} and ${ifGiven('i.name', ':name')} then 1 end) as count
    from (select i.assignee, i.name
            from hf.interaction as i indexed by ${index}
           where ${lead}
             and ${IS_OPEN}
           limit ${COUNT_MAX + 1}) as i`);
}

function* countInteractions(query: FilterOpen): Script<Count> {
  const counting = COUNTS.get(indexFor({ ...query, open: true })) as Sql;
  const row = yield* one<{ readonly examined: number; readonly count: number }>(counting, query);
  const { examined = 0, count = 0 } = row ?? {};
  return { count: Math.min(count, COUNT_MAX), capped: examined > COUNT_MAX };
}

const LATE = sql(`
  select l.answer, l.digest, l.answered_by, l.answered_at
    from hf.interaction as i
    join hf.late_answer as l on l.interaction_id = i.id
   where i.id = :id
     and i.project = :project
   order by l.n`);

/** Lists the late answers of an interaction (W-5). */
function* lateAnswers(query: ReadInteraction): Script<readonly Answer[]> {
  const rows = yield* all<Parameters<typeof toAnswer>[0]>(LATE, query);
  return rows.flatMap((row) => toAnswer(row) ?? []);
}
