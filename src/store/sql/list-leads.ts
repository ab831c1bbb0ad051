// The leads of lists. A lead is an index that finds executions. Its statement checks the other
// filters row by row, because each filter is one condition that is true if its parameter is null.

import { OWN_PREFIX } from '../../execution/names.ts';
import { ROUTE_MARK } from '../../execution/route.ts';
import {
  type AttributeFilter,
  LIST_ROWS_MAX,
  type ListExecutions,
  type ListSort,
} from '../contract/execution-reads.ts';
import { codesWith, LABEL_KINDS } from '../execution-rows.ts';
import { type Dialects, dialects, type Sql } from './script.ts';

type Filter = Exclude<keyof ListExecutions, 'project' | 'sort' | 'after' | 'limit'>;

/** An index that finds executions. Its parts are disjoint. */
export interface Lead {
  readonly parts: readonly Part[];
  /** The filters that need no check. */
  readonly serves: readonly Filter[];
  /** False: its index has another order, so it is read only as a whole. */
  readonly isOrdered: boolean;
  /** Counts up to `:limit` rows without sorting them, if no filter needs a check. */
  readonly count?: Sql;
}

interface Part {
  readonly statements: Statements;
  readonly values?: object;
}

export interface Statements {
  readonly found: Readonly<Record<ListSort, Sql>>;
  /** The position of the last row that one page may examine, if there are as many. */
  readonly edge: Readonly<Record<ListSort, Sql>>;
}

// The checks. Each is true if its parameter is null. `coalesce` keeps planners from using an index,
// and `limit` PostgreSQL from reading all rows of another table into a hash.

const MARK = `'${ROUTE_MARK}'`;

/** The engine's own pipelines are listed only by name. */
export function isListed(route: string): string {
  return `case when :pipeline::text is null
           then substr(${route}, 1, ${OWN_PREFIX.length}) <> '${OWN_PREFIX}'
           else substr(${route} || ${MARK}, 1, length(:pipeline) + 1) = :pipeline || ${MARK}
            end`;
}

export function isInRelease(route: string): string {
  return `(:release::text is null or substr(${route}, length(${route}) - length(:release)) = ${MARK} || :release)`;
}

/**
 * The row has the attributes as JSON, so none needs a look into another table. Each store parses the
 * JSON of a row once, however many attributes it checks. With `cross join`, SQLite walks over the row's
 * attributes first, and not once for each filter.
 */
const HAS_ATTRIBUTES: Dialects = {
  sqlite: `(:attributes is null or (
           with n as materialized (
           select value ->> 'name' as name, value ->> 'type' as type, value ->> 'text' as text, value ->> 'low' as low, value ->> 'high' as high
             from json_each(:attributes))
           select count(*)
             from json_each(e.about, '$.attributes') as a
            cross join n on n.name = a.key
            where coalesce(n.type = case a.type when 'text' then 'string' when 'integer' then 'number' when 'real' then 'number' else 'boolean' end, true)
              and coalesce(n.text = case a.type when 'text' then a.value else a.type end, true)
              and coalesce(n.low <= a.value, true)
              and coalesce(n.high >= a.value, true)) = json_array_length(:attributes))`,
  postgres: `(:attributesPath::jsonpath is null or coalesce(jsonb_path_exists(e.about::jsonb, :attributesPath::jsonpath), false))`,
};

const LINEAGE_KEY = '(e.about::json ->> \'lineageKey\') collate "POSIX"';

