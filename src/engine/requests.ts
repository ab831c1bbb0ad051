// Checks the arguments of commands, signals and queries and turns them into requests to the store.

import { isDate } from 'node:util/types';
import { HOLDS, type Hold, STATUSES, type Status } from '../execution/execution.ts';
import { SEQ_MAX } from '../execution/history.ts';
import {
  type ExecutionId,
  nextExecutionId,
  type Payload,
  parseExecutionRef,
  parsePipelineName,
} from '../execution/names.ts';
import { parseReleaseName } from '../execution/route.ts';
import { checkedOperation, OPERATION_OPTIONS, stampOf } from '../features/audit/api.ts';
import { ACTOR_BYTES_MAX } from '../features/audit/model.ts';
import { COUNT_MAX, type Count, countUpTo } from '../features/overview/model.ts';
import { NAME_BYTES_MAX } from '../lease/names.ts';
import type {
  AttributeFilter,
  ExecutionReads,
  ListExecutions,
  ListPosition,
  ListSort,
  ReadAttachment,
  ReadHistory,
} from '../store/contract/execution-reads.ts';
import type {
  Cancel,
  Command,
  Signal,
  Submit,
  TransactionClient,
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
  wordsIn,
} from '../support/options.ts';
import { systemRandom } from '../support/random.ts';
import type { EngineConfig } from './config.ts';
import type { CancelOptions, ExecutionFilter, ListOptions, OperationOptions } from './holdfast.ts';
import { earliestId, instantOf } from './ids.ts';
import { findId, type InProject } from './named.ts';
import { messageSchema } from './pipeline.ts';
import { cursorOf, isLabel, projectOf, SUBMIT_NAMES, type SubmitOptions } from './submission.ts';
import { signalPosition } from './values/place.ts';
import { validated } from './values/schema.ts';

export function instantOption(what: string, date: Date): Instant {
  if (isDate(date) && Number.isFinite(date.getTime())) return toInstant(date.getTime());
  throw new InvalidInput(`${what} must be a Date; got ${shown(date)}.`);
}

export interface Message extends OperationOptions {
  readonly name: string;
  readonly value?: unknown;
  readonly key?: string;
  readonly client?: TransactionClient;
}

export function commandOf(what: string, id: string, given: OperationOptions): Command {
  return command(id, readOptions(what, given, OPERATION_OPTIONS));
}

