// Checks the arguments of commands, signals and queries and turns them into requests to the store.

import { HOLDS, type Hold, STATUSES, type Status } from '../execution/execution.ts';
import { SEQ_MAX } from '../execution/history.ts';
import { type Payload, parseExecutionId, parsePipelineName } from '../execution/names.ts';
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
import { InvalidInput } from '../support/fault.ts';
import { boundedText, integerOption, readList, readOptions, shown } from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import type { ListOptions, OperationOptions } from './holdfast.ts';
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
    ...(cursor === undefined ? {} : { before: cursorOf(cursor) }),
  };
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