const checksOf = (attributes: string): readonly string[] => [
  'coalesce(e.project = :project, false)',
  'coalesce(e.id >= :downTo::uuid and e.id < :before::uuid, false)',
  '(:statuses::smallint[] is null or coalesce(e.status = any (:statuses::smallint[]), false))',
  isListed('e.pipeline'),
  isInRelease('e.pipeline'),
  `(:tag::text is null or (
           select true from hf.label as t where t.project = :project and t.kind = ${LABEL_KINDS.tag} and t.name = '' and t.value = :tag and t.execution_id = e.id limit 1))`,
  '(:holds::smallint[] is null or coalesce(e.hold = any (:holds::smallint[]), false))',
  '(:topLevel::boolean is null or e.parent_id is null)',
  '(:parent::uuid is null or coalesce(e.parent_id = :parent, false))',
  `(:code::text is null or (
           select true from hf.dead_letter as d where d.code = :code and d.project = :project and d.execution_id = e.id limit 1))`,
  `(:redriven::boolean is null or (
           select true from hf.dead_letter as d where d.execution_id = e.id and (d.redriven_by is not null) = :redriven::boolean limit 1))`,
  '(:asOf::bigint is null or coalesce(e.ended_at, e.submitted_at) <= :asOf::bigint)',
  '(:endsFrom::bigint is null or coalesce(e.ended_at >= :endsFrom::bigint and e.ended_at < :endsTo::bigint, false))',
  `(:keyFrom::text is null or coalesce(e.key >= :keyFrom and e.key <= :keyTo, false)
           or coalesce(e.redrive_of is not null and ${LINEAGE_KEY} >= :keyFrom and ${LINEAGE_KEY} <= :keyTo, false))`,
  '(:sessions::uuid[] is null or coalesce(e.status = 1 and e.session_id = any (:sessions::uuid[]), false))',
  attributes,
];

/** All filters, as conditions on execution `e`. */
export const LIST_CHECKS: Dialects = {
  sqlite: checksOf(HAS_ATTRIBUTES.sqlite).join('\n     and '),
  postgres: checksOf(HAS_ATTRIBUTES.postgres).join('\n     and '),
};

// Leads.

interface Place {
  readonly table: string;
  readonly id: string;
  /** The index that SQLite must use. */
  readonly index?: string;
  /** The leading columns of the index, and the parameters that they must equal. */
  readonly lead: Dialects<Readonly<Record<string, string>>>;
  /** The condition of a partial index. */
  readonly where?: Dialects;
  /** True: no other index of the table has this order. */
  readonly isAlone?: boolean;
}

const OWN_ROW = 'execution as e';
const ENDED_TO = '(:endedTo::bigint, :endedToId::uuid)';
const ENDED_FROM = '(:endedFrom::bigint, :endedFromId::uuid)';
/** The parts of an ordered lead share the rows of a page. */
const LAST_ROW = 'limit 1 offset :share::bigint - 1';

function joinOf(place: Pick<Place, 'table' | 'id'>): Dialects {
  if (place.table === OWN_ROW) return { sqlite: '', postgres: '' };
  return {
    sqlite: `cross join execution as e on e.id = ${place.id}`,
    postgres: `join hf.execution as e on e.id == ${place.id}`,
  };
}

/**
 * Selects by one index in its order. On tables that have another index with the same order,
 * PostgreSQL compares whole rows, so that no other index fits.
 */
export function inOrder(place: Place): Statements {
  const { table, id, index, lead, where = both('true') } = place;
  const join = joinOf(place);
  const text = (kind: keyof Dialects, sort: ListSort, isEdge: boolean): string => {
    const columns = Object.keys(lead[kind]);
    const values = Object.values(lead[kind]);
    const direction = sort === 'oldest' ? 'asc' : 'desc';
    const row = [...columns, id];
    const isEqual = kind === 'sqlite' || place.isAlone === true;
    if (!isEqual && columns.length > 1) return byRows(place, sort, isEdge);
    const range = isEqual
      ? `${columns.map((column, nth) => `${column} = ${values[nth]}`).join(' and ')}
     and ${id} >= :downTo::uuid
     and ${id} < :before::uuid`
      : `(${row.join(', ')}) >= (${[...values, ':downTo::uuid'].join(', ')})
     and (${row.join(', ')}) < (${[...values, ':before::uuid'].join(', ')})`;
    const order = (isEqual ? [id] : row).map((column) => `${column} ${direction}`);
    const from = `hf.${table} ${index === undefined ? '' : `indexed by ${index}`}`;
    if (isEdge) {
      return `
  select ${id} as id
    from ${from}
   where ${where[kind]}
     and ${range}
   order by ${order.join(', ')}
   ${LAST_ROW}`;
    }
    return selected({
      kind,
      sort,
      from: `${from} ${join[kind]}`,
      where: `${where[kind]}\n     and ${range}`,
      order: order.join(', '),
    });
  };
  return bySort((sort, isEdge) => ({
    sqlite: text('sqlite', sort, isEdge),
    postgres: text('postgres', sort, isEdge),
  }));
}

