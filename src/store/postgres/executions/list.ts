import type { ExecutionRecord } from '../../../execution/execution.ts';
import { type ExecutionId, OWN_PREFIX } from '../../../execution/names.ts';
import {
  type AttributeFilter,
  LIST_ROWS_MAX,
  type ListExecutions,
} from '../../contract/execution-store.ts';
import { codesWith, type ExecutionRow, STATUS_CODES, toExecution } from '../../execution-rows.ts';
import { EXECUTION_COLUMNS } from '../../sql/executions.ts';
import { afterPrefix, FIRST_ID, LAST_ID } from '../../sql/newest-first.ts';
import { type Database, type Statement, statement } from '../database.ts';
import { equalsByIndex } from '../predicates.ts';
import { numbers } from './arrays.ts';

// The index for lists uses this collation; see the migration.
const IN_PROJECT = 'e.project collate "POSIX" = $1';
const PIPELINE = 'e.pipeline collate "POSIX"';
const OF_PIPELINE = `case when $3::text is null then not starts_with(e.pipeline, '${OWN_PREFIX}') else split_part(e.pipeline, chr(31), 1) = $3 end`;
const IN_ROUTES = `($3::text is null or (${PIPELINE} > $3 || chr(31) and ${PIPELINE} < $3 || ' '))`;

// One index serves all of these: a loose scan finds pipelines, then the newest of each status.
// Running executions have their own index. `between` and the order by status leave the planner only
// this index. The parameters are $1 project, $2 statuses, $3 pipeline, $4 before and $5 limit.
const PIPELINES = `
  with recursive pipeline as (
    select coalesce($3::text, (select e.pipeline from hf.execution e where ${IN_PROJECT} and e.status <> 1 order by ${PIPELINE} limit 1)) as name
    union all
    select (select e.pipeline from hf.execution e where ${IN_PROJECT} and e.status <> 1 and ${PIPELINE} > p.name collate "POSIX" and ${IN_ROUTES} order by ${PIPELINE} limit 1)
      from pipeline p
     where p.name is not null
  )`;

const LIST = statement(`${PIPELINES},
  newest as materialized (
    select r.id
      from pipeline p
     cross join unnest($2::smallint[]) as s(status)
     cross join lateral (
           select e.id
             from hf.execution e
            where ${IN_PROJECT}
              and ${PIPELINE} = p.name collate "POSIX"
              and e.status between s.status and s.status
              and e.status <> 1
              and e.id < coalesce($4, ${LAST_ID})
              and e.id >= coalesce($6::uuid, ${FIRST_ID})
              and (not $7::boolean or e.parent_id is null)
            order by e.status desc, e.id desc
            limit $5
           ) r
     where p.name is not null and ($3::text is not null or not starts_with(p.name, '${OWN_PREFIX}'))
     union all
    (select e.id
       from hf.execution e
      where e.status = 1
        and 1 = any ($2::smallint[])
        and e.project = $1
        and ${OF_PIPELINE}
        and e.id < coalesce($4, ${LAST_ID})
        and e.id >= coalesce($6::uuid, ${FIRST_ID})
        and (not $7::boolean or e.parent_id is null)
      order by e.id desc
      limit $5)
     order by 1 desc
     limit $5
  )
  select ${EXECUTION_COLUMNS.postgres}
    from newest n
    join hf.execution e on ${equalsByIndex('e.id', 'n.id')}
   order by n.id desc`);

/** The rows of each pipeline and status that one page of executions without a parent looks at. */
const EACH_MAX = 2_000;

// Every row of the list must be checked for a parent. The page ends where the first of the pipelines
// and statuses has been looked at. The parameters are $1 project, $2 statuses, $3 pipeline, $4 before.
const TOP_LEVEL_EDGE = statement(`${PIPELINES}
  select r.id
    from pipeline p
   cross join unnest($2::smallint[]) as s(status)
   cross join lateral (
         select e.id
           from hf.execution e
          where ${IN_PROJECT}
            and ${PIPELINE} = p.name collate "POSIX"
            and e.status between s.status and s.status
            and e.status <> 1
            and e.id < coalesce($4, ${LAST_ID})
          order by e.status desc, e.id desc
         offset ${EACH_MAX - 1} limit 1
         ) r
   where p.name is not null and ($3::text is not null or not starts_with(p.name, '${OWN_PREFIX}'))
   order by 1 desc
   limit 1`);

/** The parameter in the last place is the id down to which the list looks. */
const labelled = (last: number): string =>
  `select l.execution_id from hf.label l where l.project = $1 and l.execution_id < coalesce($4, ${LAST_ID}) and l.execution_id >= coalesce($${last}::uuid, ${FIRST_ID})`;

// $6 is a tag, if requested, and $7 are codes of holds.
const FITS = `
         coalesce(e.status = any ($2::smallint[]), false)
     and ${OF_PIPELINE}
     and ($6::text is null or exists (select from hf.label t where t.project = $1 and t.kind = 0 and t.name = '' and t.value = $6 and t.execution_id = e.id))
     and ($7::smallint[] is null or e.hold = any ($7))`;