/** As `auditedCommand`. The event that ends the execution says whether it was forced. */
export function cancelOf(config: EngineConfig, id: string, given: CancelOptions): Cancel {
  const names = [...OPERATION_OPTIONS, 'force'];
  const { force = false, ...operation } = readOptions('cancel', given, names);
  optionalBooleans('cancel', { force });
  const command = auditedCommand(config, 'cancel', { id, operation });
  if (!force) return command;
  const body = JSON.stringify({ ...JSON.parse(command.body), forced: true }) as Payload;
  return { ...command, body, force };
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

export function messageOf(given: Message): Message {
  return readOptions('signal', given, [...MESSAGE_NAMES, ...OPERATION_OPTIONS, 'client']);
}

export async function signalOf(
  config: EngineConfig,
  id: string,
  { name, value, key, ...operation }: Omit<Message, 'client'>,
): Promise<Signal> {
  const base = command(id, operation);
  const { project } = base;
  const message = { name, value, ...present({ key }) };
  return { ...base, ...(await encodedMessage(config, message, { ...operation, project })) };
}

/**
 * Throws `InvalidInput` if the value does not fit the schema that the pipeline of the execution has
 * for messages of this name, as far as this process has the code.
 */
export async function requireValid(
  config: EngineConfig,
  ref: string,
  { name, value, project }: Pick<Message, 'name' | 'value' | 'project'>,
): Promise<void> {
  const { pipelines, store } = config;
  if (!pipelines.hasMessage(name)) return;
  const id = await findId(config, ref, project);
  const record = id && (await store.executions.read(id));
  const schema = record && messageSchema(pipelines.get(record.pipeline), name);
  if (schema !== undefined) await validated(`The value of "${name}"`, schema, value);
}

const MESSAGE_NAMES = ['name', 'value', 'key'] as const;

/**
 * If the caller passes no key, the signal gets a new one, so that a repeated write changes nothing.
 */
async function encodedMessage(
  { payloads }: Pick<EngineConfig, 'payloads'>,
  { name: named, value, key = systemRandom.uuid() }: SentSignal,
  { project, actor }: OperationOptions,
): Promise<Required<Pick<Signal, 'name' | 'key' | 'body'>>> {
  const name = boundedText('The name of a signal', named, NAME_BYTES_MAX);
  boundedText('The key of a signal', key, NAME_BYTES_MAX);
  const out = await payloads.of(projectOf(project)).encode(`The value of signal "${name}"`, value, {
    // Signals are compared by project and position only, because they travel.
    ...{ owner: '', position: signalPosition(name) },
  });
  // History is append-only, so its bodies keep the field `by`.
  const who = actor === undefined ? '' : `,"by":${JSON.stringify(actor)}`;
  return { name, key, body: `{"out":${out}${who}}` as Payload };
}

/** A signal as its sender describes it. */
export interface SentSignal {
  /** The name that the code passes to `ctx.receive`. */
  readonly name: string;
  /** The value that the code gets. Default undefined. */
  readonly value?: unknown;
  /**
   * A second signal with this key changes nothing. At most 256 bytes. By default every signal is a
   * new one.
   */
  readonly key?: string;
}

export interface SignalledSubmit extends SubmitOptions {
  /** Identifies the execution. */
  readonly key: string;
  readonly signal: SentSignal;
}

/**
 * Runs before anything is written: a submission must not be stored if its signal can never be sent.
 */
export async function signalledSubmit(
  config: EngineConfig,
  given: SignalledSubmit,
): Promise<{ readonly submit: SubmitOptions; readonly message: NonNullable<Submit['message']> }> {
  const names = ['signal', ...SUBMIT_NAMES];
  const { signal: sent, ...submit } = readOptions('submitOrSignal', given, names);
  boundedText('submitOrSignal: key', submit.key, NAME_BYTES_MAX);
  const signal = readOptions('submitOrSignal: signal', sent, [...MESSAGE_NAMES]);
  const { project, actor } = submit;
  if (actor !== undefined) boundedText('actor', actor, ACTOR_BYTES_MAX);
  const message = await encodedMessage(config, signal, present({ project, actor }));
  return { submit, message };
}

function command(id: string, { project, ...operation }: OperationOptions): Command {
  const { actor, reason } = checkedOperation(operation);
  return {
    id: parseExecutionRef(id),
    project: projectOf(project),
    body: JSON.stringify({ by: actor, reason }) as Payload,
  };
}

const HISTORY_PAGE_MAX = 10_000;
const FILTER_NAMES: readonly (keyof ExecutionFilter)[] = wordsIn(
  'project status pipeline tag attribute hold key keyPrefix idPrefix parent topLevel code redriven submittedFrom submittedTo endedFrom endedTo release worker staleOwner',
);
const LIST_NAMES: readonly (keyof ListOptions)[] = [...FILTER_NAMES, 'sort', 'cursor', 'limit'];

export interface HistoryPage extends InProject {
  readonly after?: number;
  readonly limit?: number;
}

export function historyPageOf(page: HistoryPage): Omit<ReadHistory, 'id'> & InProject {
  const names = ['after', 'limit', 'project'];
  const { after = 0, limit = 1_000, project } = readOptions('history', page, names);
  return {
    ...present({ project }),
    after: integerOption('after', after, { min: 0, max: SEQ_MAX }),
    limit: integerOption('limit', limit, { min: 1, max: HISTORY_PAGE_MAX }),
  };
}

export function attachmentQueryOf(id: ExecutionId, name: string): ReadAttachment {
  return { id, name: boundedText('The name of an attachment', name, 256) };
}

export function listQueryOf(options: ListOptions): ListExecutions {
  const { cursor, limit = 100, sort: given, ...filter } = readOptions('list', options, LIST_NAMES);
  // In the order of submission, a page could examine all its rows before it reaches the range.
  const sort = given ?? (isByEnd(filter) ? 'ended' : undefined);
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
    ...endRange(given),
  };
}

function isByEnd({ endedFrom, endedTo }: ExecutionFilter): boolean {
  return endedFrom !== undefined || endedTo !== undefined;
}

function endRange({
  endedFrom,
  endedTo,
}: ExecutionFilter): Pick<ListExecutions, 'endedFrom' | 'endedTo'> {
  return {
    ...(endedFrom === undefined ? {} : { endedFrom: instantOf('endedFrom', endedFrom) }),
    ...(endedTo === undefined ? {} : { endedTo: instantOf('endedTo', endedTo) }),
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
): Pick<
  ListExecutions,
  'key' | 'keyPrefix' | 'parent' | 'code' | 'topLevel' | 'redriven' | 'staleOwner'
> {
  const { key, keyPrefix, parent, code, topLevel, redriven, staleOwner } = given;
  if (key !== undefined && keyPrefix !== undefined) {
    throw new InvalidInput('list: pass only one of key and keyPrefix.');
  }
  optionalBooleans('list', { topLevel, redriven, staleOwner });
  return {
    ...(key === undefined ? {} : { key: boundedText('key', key, NAME_BYTES_MAX) }),
    ...(keyPrefix === undefined
      ? {}
      : { keyPrefix: boundedText('keyPrefix', keyPrefix, NAME_BYTES_MAX) }),
    ...(parent === undefined ? {} : { parent: checkedParent(parent) }),
    ...(code === undefined ? {} : { code: boundedText('code', code, NAME_BYTES_MAX) }),
    ...(topLevel === true ? { topLevel } : {}),
    ...(staleOwner === true ? { staleOwner } : {}),
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
  return present({ before, downTo });
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function padded(prefix: string, id: string): ExecutionId {
  return `${prefix}${id.slice(prefix.length)}` as ExecutionId;
}

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
