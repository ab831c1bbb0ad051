// Checks the arguments of commands, signals and queries and turns them into requests to the store.

import { HOLDS, type Hold, STATUSES, type Status } from '../execution/execution.ts';
import { SEQ_MAX } from '../execution/history.ts';
import {
  type ExecutionId,
  nextExecutionId,
  type Payload,
  parseExecutionId,
  parsePipelineName,
} from '../execution/names.ts';
import { parseReleaseName } from '../execution/route.ts';
import { checkedOperation, OPERATION_OPTIONS, stampOf } from '../features/audit/api.ts';
import { COUNT_MAX, type Count, countUpTo } from '../features/overview/model.ts';
import { NAME_BYTES_MAX } from '../lease/names.ts';
import type {
  AttributeFilter,
  Command,
  ExecutionReads,
  ListExecutions,
  ListPosition,
  ListSort,
  ReadAttachment,
  ReadHistory,
  Signal,
} from '../store/contract/execution-store.ts';
import { type Instant, toInstant } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  boundedText,
  integerOption,
  isList,
  optionalBooleans,
  present,
  readList,
  readOptions,
  shown,
} from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import type { ExecutionFilter, ListOptions, OperationOptions } from './holdfast.ts';
import { earliestId } from './ids.ts';
import { cursorOf, isLabel, projectOf, SUBMIT_NAMES, type SubmitOptions } from './submission.ts';
import type { Payloads } from './values/payloads.ts';
import { signalPosition } from './values/place.ts';

export interface Message extends OperationOptions {
  readonly name: string;
  readonly value?: unknown;
}

export function commandOf(what: string, id: string, given: OperationOptions): Command {
  return command(id, readOptions(what, given, OPERATION_OPTIONS));
}

/** Adds the actor and the reason for the audit (J-1). */
export function auditedCommand(
  config: EngineConfig,
  action: 'cancel' | 'pause' | 'resume',
  { id, operation }: { readonly id: string; readonly operation: OperationOptions },
): Command {
  const given = readOptions(action, operation, OPERATION_OPTIONS);
  return { ...command(id, given), audit: stampOf(config, action, given) };
}

export async function signalOf(config: EngineConfig, id: string, given: Message): Promise<Signal> {
  const {
    name: named,
    value,
    ...operation
  } = readOptions('signal', given, [...(['name', 'value'] as const), ...OPERATION_OPTIONS]);
  const base = command(id, operation);
  const name = boundedText('The name of a signal', named, NAME_BYTES_MAX);
  const out = await config.payloads
    .of(base.project)
    .encode(`The value of signal "${name}"`, value, {
      ...{ owner: base.id, position: signalPosition(name) },
    });
  const { actor } = operation;
  // History is append-only, so its bodies keep the field `by`.
  const who = actor === undefined ? '' : `,"by":${JSON.stringify(actor)}`;
  const body = `{"out":${out}${who}}` as Payload;
  return { ...base, name, body };
}

export interface SignalledSubmit extends Omit<SubmitOptions, 'client'> {
  /** Identifies the execution. */
  readonly key: string;
  readonly signal: Pick<Message, 'name' | 'value'>;
}

/**
 * Runs before anything is written: a submission must not be stored if its signal can never be sent.
 */
export function signalledSubmit(
  payloads: Payloads,
  given: SignalledSubmit,
): {
  readonly submit: SubmitOptions;
  readonly signal: Pick<Message, 'name' | 'value'>;
  readonly operation: OperationOptions;
} {
  const names = ['signal', ...SUBMIT_NAMES.filter((name) => name !== 'client')];
  const { signal: sent, ...submit } = readOptions('submitOrSignal', given, names);
  boundedText('submitOrSignal: key', submit.key, NAME_BYTES_MAX);
  const signal = readOptions('submitOrSignal: signal', sent, ['name', 'value']);
  const name = boundedText('The name of a signal', signal.name, NAME_BYTES_MAX);
  payloads.check(`The value of signal "${name}"`, signal.value);
  const { project, actor } = submit;
  const operation = {
    ...(project === undefined ? {} : { project }),
    ...(actor === undefined ? {} : { actor }),
  };
  return { submit, signal, operation };
}

function command(id: string, { project, ...operation }: OperationOptions): Command {
  const { actor, reason } = checkedOperation(operation);
  return {
    id: parseExecutionId(id),
    project: projectOf(project),
    body: JSON.stringify({ by: actor, reason }) as Payload,
  };
}

