import type { Answer } from '../../../features/awaits/model.ts';
import type {
  InteractionFound,
  ListInteractions,
  ReadInteraction,
} from '../../../features/awaits/port.ts';
import {
  type AwaitUnitRow,
  INTERACTION_CODES,
  type InteractionRow,
  toAnswer,
  toAwaitUnit,
  toInteraction,
} from '../../../features/awaits/rows.ts';
import { type Database, type Statement, statement } from '../database.ts';

const WITH_UNIT = `row_to_json(i) as interaction,
         (select row_to_json(u) from hf.await_unit u where u.execution_id = i.execution_id and u.call = i.call) as unit`;

const READ = statement(`
  select ${WITH_UNIT}
    from hf.interaction i
   where i.id = $2
     and i.project = $1`);

/** From the newest on, and from `before` on. */
type List = readonly [Statement, Statement];

const OPEN = `i.status = ${INTERACTION_CODES.open}`;

const FILTERS = `($2::boolean is null or (${OPEN}) = $2)
         and ($3::uuid is null or coalesce(i.execution_id = $3, false))
         and ($4::text is null or coalesce(i.call = $4, false))
         and ($5::text is null or coalesce(i.assignee = $5, false))
         and ($6::text is null or coalesce(i.name = $6, false))`;

// $1 project, $2 open or not, $3 execution, $4 call, $5 assignee, $6 name, $7 limit, $8 before
function listing(from: string, order: readonly string[]): Statement {
  return statement(`
  select ${WITH_UNIT}
    from (
      select i.*
        from ${from}
         and ${FILTERS}
       order by ${order.map((column) => `${column} desc`).join(', ')}
       limit $7
    ) i
   order by i.id desc`);
}

/**
 * W-10: newest first, by the index that has these columns and then the id. No other begins with the same, and
 * equality would let the planner take the primary key for the order, and read all projects.
 */
function listBy(columns: readonly string[], values: string, where = 'true'): List {
  const of = columns.join(', ');
  const from = `hf.interaction i where ${where} and (${of}) >= (${values})`;
  const order = [...columns, 'i.id'];
  return [
    listing(`${from} and (${of}) <= (${values})`, order),
    listing(`${from} and (${of}, i.id) < (${values}, $8)`, order),
  ];
}

const BY_PROJECT = listBy(['i.project collate "POSIX"'], '$1');
const OPEN_BY_PROJECT = listBy(['i.project'], '$1', OPEN);
const OPEN_BY_ASSIGNEE = listBy(
  ['i.assignee', 'i.project'],
  '$5, $1',
  `${OPEN} and i.assignee is not null`,
);
const OPEN_BY_NAME = listBy(['i.name', 'i.project'], '$6, $1', `${OPEN} and i.name is not null`);

const OF_EXECUTION =
  '(select i.* from hf.interaction i where i.execution_id = $3 offset 0) i where i.project = $1';
const BY_EXECUTION: List = [
  listing(OF_EXECUTION, ['i.id']),
  listing(`${OF_EXECUTION} and i.id < $8`, ['i.id']),
];

function indexFor({ open, execution, assignee, name }: ListInteractions): List {
  if (execution !== undefined) return BY_EXECUTION;
  if (open !== true) return BY_PROJECT;
  if (assignee !== undefined) return OPEN_BY_ASSIGNEE;
  return name === undefined ? OPEN_BY_PROJECT : OPEN_BY_NAME;
}

interface FoundRow {
  readonly interaction: InteractionRow;
  readonly unit: AwaitUnitRow | null;
}

export async function interaction(
  database: Database,
  { project, id }: ReadInteraction,
): Promise<InteractionFound | undefined> {
  const [row] = await database.rows<FoundRow & object>(READ, [project, id]);
  return row === undefined ? undefined : toFound(row);
}

export async function interactions(
  database: Database,
  query: ListInteractions,
): Promise<readonly InteractionFound[]> {
  const { project, open, execution, call, assignee, name, before, limit } = query;
  const filters = [open, execution, call, assignee, name].map((each) => each ?? null);
  const [first, next] = indexFor(query);
  const rows =
    before === undefined
      ? await database.rows<FoundRow & object>(first, [project, ...filters, limit])
      : await database.rows<FoundRow & object>(next, [project, ...filters, limit, before]);
  return rows.map(toFound);
}

function toFound({ interaction, unit }: FoundRow): InteractionFound {
  return {
    interaction: toInteraction(interaction),
    unit: unit === null ? undefined : toAwaitUnit(unit),
  };
}

const LATE = statement(`
  select l.answer, l.digest, l.answered_by, l.answered_at
    from hf.interaction i
    join hf.late_answer l on l.interaction_id = i.id
   where i.id = $2
     and i.project = $1
   order by l.n`);

type LateRow = Parameters<typeof toAnswer>[0];

/** W-5. */
export async function lateAnswers(
  database: Database,
  { project, id }: ReadInteraction,
): Promise<readonly Answer[]> {
  const rows = await database.rows<LateRow & object>(LATE, [project, id]);
  return rows.flatMap((row) => toAnswer(row) ?? []);
}
