// Updates and published values, for callers. Both wait for an attachment with a reserved name. The
// waits poll, because the execution may run in any process.

import type { EngineConfig } from '../../engine/config.ts';
import { derivedUuid } from '../../engine/ids.ts';
import { type InProject, requireId } from '../../engine/named.ts';
import { type Message, requireValid, signalOf } from '../../engine/requests.ts';
import type { TerminalStatus } from '../../execution/execution.ts';
import { Continuations, parseBody } from '../../execution/history.ts';
import type { ExecutionId, Payload } from '../../execution/names.ts';
import { type CommandRefusal, describeExecutionRefusal } from '../../execution/refusal.ts';
import { NAME_BYTES_MAX } from '../../lease/names.ts';
import { Fault } from '../../support/fault.ts';
import {
  boundedText,
  integerOption,
  present,
  readOptions,
  signalOption,
} from '../../support/options.ts';
import {
  publishedName,
  replyName,
  type StoredReply,
  UPDATE_NAME_BYTES_MAX,
  updateSignal,
} from './model.ts';

/** How long a call waits for a value. */
export interface WaitOptions extends InProject {
  /** Milliseconds to wait, up to ten minutes. Default 0: it does not wait. */
  readonly timeoutMs?: number;
  /** Stops waiting when it aborts. */
  readonly signal?: AbortSignal;
}

/** An update: a signal with a reply. */
export interface UpdateMessage extends Omit<Message, 'client'> {
  /**
   * Milliseconds to wait for the reply, up to ten minutes. Default 10,000. The update stays when the
   * time is over: the same call with its `key` waits again.
   */
  readonly timeoutMs?: number;
  /** Stops waiting when it aborts. The update stays. */
  readonly signal?: AbortSignal;
}

/**
 * The result of an update. `key` is that of the update.
 *
 * - `replied`: the code replied with `value`.
 * - `rejected`: the code, or its schema, rejected the update; `reason` is why.
 * - `pending`: the update is stored, and there is no reply yet. The same call with `key` waits again.
 * - `unanswered`: the execution ended as `status` without a reply.
 * - `refused`: nothing was written; `why` is the reason.
 */
export type UpdateResult<Value = unknown> =
  | { readonly kind: 'replied'; readonly key: string; readonly value: Value }
  | { readonly kind: 'rejected'; readonly key: string; readonly reason: string }
  | { readonly kind: 'pending'; readonly key: string }
  | { readonly kind: 'unanswered'; readonly key: string; readonly status: TerminalStatus }
  | ({ readonly kind: 'refused' } & CommandRefusal);

/** As `UpdateResult`, with the value as it is stored. */
export type StoredUpdate =
  | { readonly kind: 'replied'; readonly key: string; readonly id: ExecutionId; out: object }
  | Exclude<UpdateResult, { kind: 'replied' }>;

/** A value that an execution published, as it is stored. `id` is the execution that has it. */
export interface StoredValue {
  readonly id: ExecutionId;
  readonly out: object;
}

const TIMEOUT_MS_MAX = 600_000;
const REPLY_MS = 10_000;
const POLL_FIRST_MS = 20;
const POLL_MAX_MS = 1_000;

export async function sendUpdate(
  config: EngineConfig,
  ref: string,
  given: UpdateMessage,
): Promise<StoredUpdate> {
  const names = [
    ...['name', 'value', 'key', 'timeoutMs', 'signal'],
    ...['project', 'actor', 'reason'],
  ];
  const { timeoutMs = REPLY_MS, signal, ...message } = readOptions('update', given, names);
  const { key = config.random.uuid(), name, project } = message as Message;
  boundedText('The key of an update', key, NAME_BYTES_MAX);
  boundedText('The name of an update', name, UPDATE_NAME_BYTES_MAX);
  const wait = waitOf(timeoutMs, signal);
  const id = await requireId(config, ref, project);
  await requireValid(config, id, message as Message);
  const token = derivedUuid(key);
  const sent = await signalOf(config, id, {
    ...(message as Message),
    name: updateSignal(name),
    // A signal may have the same key.
    key: derivedUuid(`update:${key}`),
  });
  const body = JSON.stringify({ ...JSON.parse(sent.body), update: token }) as Payload;
  const result = await config.store.executions.signal({ ...sent, body });
  if (result.kind === 'refused') return result;
  const found = await untilThere(config, { id, name: replyName(token) }, wait);
  if (found.kind === 'pending') return { kind: 'pending', key };
  if (found.kind === 'ended') return { kind: 'unanswered', key, status: found.status };
  const { reply } = found;
  if ('rejected' in reply) return { kind: 'rejected', key, reason: reply.rejected };
  return { kind: 'replied', key, id: found.id, out: reply.out };
}