const HISTORY_PAGE_MAX = 10_000;
const FILTER_NAMES: readonly (keyof ExecutionFilter)[] = [
  ...(['project', 'status', 'pipeline', 'tag', 'attribute', 'hold'] as const),
  ...(['key', 'keyPrefix', 'idPrefix', 'parent', 'topLevel', 'code', 'redriven'] as const),
  ...(['submittedFrom', 'submittedTo', 'release', 'worker'] as const),
];
const LIST_NAMES: readonly (keyof ListOptions)[] = [...FILTER_NAMES, 'sort', 'cursor', 'limit'];

export interface HistoryPage {
  readonly after?: number;
  readonly limit?: number;
}

export function historyQueryOf(id: string, page: HistoryPage): ReadHistory {
  const { after = 0, limit = 1_000 } = readOptions('history', page, ['after', 'limit']);
  return {
    id: parseExecutionId(id),
    after: integerOption('after', after, { min: 0, max: SEQ_MAX }),
    limit: integerOption('limit', limit, { min: 1, max: HISTORY_PAGE_MAX }),
  };
}

export function attachmentQueryOf(id: string, name: string): ReadAttachment {
  return {
    id: parseExecutionId(id),
    name: boundedText('The name of an attachment', name, 256),
  };
}

export function listQueryOf(options: ListOptions): ListExecutions {
  const { cursor, limit = 100, sort, ...filter } = readOptions('list', options, LIST_NAMES);
  return {
    ...matching(filter),
    limit: integerOption('limit', limit, { min: 1, max: 10_000 }),
    ...(sort === undefined ? {} : { sort: checkedSort(sort) }),
    ...(cursor === undefined ? {} : { after: positionIn(cursor, sort) }),
  };
}

function matching(given: ExecutionFilter): Omit<ListExecutions, 'limit'> {
  const { project, status, pipeline, tag, attribute, hold, release, worker } = given;
  return {
    project: projectOf(project),
    ...(status === undefined ? {} : { status: checkedStatus(status) }),
    ...(pipeline === undefined ? {} : { pipeline: parsePipelineName(pipeline) }),
    ...(release === undefined ? {} : { release: parseReleaseName(release, 'release') }),
    ...(worker === undefined ? {} : { worker: boundedText('worker', worker, NAME_BYTES_MAX) }),
    ...(tag === undefined ? {} : { tag: boundedText('tag', tag, 256) }),
    ...(attribute === undefined ? {} : { attributes: checkedAttributes(attribute) }),
    ...(hold === undefined ? {} : { hold: checkedHold(hold) }),
    ...foundBy(given),
    ...idRange(given),
  };
}

function checkedSort(sort: ListSort): ListSort {
  if (SORTS.includes(sort)) return sort;
  throw new InvalidInput(`sort must be one of ${SORTS.join(', ')}; got ${shown(sort)}.`);
}

const SORTS: readonly ListSort[] = ['newest', 'oldest', 'ended'];

/** A cursor of a list by end begins with the time. */
export function cursorAt({ id, endedAt }: ListPosition): string {
  return endedAt === undefined ? id : `${endedAt}.${id}`;
}

function positionIn(cursor: unknown, sort: ListSort | undefined): ListPosition {
  if (sort !== 'ended') return { id: cursorOf(cursor) };
  const [, ms, id] = (typeof cursor === 'string' && /^(\d{1,15})\.(.+)$/.exec(cursor)) || [];
  if (ms === undefined) {
    throw new InvalidInput(`cursor must be of a page that is sorted by end; got ${shown(cursor)}.`);
  }
  return { id: cursorOf(id), endedAt: toInstant(Number(ms)) };
}

/** The most parts of a count; each examines as many rows as a page. */
const COUNT_PARTS_MAX = 5;

export async function countListed(
  { count }: Pick<ExecutionReads, 'count'>,
  filter: ExecutionFilter,
): Promise<Count> {
  const query = { ...matching(readOptions('count', filter, FILTER_NAMES)), limit: 1 };
  let sum = 0;
  let after: ListPosition | undefined;
  for (let parts = 0; parts < COUNT_PARTS_MAX && sum <= COUNT_MAX; parts += 1) {
    const part = await count({ ...query, ...(after && { after }) });
    sum += part.count;
    after = part.next;
    if (after === undefined) return countUpTo(sum);
  }
  return { count: Math.min(sum, COUNT_MAX), capped: true };
}

