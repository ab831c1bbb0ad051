// Lists newest first. One filter selects the index and gives the order by id; the statement checks
// the others row by row. A range of an attribute is found by value and then sorted. The full rows
// are read only for the final page.

import type { ExecutionRecord, Status } from '../../../execution/execution.ts';
import { type ExecutionId, OWN_PREFIX, type PipelineName } from '../../../execution/names.ts';
import { routeOf } from '../../../execution/route.ts';
import {
  type AttributeFilter,
  LIST_ROWS_MAX,
  type ListExecutions,
} from '../../contract/execution-store.ts';
import { codesWith, STATUS_CODES, toExecution } from '../../execution-rows.ts';
import { afterPrefix } from '../../sql/newest-first.ts';
import type { Parameters } from '../connection.ts';
import type { ReadTransaction } from '../transaction.ts';
import { loadByRowId } from './load-execution.ts';
import { LABEL_KINDS, labelKind, labelValue } from './submit.ts';

interface Found {
  readonly row_id: number;
  readonly id: string;
}

interface Lead {
  readonly from: string;
  readonly conditions: readonly string[];
  readonly parameters?: Parameters;
}

const BY_LABEL = 'label cross join execution on execution.id = label.execution_id';
const IN_LABEL = [
  ...['label.project = :project', 'label.execution_id < :before'],
  'label.execution_id >= :downTo',
];
const IN_EXECUTION = [
  ...['execution.project = :project', 'execution.id < :before'],
  'execution.id >= :downTo',
];

const BY_LETTER =
  'dead_letter indexed by dead_letter_code cross join execution on execution.id = dead_letter.execution_id';
const IN_LETTER = [
  ...['dead_letter.project = :project', 'dead_letter.code = :code'],
  ...['dead_letter.execution_id < :before', 'dead_letter.execution_id >= :downTo'],
];

const HAS_TAG = `exists (
           select 1
             from label as tag
            where tag.project = :project
              and tag.kind = ${LABEL_KINDS.tag}
              and tag.name = ''
              and tag.value = :tag
              and tag.execution_id = execution.id)`;

/** Statuses that have an index. Worker capacity bounds the number of running executions. */
const INDEXED: Readonly<Partial<Record<Status, string>>> = {
  running: 'execution_running',
  waiting: 'execution_status',
  failed: 'execution_status',
  cancelled: 'execution_status',
  quarantined: 'execution_status',
  compensated: 'execution_status',
};

/** Matches the pipeline with any release. */
const OF_PIPELINE = 'instr(execution.pipeline || char(31), :pipeline || char(31)) = 1';
const NOT_OWN = `substr(execution.pipeline, 1, ${OWN_PREFIX.length}) <> '${OWN_PREFIX}'`;
const NO_ID = '~'; // Sorts above every id.

/** Checks of many rows block all other requests, so a page ends after some, wherever it is. */
export function listEdge(tx: ReadTransaction, query: ListExecutions): ExecutionId | undefined {
  if (!hasChecks(query)) return undefined;
  const { project, before = NO_ID } = query;
  const common = { project, before, downTo: '' };
  const edges = leadsOf(tx, query).flatMap(({ from, conditions, parameters }) => {
    const isLabel = from === BY_LABEL;
    const id = idIn(from);
    const found = tx.all<{ readonly id: ExecutionId }>(
      `
  select ${id} as id
    from ${isLabel ? 'label' : from}
   where ${conditions.join('\n     and ')}
   order by ${id} desc
   limit 1 offset ${LIST_ROWS_MAX - 1}`,
      { ...common, ...parameters },
    );
    return found.map((row) => row.id);
  });
  return edges.sort().at(-1);
}

/** True if rows of the chosen index may not match the other filters. */
function hasChecks(query: ListExecutions): boolean {
  const { attribute, hold, tag, status, pipeline, topLevel } = query;
  // One key, or at most 10,000, in the order of keys.
  if (query.key !== undefined || query.keyPrefix !== undefined) return false;
  // The index of a range is not in the order of ids.
  if (attribute?.min !== undefined || attribute?.max !== undefined) return false;
  const { parent, code } = query;
  const filters = [attribute, hold, tag, status, pipeline, parent, code].filter(
    (each) => each !== undefined,
  );
  if (topLevel === true) return true;
  const isByStatus = filters.length === 1 && status !== undefined && !areIndexed(status);
  return filters.length > 1 || isByStatus;
}

function areIndexed(status: readonly Status[]): boolean {
  return status.every((each) => INDEXED[each] !== undefined);
}

export function list(tx: ReadTransaction, query: ListExecutions): readonly ExecutionRecord[] {
  const { project, limit, pipeline, tag, status, hold, downTo = '' } = query;
  const before = query.before ?? NO_ID;
  const checks = [
    pipeline === undefined ? NOT_OWN : OF_PIPELINE,
    ...(tag === undefined ? [] : [HAS_TAG]),
    ...(hold === undefined ? [] : [`execution.hold in (${codesWith(hold).join(', ')})`]),
    ...(status === undefined
      ? []
      : [`execution.status in (${status.map((each) => STATUS_CODES[each]).join(', ')})`]),
    ...(query.topLevel === true ? ['execution.parent_id is null'] : []),
  ];
  const common: Parameters = {
    ...{ project, before, downTo, limit },
    ...(pipeline === undefined ? {} : { pipeline }),
    ...(tag === undefined ? {} : { tag }),
  };
  const rowIds = leadsOf(tx, query)
    .flatMap(({ from, conditions, parameters }) =>
      tx.all<Found>(select(from, [...conditions, ...checks]), { ...common, ...parameters }),
    )
    .sort((a, b) => (a.id < b.id ? 1 : -1))
    .slice(0, limit)
    .map(({ row_id }) => row_id);
  return loadByRowId(tx, rowIds).map(toExecution);
}