/**
 * PostgreSQL ends a scan by rows only where their first column changes, which may be in another project.
 * So this scan begins at the first row of a page, and ends after as many as a page may examine.
 */
function byRows({ table, id, lead, where }: Place, sort: ListSort, isEdge: boolean): string {
  const columns = Object.keys(lead.postgres);
  const values = Object.values(lead.postgres);
  const [direction, comparison, start] =
    sort === 'oldest' ? ['asc', '>=', ':downTo'] : ['desc', '<', ':before'];
  const row = [...columns, id];
  const names = [...columns.map((_, nth) => `c${nth}`), 'id'];
  const from = `(
  select ${row.map((column, nth) => `${column} as ${names[nth]}`).join(', ')}
    from hf.${table}
   where ${where?.postgres ?? 'true'}
     and (${row.join(', ')}) ${comparison} (${[...values, `${start}::uuid`].join(', ')})
   order by ${row.map((column) => `${column} ${direction}`).join(', ')}
   limit ${isEdge ? ':share::bigint' : LIST_ROWS_MAX}
         ) as r`;
  const range = `${values.map((value, nth) => `r.c${nth} = ${value}`).join(' and ')}
     and r.id >= :downTo::uuid
     and r.id < :before::uuid`;
  const order = names.map((name) => `r.${name} ${direction}`).join(', ');
  if (isEdge) return `select r.id from ${from} where ${range} order by ${order} ${LAST_ROW}`;
  const joined = `${from} join hf.execution as e on e.id == r.id`;
  return selected({ kind: 'postgres', sort, from: joined, where: range, order });
}

interface Selected {
  readonly kind: keyof Dialects;
  readonly sort: ListSort;
  readonly from: string;
  readonly where: string;
  readonly order: string;
}

function selected({ kind, sort, from, where, order }: Selected): string {
  const isByEnd = sort === 'ended';
  return `
  select e.id, e.ended_at
    from ${from}
   where ${where}
     and ${LIST_CHECKS[kind]}
     ${isByEnd ? `and (e.ended_at, e.id) < ${ENDED_TO}` : ''}
   order by ${isByEnd ? 'e.ended_at desc, e.id desc' : order}
   limit :limit + 0`;
}

function bySort(text: (sort: ListSort, isEdge: boolean) => Dialects): Statements {
  const three = (isEdge: boolean): Statements['found'] => ({
    newest: dialects(text('newest', isEdge)),
    oldest: dialects(text('oldest', isEdge)),
    ended: dialects(text('ended', isEdge)),
  });
  return { found: three(false), edge: three(true) };
}

interface Range extends Pick<Place, 'table' | 'id' | 'index'> {
  readonly where: Dialects;
}

/**
 * Selects by an index with another order. Its edge only shows that there are too many rows.
 * `offset` keeps PostgreSQL from using an index with the order of the list instead.
 */