const IN_RANGE = (id: string): string =>
  `${id} < coalesce($4, ${LAST_ID}) and ${id} >= coalesce($8::uuid, ${FIRST_ID})`;

/** Lists the executions that `labels` finds, in that order, and applies the rest of the filter. */
function listBy(labels: string): Statement {
  return statement(`
  select ${EXECUTION_COLUMNS.postgres}
    from (${labels} order by 1 desc offset 0) l(id)
    join hf.execution e on ${equalsByIndex('e.id', 'l.id')}
   where ${FITS}
   order by l.id desc
   limit $5`);
}

const BY_VALUE = listBy(`${labelled(11)} and l.kind = $8 and l.name = $9 and l.value = $10`);
const BY_NUMBER = listBy(`${labelled(11)} and l.name = $8 and l.number between $9 and $10`);
const BY_NAME = listBy(
  `${labelled(9)} and l.kind = any ('{1,3}') and l.name = $8 and l.value is not null union all ${labelled(9)} and l.name = $8 and l.number is not null`,
);

// $8 is the id down to which the list looks, $9 whether it leaves out children, and the rest selects
// by one index.
function listFound(ids: string): Statement {
  return statement(`
  select ${EXECUTION_COLUMNS.postgres}
    from (${ids} offset 0) l(id)
    join hf.execution e on ${equalsByIndex('e.id', 'l.id')}
   where ${FITS}
     and (not $9::boolean or e.parent_id is null)
   order by l.id desc
   limit $5`);
}

const BY_KEY = listFound(`
  select k.id
    from (select e.id from hf.execution e where (e.project, e.key) >= ($1, $10::text) and (e.project, e.key) <= ($1, $11::text) and e.key is not null order by e.project, e.key limit ${LIST_ROWS_MAX}) k
   where ${IN_RANGE('k.id')}
   order by k.id desc`);

interface Lead {
  readonly from: string;
  readonly id: string;
  /** The leading columns of the index, and the parameters that they must equal. */
  readonly columns: readonly string[];
  readonly values: readonly string[];
}

/** Compares whole rows, so that no other index fits. */
function newestOf(lead: Lead, bounds: { readonly from: string; readonly to: string }): string {
  const row = [...lead.columns, lead.id];
  return `
  select ${lead.id} as id
    from ${lead.from}
     and (${row.join(', ')}) >= (${[...lead.values, bounds.from].join(', ')})
     and (${row.join(', ')}) < (${[...lead.values, bounds.to].join(', ')})
   order by ${row.map((column) => `${column} desc`).join(', ')}`;
}

const FOUND = { from: `coalesce($8::uuid, ${FIRST_ID})`, to: `coalesce($4, ${LAST_ID})` };
const FOUND_EDGE = { from: FIRST_ID, to: `coalesce($2::uuid, ${LAST_ID})` };

const parentLead = (parent: string): Lead => ({
  ...{ from: 'hf.execution e where e.parent_id is not null and e.project = $1', id: 'e.id' },
  ...{ columns: ['e.parent_id'], values: [`${parent}::uuid`] },
});
const codeLead = (code: string): Lead => ({
  ...{ from: 'hf.dead_letter d where true', id: 'd.execution_id' },
  ...{ columns: ['d.code', 'd.project'], values: [`${code}::text`, '$1'] },
});

const BY_PARENT = listFound(newestOf(parentLead('$10'), FOUND));
const BY_CODE = listFound(newestOf(codeLead('$10'), FOUND));

// Finds the newest executions of each hold code, as above.
const HELD = statement(`
  with newest as materialized (
    select r.id
      from unnest($7::smallint[]) as h(hold)
     cross join lateral (
           select e.id
             from hf.execution e
            where ${IN_PROJECT}
              and e.hold between h.hold and h.hold and e.hold <> 0
              and e.id < coalesce($4, ${LAST_ID})
              and e.id >= coalesce($8::uuid, ${FIRST_ID})
              and ${FITS}
            order by e.hold desc, e.id desc
            limit $5) r
     order by 1 desc
     limit $5)
  select ${EXECUTION_COLUMNS.postgres}
    from newest n
    join hf.execution e on ${equalsByIndex('e.id', 'n.id')}
   order by n.id desc`);

export async function listExecutions(
  database: Database,
  query: ListExecutions,
): Promise<readonly ExecutionRecord[]> {
  const { project, status, pipeline, before, limit } = query;
  const statuses = status?.map((each) => STATUS_CODES[each]) ?? Object.values(STATUS_CODES);
  const common = [project, numbers(statuses), pipeline ?? null, before ?? null, limit];
  const { by, values, isWhole = false } = indexFor(query);
  const downTo = isWhole ? [] : [query.downTo ?? null];
  const rows = await database.rows<ExecutionRow & object>(by, [...common, ...values, ...downTo]);
  return rows.map(toExecution);
}

// Finds where one page of a list with several filters ends. The index of a list by pipeline and
// status has no other rows.

const EDGE = `offset ${LIST_ROWS_MAX - 1} limit 1`;