function select(from: string, conditions: readonly string[]): string {
  const id = idIn(from);
  return `
  select execution.row_id, execution.id
    from ${from}
   where ${conditions.join('\n     and ')}
   order by ${id} desc
   limit :limit`;
}

/** The id in the leading table, which gives the order. */
function idIn(from: string): string {
  if (from === BY_LETTER) return 'dead_letter.execution_id';
  return from === BY_LABEL ? 'label.execution_id' : 'execution.id';
}

/** If there are several, they are disjoint. */
function leadsOf(tx: ReadTransaction, query: ListExecutions): readonly Lead[] {
  const { attribute, tag, status, pipeline, hold } = query;
  const { key, keyPrefix, parent, code } = query;
  if (key !== undefined) return [keyLead(key, key)];
  if (keyPrefix !== undefined) return [keyLead(keyPrefix, afterPrefix(keyPrefix))];
  if (parent !== undefined) {
    const conditions = [...IN_EXECUTION, 'execution.parent_id = :parent'];
    return [{ from: 'execution indexed by execution_parent', conditions, parameters: { parent } }];
  }
  if (code !== undefined) return [{ from: BY_LETTER, conditions: IN_LETTER, parameters: { code } }];
  if (attribute !== undefined) return attributeLeads(attribute);
  if (hold !== undefined) return codesWith(hold).map(heldLead);
  if (tag !== undefined) {
    const lead = labelLead(LABEL_KINDS.tag, ["label.name = ''", 'label.value = :tag']);
    return [{ ...lead, parameters: { tag } }];
  }
  if (status !== undefined && areIndexed(status)) {
    return [...new Set(status)].map(statusLead);
  }
  if (pipeline !== undefined) return routesTo(tx, query.project, pipeline).map(routeLead);
  return [{ from: 'execution indexed by execution_list', conditions: IN_EXECUTION }];
}

/** Keys are found in their order, and then sorted by id. */
function keyLead(from: string, to: string): Lead {
  const keys = `(
      select * from execution indexed by execution_key
       where project = :project and key >= :from and key <= :to
       order by key limit ${LIST_ROWS_MAX}) as execution`;
  return { from: keys, conditions: IN_EXECUTION, parameters: { from, to } };
}

function attributeLeads({ name, equals, min, max }: AttributeFilter): readonly Lead[] {
  const named = 'label.name = :attribute';
  const isRange = min !== undefined || max !== undefined;
  const bounds = [
    ...(min === undefined ? [] : ['label.value >= :min']),
    ...(max === undefined ? [] : ['label.value <= :max']),
  ];
  const parameters: Parameters = {
    attribute: name,
    ...(equals === undefined ? {} : { equals: labelValue(equals) }),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
  };
  if (equals !== undefined) {
    // Only numbers have ranges.
    if (isRange && typeof equals !== 'number') return [];
    const conditions = [named, 'label.value = :equals', ...bounds];
    return [{ ...labelLead(labelKind(equals), conditions), parameters }];
  }
  const { string, number, boolean } = LABEL_KINDS;
  const kinds = isRange ? [number] : [string, number, boolean];
  return kinds.map((kind) => ({ ...labelLead(kind, [named, ...bounds]), parameters }));
}

function labelLead(kind: number, conditions: readonly string[]): Lead {
  return { from: BY_LABEL, conditions: [...IN_LABEL, `label.kind = ${kind}`, ...conditions] };
}

function heldLead(code: number): Lead {
  // Repeats the condition of the index, so that SQLite can use it.
  const conditions = [...IN_EXECUTION, `execution.hold = ${code}`, 'execution.hold <> 0'];
  return { from: 'execution indexed by execution_held', conditions };
}

function routeLead(route: string): Lead {
  const conditions = [...IN_EXECUTION, 'execution.pipeline = :route'];
  return { from: 'execution indexed by execution_pipeline', conditions, parameters: { route } };
}

function statusLead(status: Status): Lead {
  const index = INDEXED[status] ?? 'execution_list';
  // Repeats the condition of the index, so that SQLite can use it.
  const fits =
    index === 'execution_status' ? ['(execution.status = 2 or execution.status > 10)'] : [];
  const conditions = [...IN_EXECUTION, `execution.status = ${STATUS_CODES[status]}`, ...fits];
  return { from: `execution indexed by ${index}`, conditions };
}

const NAMES = 'select name from release where project = :project and pipeline = :pipeline';

/** Returns the route without a release, and one for each release. */
function routesTo(
  tx: ReadTransaction,
  project: string,
  pipeline: PipelineName,
): readonly PipelineName[] {
  const names = tx.all<{ name: string }>(NAMES, { project, pipeline });
  return [pipeline, ...names.map(({ name }) => routeOf({ pipeline, release: name }))];
}
