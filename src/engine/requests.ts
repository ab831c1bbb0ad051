// Checks the arguments of commands, signals and queries and turns them into requests to the store.

import { HOLDS, type Hold, STATUSES, type Status } from '../execution/execution.ts';
import { SEQ_MAX } from '../execution/history.ts';
import {
  type ExecutionId,
  type Payload,
  parseExecutionId,
  parsePipelineName,
} from '../execution/names.ts';
import { checkedOperation, OPERATION_OPTIONS, stampOf } from '../features/audit/api.ts';
import { NAME_BYTES_MAX } from '../lease/names.ts';
import type {
  AttributeFilter,
  Command,
  ListExecutions,
  ReadAttachment,
  ReadHistory,
  Signal,
} from '../store/contract/execution-store.ts';
import { type Instant, toInstant } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import {
  boundedText,
  integerOption,
  optionalBooleans,
  readList,
  readOptions,
  shown,
} from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import type { ListOptions, OperationOptions } from './holdfast.ts';
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
const LIST_NAMES: readonly (keyof ListOptions)[] = [
  ...(['project', 'status', 'pipeline', 'tag', 'attribute', 'hold', 'cursor', 'limit'] as const),
  ...(['key', 'keyPrefix', 'idPrefix', 'parent', 'topLevel', 'code'] as const),
  ...(['submittedFrom', 'submittedTo'] as const),
];

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
  const given = readOptions('list', options, LIST_NAMES);
  const { project, status, pipeline, tag, attribute, hold, cursor, limit = 100 } = given;
  return {
    project: projectOf(project),
    limit: integerOption('limit', limit, { min: 1, max: 10_000 }),
    ...(status === undefined ? {} : { status: checkedStatus(status) }),
    ...(pipeline === undefined ? {} : { pipeline: parsePipelineName(pipeline) }),
    ...(tag === undefined ? {} : { tag: boundedText('tag', tag, 256) }),
    ...(attribute === undefined ? {} : { attribute: checkedAttribute(attribute) }),
    ...(hold === undefined ? {} : { hold: checkedHold(hold) }),
    ...foundBy(given),
    ...idRange(given, cursor === undefined ? undefined : cursorOf(cursor)),
  };
}

const FOUND_BY = ['key', 'keyPrefix', 'parent', 'code', 'attribute'] as const;

/** The stores read these from indexes that do not know parents. */
const LABELS = ['tag', 'hold', 'attribute'] as const;

/** Each of `FOUND_BY` selects the index that the store reads, so there can be one. */
function foundBy(
  given: ListOptions,
): Pick<ListExecutions, 'key' | 'keyPrefix' | 'parent' | 'code' | 'topLevel'> {
  const { key, keyPrefix, parent, code, topLevel } = given;
  const several = FOUND_BY.filter((name) => given[name] !== undefined);
  if (several.length > 1) {
    throw new InvalidInput(`list: pass only one of ${several.join(', ')}.`);
  }
  optionalBooleans('list', { topLevel });
  const labels = LABELS.filter((name) => given[name] !== undefined);
  if (topLevel === true && labels.length > 0) {
    throw new InvalidInput(`list: topLevel cannot be combined with ${labels.join(', ')}.`);
  }
  return {
    ...(key === undefined ? {} : { key: boundedText('key', key, NAME_BYTES_MAX) }),
    ...(keyPrefix === undefined
      ? {}
      : { keyPrefix: boundedText('keyPrefix', keyPrefix, NAME_BYTES_MAX) }),
    ...(parent === undefined ? {} : { parent: checkedParent(parent) }),
    ...(code === undefined ? {} : { code: boundedText('code', code, NAME_BYTES_MAX) }),
    ...(topLevel === undefined ? {} : { topLevel }),
  };
}

function checkedParent(parent: string): ExecutionId {
  if (ID.test(boundedText('parent', parent, 36))) return parent as ExecutionId;
  throw new InvalidInput(`list: parent must be the id of an execution; got ${shown(parent)}.`);
}

/** An id begins with its time, so a prefix and a time range are ranges of ids. */
function idRange(
  { idPrefix, submittedFrom, submittedTo }: ListOptions,
  cursor: ExecutionId | undefined,
): Pick<ListExecutions, 'before' | 'downTo'> {
  if (idPrefix !== undefined && !ID.test(padded(boundedText('idPrefix', idPrefix, 36), FIRST_ID))) {
    throw new InvalidInput(`list: idPrefix must be the begin of an id; got ${shown(idPrefix)}.`);
  }
  const from = [
    ...(idPrefix === undefined ? [] : [padded(idPrefix, FIRST_ID)]),
    ...(submittedFrom === undefined ? [] : [earliestId(instantOf('submittedFrom', submittedFrom))]),
  ].toSorted();
  const to = [
    ...(cursor === undefined ? [] : [cursor]),
    ...(idPrefix === undefined ? [] : [nextId(padded(idPrefix, LAST_ID))]),
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

/** The least id above this one, because lists end below a given id. */
function nextId(id: ExecutionId): ExecutionId {
  const next = (BigInt(`0x${id.replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0');
  // Above the greatest id there is none.
  if (next.length > 32) return id;
  return next.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') as ExecutionId;
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