const LABEL_EDGE = statement(`
  select l.execution_id as id
    from hf.label l
   where l.project = $1
     and l.execution_id < coalesce($2, ${LAST_ID})
     and l.kind = $3
     and l.name = $4
     and l.value = $5
   order by l.project desc, l.kind desc, l.name desc, l.value desc, l.execution_id desc ${EDGE}`);

const HELD_EDGE = statement(`
  select r.id
    from unnest($3::smallint[]) as h(hold)
   cross join lateral (
         select e.id
           from hf.execution e
          where ${IN_PROJECT}
            and e.hold between h.hold and h.hold and e.hold <> 0
            and e.id < coalesce($2, ${LAST_ID})
          order by e.hold desc, e.id desc ${EDGE}) r
   order by 1 desc
   limit 1`);

const PARENT_EDGE = statement(`${newestOf(parentLead('$3'), FOUND_EDGE)} ${EDGE}`);
const CODE_EDGE = statement(`${newestOf(codeLead('$3'), FOUND_EDGE)} ${EDGE}`);

export async function listEdge(
  database: Database,
  query: ListExecutions,
): Promise<ExecutionId | undefined> {
  const { project, before = null, tag, attribute, hold, status, pipeline } = query;
  const others = [status, pipeline].filter((each) => each !== undefined);
  const from = [project, before];
  const { topLevel } = query;
  if (query.key !== undefined || query.keyPrefix !== undefined) return undefined;
  const edgeOf = async (by: Statement, values: readonly unknown[]): Promise<Edge> => {
    const [row] = await database.rows<{ id: ExecutionId }>(by, [...from, ...values]);
    return row?.id;
  };
  const { parent, code } = query;
  if (parent !== undefined) return edgeOf(PARENT_EDGE, [parent]);
  if (code !== undefined) return edgeOf(CODE_EDGE, [code]);
  if (attribute !== undefined) {
    const { name, equals } = attribute;
    const isText = typeof equals === 'string' || typeof equals === 'boolean';
    if (!isText || [tag, hold, ...others].every((each) => each === undefined)) return undefined;
    return edgeOf(LABEL_EDGE, [typeof equals === 'boolean' ? 3 : 1, name, String(equals)]);
  }
  if (hold !== undefined) {
    const isAlone = tag === undefined && others.length === 0;
    return isAlone ? undefined : edgeOf(HELD_EDGE, [numbers(codesWith(hold))]);
  }
  if (tag !== undefined) {
    return others.length === 0 ? undefined : edgeOf(LABEL_EDGE, [0, '', tag]);
  }
  if (topLevel !== true) return undefined;
  const codes = status?.map((each) => STATUS_CODES[each]) ?? Object.values(STATUS_CODES);
  const values = [project, numbers(codes), pipeline ?? null, before];
  return (await database.rows<{ id: ExecutionId }>(TOP_LEVEL_EDGE, values))[0]?.id;
}

type Edge = ExecutionId | undefined;

interface Index {
  readonly by: Statement;
  readonly values: readonly unknown[];
  /** The values include the id down to which the list looks. */
  readonly isWhole?: true;
}

function indexFor(query: ListExecutions): Index {
  const { tag, attribute, hold, topLevel = false, downTo = null } = query;
  const { key, keyPrefix, parent, code } = query;
  const holds = hold === undefined ? null : numbers(codesWith(hold));
  const found = (by: Statement, ...values: readonly unknown[]): Index => ({
    ...{ by, isWhole: true, values: [tag ?? null, holds, downTo, topLevel, ...values] },
  });
  if (key !== undefined) return found(BY_KEY, key, key);
  if (keyPrefix !== undefined) return found(BY_KEY, keyPrefix, afterPrefix(keyPrefix));
  if (parent !== undefined) return found(BY_PARENT, parent);
  if (code !== undefined) return found(BY_CODE, code);
  if (attribute !== undefined) return attributeIndex(attribute, [tag ?? null, holds]);
  if (holds !== null) return { by: HELD, values: [tag ?? null, holds] };
  return tag === undefined
    ? { by: LIST, values: [downTo, topLevel], isWhole: true }
    : { by: BY_VALUE, values: [null, null, 0, '', tag] };
}

/** Equality compares value and type. A range compares numbers and includes both bounds. */
function attributeIndex(filter: AttributeFilter, checks: readonly unknown[]): Index {
  const { name, equals, min, max } = filter;
  const isRange = min !== undefined || max !== undefined;
  if (equals === undefined && !isRange) return { by: BY_NAME, values: [...checks, name] };
  if (equals !== undefined && typeof equals !== 'number') {
    // No text or boolean is within a range of numbers.
    const kind = isRange ? -1 : typeof equals === 'boolean' ? 3 : 1;
    return { by: BY_VALUE, values: [...checks, kind, name, String(equals)] };
  }
  const low = Math.max(equals ?? -Infinity, min ?? -Infinity);
  const high = Math.min(equals ?? Infinity, max ?? Infinity);
  return { by: BY_NUMBER, values: [...checks, name, low, high] };
}
