// Reads units and interactions, and lists them for people (W-5, W-10).

import type { InteractionId } from '../../execution/names.ts';
import type { Answer, AwaitUnit } from '../../features/awaits/model.ts';
import type {
  AwaitStore,
  InteractionFound,
  ListInteractions,
  ReadInteraction,
} from '../../features/awaits/port.ts';
import {
  INTERACTION_CODES,
  type InteractionRow,
  toAnswer,
  toAwaitUnit,
  toInteraction,
} from '../../features/awaits/rows.ts';
import { countGiven, edgeOf, ifGiven, type Lists, newestFirst } from './newest-first.ts';
import { all, every, found, type Gateway, type Script, sql } from './script.ts';

/** Columns with the types that PostgreSQL needs to read rows from JSON. */
export const UNIT = `execution_id uuid, call text, project text, pipeline text, name text, status smallint, items integer,
         needed integer, answered integer, opened_at bigint, settled_at bigint, due_at bigint, next_at bigint, about text`;

export const INTERACTION = `id text, execution_id uuid, call text, item integer, project text, status smallint, request text,
         assignee text, answer text, digest text, answered_by text, answered_at bigint, verified boolean, late integer`;

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
    interactionsEdge: (query) => read(() => interactionsEdge(query)),
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

function toFound(row: FoundRow): InteractionFound {
  return { interaction: toInteraction(row), unit: unitIn(row) };
}

const IS_OPEN = `i.status = ${INTERACTION_CODES.open}`;

/** Greater than the id of any interaction. */
const LAST_ID = "'~'";

const FILTERS = [
  `(:open::boolean is null or (${IS_OPEN}) = :open)`,
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
function indexFor({ open, assignee, name }: ListInteractions): Lists {
  if (open !== true) return BY_PROJECT;
  if (assignee !== undefined) return OPEN_BY_ASSIGNEE;
  return name === undefined ? OPEN_BY_PROJECT : OPEN_BY_NAME;
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