export function inRange({ table, id, index, where }: Range): Statements {
  const from = `hf.${table} ${index === undefined ? '' : `indexed by ${index}`}`;
  const ids = (kind: keyof Dialects): string => `
  select ${id} as id
    from ${from}
   where ${where[kind]}`;
  const join: Dialects = {
    sqlite: 'cross join execution as e on e.id = r.id',
    postgres: 'join hf.execution as e on e.id == r.id',
  };
  const text = (kind: keyof Dialects, sort: ListSort, isEdge: boolean): string => {
    if (isEdge) return `${ids(kind)}\n   ${LAST_ROW}`;
    const fence = kind === 'sqlite' ? '' : 'offset 0';
    return selected({
      ...{ kind, sort, from: `(${ids(kind)} ${fence}) as r ${join[kind]}`, where: 'true' },
      order: `r.id ${sort === 'oldest' ? 'asc' : 'desc'}`,
    });
  };
  return bySort((sort, isEdge) => ({
    sqlite: text('sqlite', sort, isEdge),
    postgres: text('postgres', sort, isEdge),
  }));
}

function both<Words>(words: Words): Dialects<Words> {
  return { sqlite: words, postgres: words };
}

const LABEL = { table: 'label as l', id: 'l.execution_id' } as const;

const TEXTS = inOrder({
  ...{ ...LABEL, isAlone: true },
  lead: {
    sqlite: { 'l.project': ':project', 'l.kind': ':kind', 'l.name': ':name', 'l.value': ':value' },
    postgres: { 'l.project': ':project', 'l.kind': ':kind', 'l.name': ':name', 'l.value': ':text' },
  },
  where: { sqlite: 'true', postgres: 'l.value is not null' },
});
const NUMBERS = inOrder({
  ...{ ...LABEL, isAlone: true },
  lead: {
    sqlite: { 'l.project': ':project', 'l.kind': ':kind', 'l.name': ':name', 'l.value': ':value' },
    postgres: { 'l.project': ':project', 'l.name': ':name', 'l.number': ':value' },
  },
  where: { sqlite: 'true', postgres: 'l.number is not null' },
});
const NAMED = inRange({
  ...LABEL,
  where: both('l.project = :project and l.kind = :kind and l.name = :name and l.value is not null'),
});
const NUMBERED = inRange({
  ...LABEL,
  where: {
    sqlite: `l.project = :project and l.kind = ${LABEL_KINDS.number} and l.name = :name and l.value between :low and :high`,
    postgres: 'l.project = :project and l.name = :name and l.number between :low and :high',
  },
});
const KEYS = inRange({
  ...{ table: OWN_ROW, id: 'e.id', index: 'execution_key' },
  where: both(
    'e.project = :project and e.key is not null and e.key >= :keyFrom and e.key <= :keyTo',
  ),
});
const LINEAGE_KEYS = inRange({
  ...LABEL,
  where: both(
    `l.project = :project and l.kind = ${LABEL_KINDS.lineageKey} and l.name = '' and l.value is not null and l.value >= :keyFrom and l.value <= :keyTo`,
  ),
});
const CARRIED = inRange({
  ...{ table: OWN_ROW, id: 'e.id', index: 'execution_carrier' },
  where: both(
    "e.status = 1 and e.project >= '' and e.project = :project and e.session_id = any (:sessions::uuid[])",
  ),
});
const CHILDREN = inOrder({
  ...{ table: OWN_ROW, id: 'e.id', index: 'execution_parent' },
  lead: both({ 'e.parent_id': ':parent::uuid' }),
  where: both('e.parent_id is not null'),
});
const LETTERS = inOrder({
  ...{ table: 'dead_letter as f', id: 'f.execution_id', index: 'dead_letter_code' },
  lead: both({ 'f.code': ':code::text', 'f.project': ':project' }),
});
const HELD = inOrder({
  ...{ table: OWN_ROW, id: 'e.id', index: 'execution_held' },
  lead: both({ 'e.project collate "POSIX"': ':project', 'e.hold': ':hold' }),
  where: both('e.hold <> 0'),
});

const ENDED_IN = inRange({
  ...{ table: OWN_ROW, id: 'e.id', index: 'execution_ended' },
  where: both(`e.project = :project
     and e.ended_at is not null
     and e.ended_at >= :endsFrom::bigint
     and e.ended_at < :endsTo::bigint`),
});