function foundBy(
  given: ExecutionFilter,
): Pick<ListExecutions, 'key' | 'keyPrefix' | 'parent' | 'code' | 'topLevel' | 'redriven'> {
  const { key, keyPrefix, parent, code, topLevel, redriven } = given;
  if (key !== undefined && keyPrefix !== undefined) {
    throw new InvalidInput('list: pass only one of key and keyPrefix.');
  }
  optionalBooleans('list', { topLevel, redriven });
  return {
    ...(key === undefined ? {} : { key: boundedText('key', key, NAME_BYTES_MAX) }),
    ...(keyPrefix === undefined
      ? {}
      : { keyPrefix: boundedText('keyPrefix', keyPrefix, NAME_BYTES_MAX) }),
    ...(parent === undefined ? {} : { parent: checkedParent(parent) }),
    ...(code === undefined ? {} : { code: boundedText('code', code, NAME_BYTES_MAX) }),
    ...(topLevel === true ? { topLevel } : {}),
    ...present({ redriven }),
  };
}

function checkedParent(parent: string): ExecutionId {
  if (ID.test(boundedText('parent', parent, 36))) return parent as ExecutionId;
  throw new InvalidInput(`list: parent must be the id of an execution; got ${shown(parent)}.`);
}

/** An id begins with its time, so a prefix and a time range are ranges of ids. */
function idRange({
  idPrefix,
  submittedFrom,
  submittedTo,
}: ExecutionFilter): Pick<ListExecutions, 'before' | 'downTo'> {
  if (idPrefix !== undefined && !ID.test(padded(boundedText('idPrefix', idPrefix, 36), FIRST_ID))) {
    throw new InvalidInput(`list: idPrefix must be the begin of an id; got ${shown(idPrefix)}.`);
  }
  const from = [
    ...(idPrefix === undefined ? [] : [padded(idPrefix, FIRST_ID)]),
    ...(submittedFrom === undefined ? [] : [earliestId(instantOf('submittedFrom', submittedFrom))]),
  ].toSorted();
  const to = [
    ...(idPrefix === undefined ? [] : [nextExecutionId(padded(idPrefix, LAST_ID))]),
    ...(submittedTo === undefined ? [] : [earliestId(instantOf('submittedTo', submittedTo))]),
  ].toSorted();
  const [downTo, before] = [from.at(-1), to[0]];
  return {
    ...(before === undefined ? {} : { before }),
    ...(downTo === undefined ? {} : { downTo }),
  };
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function padded(prefix: string, id: string): ExecutionId {
  return `${prefix}${id.slice(prefix.length)}` as ExecutionId;
}

function instantOf(name: string, ms: number): Instant {
  return toInstant(integerOption(name, ms, { min: 0, max: MS_MAX }));
}

/** The last time that an id can have. */
const MS_MAX = 2 ** 48 - 1;

function checkedStatus(status: NonNullable<ListOptions['status']>): readonly Status[] {
  const all = typeof status === 'string' ? [status] : readList('status', status);
  const odd = all.findIndex((each) => !STATUSES.includes(each as Status));
  if (odd === -1) return all as readonly Status[];
  throw new InvalidInput(`status must be one of ${STATUSES.join(', ')}; got ${shown(all[odd])}.`);
}

function checkedHold(hold: Hold): Hold {
  if (HOLDS.includes(hold)) return hold;
  throw new InvalidInput(`hold must be one of ${HOLDS.join(', ')}; got ${shown(hold)}.`);
}

/** Each is one check of a row, so there can be a few. */
const ATTRIBUTES_MAX = 10;

function checkedAttributes(
  given: NonNullable<ListOptions['attribute']>,
): readonly AttributeFilter[] {
  const all = isList('attribute', given) ? readList('attribute', given) : [given];
  if (all.length > ATTRIBUTES_MAX) {
    throw new InvalidInput(`attribute: pass at most ${ATTRIBUTES_MAX} filters; got ${all.length}.`);
  }
  return all.map((each) => checkedAttribute(each as AttributeFilter));
}

function checkedAttribute(given: AttributeFilter): AttributeFilter {
  const filter = readOptions('attribute', given, ['name', 'equals', 'min', 'max']);
  boundedText('attribute.name', filter.name, 256);
  if (filter.equals !== undefined && !isLabel(filter.equals)) {
    throw new InvalidInput(
      `attribute.equals must be text, a finite number or a boolean; got ${shown(filter.equals)}.`,
    );
  }
  for (const name of ['min', 'max'] as const) {
    if (filter[name] === undefined || Number.isFinite(filter[name])) continue;
    throw new InvalidInput(
      `attribute.${name} must be a finite number; got ${shown(filter[name])}.`,
    );
  }
  return filter;
}
