// Lists executions (X-22, X-95). Every filter that an index serves is a lead: it finds ids, and the
// statement checks the other filters row by row. The script asks each lead for the place of its
// 10,000th row, or its 2,000th if attributes are checked. A lead with fewer rows is read whole.
// Otherwise the lead that reaches furthest is read down to that place, and the page ends there
// (ADR 0056).

import { type ExecutionId, nextExecutionId, OWN_PREFIX } from '../../execution/names.ts';
import { ROUTE_MARK } from '../../execution/route.ts';
import { toInstant } from '../../support/clock.ts';
import {
  type AttributeFilter,
  type ExecutionStore,
  type FoundPage,
  LIST_ROWS_MAX,
  type ListCount,
  type ListExecutions,
  type ListPosition,
  type ListSort,
} from '../contract/execution-store.ts';
import { codesWith, LABEL_KINDS, STATUS_CODES } from '../execution-rows.ts';
import { readMany } from './executions.ts';
import { afterPrefix } from './newest-first.ts';
import {
  all,
  type Dialects,
  dialects,
  type Gateway,
  one,
  type Script,
  type Sql,
} from './script.ts';
import { liveSessionsOf } from './workers.ts';

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

/** Selects the indexes of pipelines and statuses, which differ by store. The last has every row. */
export type BaseLeads = (query: ListExecutions) => Script<readonly Lead[]>;

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
  '(:keyFrom::text is null or coalesce(e.key >= :keyFrom and e.key <= :keyTo, false))',
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
 * PostgreSQL compares whole rows, so that no other index fits. A scan by rows ends only where the
 * first column changes, so that column must select.
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