export async function update<Value>(
  config: EngineConfig,
  ref: string,
  given: UpdateMessage,
): Promise<UpdateResult<Value>> {
  const result = await sendUpdate(config, ref, given);
  if (result.kind !== 'replied') return result;
  const { key, id, out } = result;
  const value = await decoded(config, { id, out }, replyName(derivedUuid(key)));
  return { kind: 'replied', key, value: value as Value };
}

/** Undefined if the execution has not published it, or not in time, or has ended without it. */
export async function publishedIn(
  config: EngineConfig,
  ref: string,
  { name, options }: { readonly name: string; readonly options: WaitOptions },
): Promise<StoredValue | undefined> {
  const given = readOptions('published', options, ['timeoutMs', 'signal', 'project']);
  const { timeoutMs = 0, signal, project } = given;
  boundedText('The name of a published value', name, UPDATE_NAME_BYTES_MAX);
  const wait = waitOf(timeoutMs, signal);
  const id = await requireId(config, ref, project);
  const found = await untilThere(config, { id, name: publishedName(name) }, wait);
  if (found.kind !== 'found' || !('out' in found.reply)) return undefined;
  return { id: found.id, out: found.reply.out };
}

export async function published<Value>(
  config: EngineConfig,
  ref: string,
  asked: { readonly name: string; readonly options: WaitOptions },
): Promise<Value | undefined> {
  const stored = await publishedIn(config, ref, asked);
  return stored && ((await decoded(config, stored, publishedName(asked.name))) as Value);
}

function waitOf(timeoutMs: number, signal: AbortSignal | undefined): Wait {
  integerOption('timeoutMs', timeoutMs, { min: 0, max: TIMEOUT_MS_MAX });
  signalOption('signal', signal);
  return { timeoutMs, ...present({ signal }) };
}

async function requireRecord({ store }: EngineConfig, id: ExecutionId) {
  const record = await store.executions.read(id);
  if (record !== undefined) return record;
  throw unknown(id);
}

function unknown(id: ExecutionId): Fault {
  const why = 'execution-unknown';
  return new Fault(why, describeExecutionRefusal({ why, id }));
}

async function decoded(
  config: EngineConfig,
  { id, out }: StoredValue,
  position: string,
): Promise<unknown> {
  const { project } = await requireRecord(config, id);
  return config.payloads.of(project).decodeEnvelope(out, { owners: [id], position });
}

type Wait = Required<Pick<WaitOptions, 'timeoutMs'>> & Pick<WaitOptions, 'signal'>;

type Found =
  | { readonly kind: 'found'; readonly id: ExecutionId; readonly reply: StoredReply }
  | { readonly kind: 'ended'; readonly status: TerminalStatus }
  | { readonly kind: 'pending' };

/** Waits for a value of an execution, or of those that continue it in its project. */
async function untilThere(
  config: EngineConfig,
  of: { readonly id: ExecutionId; readonly name: string },
  { timeoutMs, signal }: Wait,
): Promise<Found> {
  const {
    store: { executions },
    clock,
    timers,
    jobLimits,
  } = config;
  const untilMs = clock.monotonicMs() + timeoutMs;
  const continuations = new Continuations(of.id);
  let { id } = of;
  const { project } = await requireRecord(config, id);
  for (let pauseMs = POLL_FIRST_MS; ; pauseMs = Math.min(2 * pauseMs, POLL_MAX_MS)) {
    // Many callers may wait, and a chain may be long.
    await jobLimits.begin(project, 1);
    signal?.throwIfAborted();
    // Read the outcome first: an execution gives no value after its end.
    const [outcome] = await executions.outcomes([id]);
    const found = await executions.attachment({ id, name: of.name });
    if (found !== undefined) {
      const reply = JSON.parse(Buffer.from(found.bytes).toString()) as StoredReply;
      return { kind: 'found', id, reply };
    }
    if (outcome !== undefined) {
      const { continuedAs } = parseBody<{ continuedAs?: ExecutionId }>(outcome.event.body);
      if (continuedAs === undefined) return { kind: 'ended', status: outcome.status };
      id = continuations.step(continuedAs);
      // A worker wrote this id.
      if ((await requireRecord(config, id)).project !== project) throw unknown(id);
      continue;
    }
    const leftMs = untilMs - clock.monotonicMs();
    if (leftMs <= 0) return { kind: 'pending' };
    await timers.pause(Math.min(pauseMs, leftMs), signal);
  }
}
