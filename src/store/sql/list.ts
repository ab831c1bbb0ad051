// Lists executions. Every filter that an index serves is a lead: it finds ids, and the
// statement checks the other filters row by row. The script asks each lead for the place of its
// 10,000th row, or its 2,000th if attributes are checked. A lead with fewer rows is read whole.
// Otherwise the lead that reaches furthest is read down to that place, and the page ends there
// (ADR 0056).

import { type ExecutionId, nextExecutionId } from '../../execution/names.ts';
import type { SessionId } from '../../lease/names.ts';
import { toInstant } from '../../support/clock.ts';
import { wordsIn } from '../../support/options.ts';
import {
  type AttributeFilter,
  type FoundPage,
  LIST_ROWS_MAX,
  type ListCount,
  type ListExecutions,
  type ListPosition,
  type ListSort,
} from '../contract/execution-reads.ts';
import type { ExecutionStore } from '../contract/execution-store.ts';
import { codesWith, STATUS_CODES } from '../execution-rows.ts';
import { readMany } from './executions.ts';
import { BY_END, ENDED, type Lead, leadsOf } from './list-leads.ts';
import { afterPrefix } from './newest-first.ts';
import { all, type Gateway, one, type Script } from './script.ts';
import { liveSessionsOf, staleOwnersIn } from './workers.ts';

/** Selects the indexes of pipelines and statuses, which differ by store. The last has every row. */
export type BaseLeads = (query: ListExecutions) => Script<readonly Lead[]>;

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
  const isByEnd = query.endedFrom !== undefined || query.endedTo !== undefined;
  // In the order of ends, so that the first rows are already in the range.
  const sort = isByEnd ? ({ sort: 'ended' } as const) : {};
  const asked = { ...query, ...sort, limit: LIST_ROWS_MAX + 1 };
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
  const { sort = 'newest', limit } = query;
  const sessions = yield* sessionsIn(query);
  const checked = { ...valuesOf(query), sessions };
  const given = FILTERS.filter((name) => query[name] !== undefined);
  let furthest: Chosen | undefined;
  const isByEndOnly = sort === 'ended' && given.every((name) => BY_END.includes(name));
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
  const lead: Lead = { parts: [{ statements: ENDED }], serves: BY_END, isOrdered: true };
  const isAlone = isByEndOnly && query.before === undefined && query.downTo === undefined;
  const edge = isAlone ? undefined : yield* edgeOf(lead, sort, checked);
  return { lead, values: checked, isAlone, ...(edge && { edge }) };
}

/** The sessions that may run a listed execution. Undefined: any, or none. */
function* sessionsIn(query: ListExecutions): Script<readonly SessionId[] | undefined> {
  const { worker, staleOwner, project } = query;
  const own = worker === undefined ? undefined : yield* liveSessionsOf(worker);
  if (staleOwner !== true) return own;
  const stale = yield* staleOwnersIn(project);
  return own === undefined ? stale : stale.filter((id) => own.includes(id));
}

/** The filters that are checked if no index serves them. Ranges of ids bound every index. */
const FILTERS = wordsIn(
  'status pipeline release tag attributes hold key keyPrefix worker staleOwner parent code topLevel redriven endedFrom endedTo asOf',
);

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
    ...endValues(query),
  };
}

/** The filter by end, and the range that a list by end still has to read. */
function endValues({ endedFrom, endedTo, after }: ListExecutions): object {
  const isGiven = endedFrom !== undefined || endedTo !== undefined;
  const [from, to] = [endedFrom ?? 0, endedTo ?? Number.MAX_SAFE_INTEGER];
  return {
    ...{ endsFrom: isGiven ? from : undefined, endsTo: isGiven ? to : undefined },
    ...{ endedFrom: from, endedFromId: FIRST },
    endedTo: after?.endedAt ?? to,
    // The end of the range is not part of it.
    endedToId: after?.id ?? FIRST,
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