const byEnd = (kind: keyof Dialects, isEdge: boolean): string => `
  select e.id, e.ended_at
    from hf.execution as e indexed by execution_ended
   where e.project = :project
     and e.ended_at is not null
     and (e.ended_at, e.id) >= ${ENDED_FROM}
     and (e.ended_at, e.id) < ${ENDED_TO}
     ${isEdge ? '' : `and ${LIST_CHECKS[kind]}`}
   order by e.ended_at desc, e.id desc
   ${isEdge ? LAST_ROW : 'limit :limit + 0'}`;
export const ENDED = bySort((_, isEdge) => ({
  sqlite: byEnd('sqlite', isEdge),
  postgres: byEnd('postgres', isEdge),
}));

/** A key belongs to one execution, and to its re-drives (Y-20). */
const KEY_PARTS: readonly Part[] = [{ statements: KEYS }, { statements: LINEAGE_KEYS }];

/** The filters that the index of ends serves, also in the order of ends. */
export const BY_END: readonly Filter[] = ['endedFrom', 'endedTo'];

/** The leads of filters with an index of their own, those with the fewest rows first. */
export function leadsOf(query: ListExecutions): readonly Lead[] {
  const { key, keyPrefix, worker, staleOwner, parent, code, hold, tag } = query;
  const { attributes = [], endedFrom, endedTo } = query;
  const lead = (
    serves: readonly Filter[],
    isOrdered: boolean,
    ...parts: readonly Part[]
  ): Lead => ({ serves, isOrdered, parts });
  return [
    ...(key === undefined ? [] : [lead(['key'], false, ...KEY_PARTS)]),
    ...(worker === undefined && staleOwner === undefined
      ? []
      : [lead(['worker', 'staleOwner'], false, { statements: CARRIED })]),
    ...(parent === undefined ? [] : [lead(['parent'], true, { statements: CHILDREN })]),
    ...attributes.map((each) => attributeLead(each, attributes.length === 1)),
    ...(code === undefined ? [] : [lead(['code'], true, { statements: LETTERS })]),
    ...(keyPrefix === undefined ? [] : [lead(['keyPrefix'], false, ...KEY_PARTS)]),
    ...(endedFrom === undefined && endedTo === undefined
      ? []
      : [lead(BY_END, false, { statements: ENDED_IN })]),
    ...(hold === undefined
      ? []
      : [
          lead(
            ['hold'],
            true,
            ...codesWith(hold).map((each) => ({ statements: HELD, values: { hold: each } })),
          ),
        ]),
    ...(tag === undefined
      ? []
      : [
          lead(['tag'], true, {
            statements: TEXTS,
            values: { kind: LABEL_KINDS.tag, name: '', value: tag, text: tag },
          }),
        ]),
  ];
}

function attributeLead(filter: AttributeFilter, isOnly: boolean): Lead {
  const { name, equals, min, max } = filter;
  const isRange = min !== undefined || max !== undefined;
  const isWhole = isOnly && !(isRange && equals !== undefined);
  const serves: readonly Filter[] = isWhole ? ['attributes'] : [];
  if (isRange) {
    const values = { name, low: min ?? -Infinity, high: max ?? Infinity };
    return { serves, isOrdered: false, parts: [{ statements: NUMBERED, values }] };
  }
  if (equals === undefined) {
    const { string, boolean } = LABEL_KINDS;
    const parts = [
      ...[string, boolean].map((kind) => ({ statements: NAMED, values: { name, kind } })),
      { statements: NUMBERED, values: { name, low: -Infinity, high: Infinity } },
    ];
    return { serves, isOrdered: false, parts };
  }
  const kind = LABEL_KINDS[typeof equals as keyof typeof LABEL_KINDS];
  const value = typeof equals === 'boolean' ? Number(equals) : equals;
  const statements = typeof equals === 'number' ? NUMBERS : TEXTS;
  const values = { name, kind, value, text: String(equals) };
  return { serves, isOrdered: true, parts: [{ statements, values }] };
}