const byEnd = (kind: keyof Dialects, isEdge: boolean): string => {
  const [columns, project] =
    kind === 'sqlite' ? ['e.ended_at, e.id', ''] : ['e.project, e.ended_at, e.id', ':project, '];
  const row = (pair: string): string => `(${columns}) ${pair.replace('(', `(${project}`)}`;
  return `
  select e.id, e.ended_at
    from hf.execution as e indexed by execution_ended
   where ${kind === 'sqlite' ? 'e.project = :project and' : ''} e.ended_at is not null
     and ${row(ENDED_FROM).replace(') (', ') >= (')}
     and ${row(ENDED_TO).replace(') (', ') < (')}
     ${isEdge ? '' : `and ${LIST_CHECKS[kind]}`}
   order by ${columns
     .split(', ')
     .map((column) => `${column} desc`)
     .join(', ')}
   ${isEdge ? LAST_ROW : 'limit :limit + 0'}`;
};
const ENDED = bySort((_, isEdge) => ({
  sqlite: byEnd('sqlite', isEdge),
  postgres: byEnd('postgres', isEdge),
}));

/** The leads of filters with an index of their own, those with the fewest rows first. */
function leadsOf(query: ListExecutions): readonly Lead[] {
  const { key, keyPrefix, worker, parent, code, hold, tag, attributes = [] } = query;
  const lead = (
    serves: readonly Filter[],
    isOrdered: boolean,
    ...parts: readonly Part[]
  ): Lead => ({ serves, isOrdered, parts });
  return [
    ...(key === undefined ? [] : [lead(['key'], false, { statements: KEYS })]),
    ...(worker === undefined ? [] : [lead(['worker'], false, { statements: CARRIED })]),
    ...(parent === undefined ? [] : [lead(['parent'], true, { statements: CHILDREN })]),
    ...attributes.map((each) => attributeLead(each, attributes.length === 1)),
    ...(code === undefined ? [] : [lead(['code'], true, { statements: LETTERS })]),
    ...(keyPrefix === undefined ? [] : [lead(['keyPrefix'], false, { statements: KEYS })]),
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

// Reading a page.

const FIRST = '00000000-0000-0000-0000-000000000000' as ExecutionId;
const LAST = 'ffffffff-ffff-ffff-ffff-ffffffffffff' as ExecutionId;

interface FoundRow {
  readonly id: ExecutionId;
  readonly ended_at?: number | null;
}

type Listing = 'list' | 'find' | 'count';

export function listsOf({ read }: Gateway, base: BaseLeads): Pick<ExecutionStore, Listing> {
  return {
    find: (query) => read(() => find(query, base)),
    count: (query) => read(() => count(query, base)),
    list: (query) =>
      read(function* () {
        const { ids, next } = yield* find(query, base);
        return { items: yield* readMany(ids), ...(next && { next }) };
      }),
  };
}

function* count(query: ListExecutions, base: BaseLeads): Script<ListCount> {
  const asked = { ...query, limit: LIST_ROWS_MAX + 1 };
  const lead = yield* chosen(asked, base, true);
  if (lead.isAlone && lead.lead.count !== undefined) {
    const values = { ...lead.values, limit: asked.limit };
    const row = yield* one<{ readonly count: number }>(lead.lead.count, values);
    return { count: row?.count ?? 0 };
  }
  const { ids, next } = yield* page(asked, lead);
  return { count: ids.length, ...(next && { next }) };
}

function* find(query: ListExecutions, base: BaseLeads): Script<FoundPage> {
  return yield* page(query, yield* chosen(query, base));
}

function* page({ sort = 'newest', limit }: ListExecutions, from: Chosen): Script<FoundPage> {
  const { lead, edge, isAlone, values } = from;
  const isInOrder = isAlone && sort !== 'ended';
  let found: readonly FoundRow[] = [];
  for (const part of lead.parts) {
    // A full page ends with its last row, so other parts need not look further.
    const last = found[limit - 1] ?? edge;
    const within = {
      ...{ ...values, ...part.values, ...(last && downTo(sort, last)), limit },
      each: isInOrder ? limit : LIST_ROWS_MAX,
      within: isInOrder ? limit : undefined,
    };
    const rows = yield* all<FoundRow>(part.statements.found[sort], within);
    found = [...found, ...rows].sort(inSort(sort)).slice(0, limit);
  }
  const last = found.at(-1);
  const next = found.length < limit || last === undefined ? edge : last;
  return { ids: found.map(({ id }) => id), ...(next && { next: positionOf(sort, next) }) };
}

interface Chosen {
  readonly lead: Lead;
  /** The row with which the page ends. */
  readonly edge?: FoundRow;
  /** The lead needs no check. */
  readonly isAlone: boolean;
  /** The parameters of its statements. */
  readonly values: Values;
}

/** Each of so many parts may be read for a whole page. */
const FEW_PARTS = 10;

/**
 * The most rows of which a page checks attributes. Parsing the JSON of one row costs more than all
 * other checks: 10 µs with 30 attributes, and 200 µs with the longest ones.
 */
const ATTRIBUTE_ROWS_MAX = 2_000;

function* chosen(query: ListExecutions, base: BaseLeads, isCount = false): Script<Chosen> {
  const { sort = 'newest', worker, limit } = query;
  const sessions = worker === undefined ? undefined : yield* liveSessionsOf(worker);
  const checked = { ...valuesOf(query), sessions };
  const given = FILTERS.filter((name) => query[name] !== undefined);
  let furthest: Chosen | undefined;
  const isByEndOnly = sort === 'ended' && given.length === 0;
  const leads = isByEndOnly ? [] : [...leadsOf(query), ...(yield* base(query))];
  for (const lead of leads) {
    const isAlone = given.every((name) => lead.serves.includes(name));
    const values = lead.serves.includes('attributes') ? { ...checked, ...NO_ATTRIBUTES } : checked;
    const { length } = lead.parts;
    const isShort = length <= FEW_PARTS || length * limit <= LIST_ROWS_MAX;
    const isPaged = isShort && lead.isOrdered && sort !== 'ended';
    const isCounted = isCount && lead.count !== undefined;
    if (isAlone && (isPaged || isCounted)) return { lead, isAlone, values };
    const edge = yield* edgeOf(lead, sort, values);
    if (edge === undefined) return { lead, isAlone, values };
    if (!lead.isOrdered) continue;
    const isFurther = furthest?.edge === undefined || inSort(sort)(furthest.edge, edge) < 0;
    if (isFurther) furthest = { lead, edge, isAlone, values };
  }
  if (sort !== 'ended') return furthest as Chosen;
  const lead: Lead = { parts: [{ statements: ENDED }], serves: [], isOrdered: true };
  const isAlone = given.length === 0 && query.before === undefined && query.downTo === undefined;
  const edge = isAlone ? undefined : yield* edgeOf(lead, sort, checked);
  return { lead, values: checked, isAlone, ...(edge && { edge }) };
}

/** The filters that are checked if no index serves them. Ranges of ids bound every index. */
const FILTERS = [
  ...(['status', 'pipeline', 'release', 'tag', 'attributes', 'hold', 'key', 'keyPrefix'] as const),
  ...(['worker', 'parent', 'code', 'topLevel', 'redriven', 'asOf'] as const),
];

/** The nearest edge of all parts: up to there, each has been examined. */
function* edgeOf(
  { parts, isOrdered }: Lead,
  sort: ListSort,
  values: Values,
): Script<FoundRow | undefined> {
  const edges: FoundRow[] = [];
  const rows = values.attributes === undefined ? LIST_ROWS_MAX : ATTRIBUTE_ROWS_MAX;
  const share = isOrdered ? Math.ceil(rows / parts.length) : rows;
  for (const part of parts) {
    const within = { ...values, ...part.values, share };
    const edge = yield* one<FoundRow>(part.statements.edge[sort], within);
    if (edge !== undefined) edges.push(edge);
  }
  return edges.sort(inSort(sort))[0];
}

function inSort(sort: ListSort): (one: FoundRow, other: FoundRow) => number {
  if (sort === 'oldest') return (one, other) => (one.id < other.id ? -1 : 1);
  if (sort === 'newest') return (one, other) => (one.id < other.id ? 1 : -1);
  return (one, other) =>
    (other.ended_at ?? 0) - (one.ended_at ?? 0) || (one.id < other.id ? 1 : -1);
}

function positionOf(sort: ListSort, { id, ended_at }: FoundRow): ListPosition {
  return sort === 'ended' ? { id, endedAt: toInstant(ended_at ?? 0) } : { id };
}

/** The range of a page that ends with this row. */
function downTo(sort: ListSort, { id, ended_at }: FoundRow): object {
  if (sort === 'ended') return { endedFrom: ended_at, endedFromId: id };
  return sort === 'oldest' ? { before: nextExecutionId(id) } : { downTo: id };
}

interface Values extends Readonly<Record<string, unknown>> {
  /** The checked attributes, for SQLite and for PostgreSQL. */
  readonly attributes?: string | undefined;
  readonly attributesPath?: string | undefined;
}

const NO_ATTRIBUTES: Values = { attributes: undefined, attributesPath: undefined };

function valuesOf(query: ListExecutions): Values {
  const { project, status, pipeline, release, tag, hold, key, keyPrefix, attributes } = query;
  const { parent, code, topLevel, redriven, asOf, after, sort } = query;
  const isOldest = sort === 'oldest';
  const first = isOldest && after !== undefined ? nextExecutionId(after.id) : FIRST;
  const last = after === undefined || isOldest || sort === 'ended' ? LAST : after.id;
  const { downTo = FIRST, before = LAST } = query;
  return {
    ...{ project, pipeline, release, tag, parent, code, redriven, asOf },
    downTo: downTo > first ? downTo : first,
    before: before < last ? before : last,
    statuses: status?.map((each) => STATUS_CODES[each]),
    holds: hold && codesWith(hold),
    topLevel: topLevel === true ? true : undefined,
    keyFrom: key ?? keyPrefix,
    keyTo: key ?? (keyPrefix === undefined ? undefined : afterPrefix(keyPrefix)),
    ...(attributes !== undefined && attributes.length > 0 && attributeValues(attributes)),
    ...{ endedFrom: 0, endedFromId: FIRST },
    endedTo: after?.endedAt ?? Number.MAX_SAFE_INTEGER,
    endedToId: after?.id ?? LAST,
  };
}

function attributeValues(filters: readonly AttributeFilter[]): Values {
  const rows = filters.map(attributeRow);
  const conditions = rows.flatMap(attributeConditions);
  return {
    attributes: JSON.stringify(rows),
    attributesPath: `$.attributes ? (${conditions.join(' && ')})`,
  };
}

interface AttributeRow {
  readonly name: string;
  readonly type: string | undefined;
  readonly text: string | undefined;
  readonly low: number | undefined;
  readonly high: number | undefined;
}

/** Numbers are equal if they are within a range of one number. */
function attributeRow({ name, equals, min, max }: AttributeFilter): AttributeRow {
  const isNumber = typeof equals === 'number';
  const type =
    equals === undefined ? ((min ?? max) === undefined ? undefined : 'number') : typeof equals;
  return {
    ...{ name, type, text: isNumber ? undefined : equals?.toString() },
    low: isNumber ? Math.max(equals, min ?? equals) : min,
    high: isNumber ? Math.min(equals, max ?? equals) : max,
  };
}

/** Conditions in a JSON path. A comparison with a value of another type is not true. */
function attributeConditions({ name, type, text, low, high }: AttributeRow): readonly string[] {
  const value = `@.${JSON.stringify(name)}`;
  return [
    ...(type === undefined ? [`exists(${value})`] : []),
    ...(text === undefined
      ? []
      : [`${value} == ${type === 'string' ? JSON.stringify(text) : text}`]),
    ...(low === undefined ? [] : [`${value} >= ${low}`]),
    ...(high === undefined ? [] : [`${value} <= ${high}`]),
  ];
}
