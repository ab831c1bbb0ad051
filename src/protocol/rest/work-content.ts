// Checks the content of an owner's write. The store keeps payloads unchanged, and routes, re-drives
// and imports read them. So the coordinator refuses unreadable payloads before it writes anything.

import { isLabel } from '../../engine/submission.ts';
import { parseEnvelope } from '../../engine/values/payloads.ts';
import { storedValues } from '../../execution/execution.ts';
import type { HistoryEventKind } from '../../execution/history.ts';
import { type ExecutionId, OWN_PREFIX, type ProjectName } from '../../execution/names.ts';
import { ANNOUNCED_QUESTIONS } from '../../features/channels/model.ts';
import { namedBy } from '../../features/retention/model.ts';
import { NAME_BYTES_MAX } from '../../lease/names.ts';
import { historyPages, inboxPages } from '../../store/contract/body-pages.ts';
import type { ExecutionStore } from '../../store/contract/execution-store.ts';
import type { ReadBlob } from '../../store/contract/payload-store.ts';
import { isDeeperThan } from '../../support/json-size.ts';
import type { WriteMessage } from '../messages/work.ts';
import { ProblemReply } from './route.ts';

export type Submitted = NonNullable<WriteMessage['children']>[number];

export function remindersIn(message: WriteMessage): readonly Submitted[] {
  return (message.awaits ?? []).flatMap(({ reminders }) => reminders.map(({ start }) => start));
}

export function submissionsIn(message: WriteMessage): readonly Submitted[] {
  const successor = message.verb === 'finish' ? message.successor : undefined;
  return [
    ...(message.children ?? []),
    ...remindersIn(message),
    ...(successor === undefined ? [] : [successor]),
  ];
}

/** The limit of nesting, because code that writes JSON recurses. */
export const DEPTH_MAX = 1_000;

/**
 * The limit of a value in a row, with its envelope. Claims and lists have many of them in one
 * response.
 */
export const INLINE_CHARS_MAX = 128 * 1024;
/** The limit of the body of an event or an outcome, which may contain several values. */
export const BODY_CHARS_MAX = 1024 * 1024;
/**
 * The limit of one write: about what a store writes in a tenth of a second, while other requests
 * wait.
 */
const ROWS_MAX = 20_000;

/** The rows that a write creates: one for each event, execution, label, question or attachment. */
export function rowsOf(message: WriteMessage): number {
  const { events, awaits = [], attachments = [], attributes = {} } = message;
  const labels = submissionsIn(message).reduce(
    (sum, { tags, attributes }) => sum + 2 + tags.length + Object.keys(attributes).length,
    0,
  );
  const questions = awaits.reduce((sum, { items }) => sum + 1 + items.length, 0);
  const changed = Object.keys(attributes).length;
  return events.length + labels + questions + attachments.length + changed;
}

/** The most messages that a write has for each channel: an end can have a dead letter too (CH-12). */
export function messagesOf(message: WriteMessage): number {
  const questions = (message.awaits ?? []).reduce(
    (sum, { items }) => sum + Math.min(items.length, ANNOUNCED_QUESTIONS),
    0,
  );
  return questions + (message.verb === 'finish' ? 2 : 0);
}

/** The characters of the bodies and values in a write, which are JSON. */
export function charsOf(message: WriteMessage): number {
  return textsIn(message).reduce((sum, text = '') => sum + text.length, 0);
}

function textsIn(message: WriteMessage): readonly (string | undefined)[] {
  const outcome = message.verb === 'finish' ? message.outcome : undefined;
  const bodies = [...message.events, ...submissionsIn(message)].map(({ body }) => body);
  return [outcome, ...bodies, ...valuesIn(message)];
}

/** Throws if a write has too many rows, with the messages that channels get. */
export function requireFewRows(id: string, rows: number): void {
  if (rows <= ROWS_MAX) return;
  throw tooLarge(
    `A write of execution ${id} has ${rows} rows, and at most ${ROWS_MAX} are allowed. A channel that announces opened questions adds a row for each. Write fewer at a time.`,
  );
}

/** Runs before anything is parsed. */
function requireBounded(message: WriteMessage): void {
  const { id, events } = message;
  requireFewRows(id, rowsOf(message));
  const outcome = message.verb === 'finish' ? message.outcome : undefined;
  for (const body of [outcome, ...events.map((each) => each.body)]) {
    if ((body?.length ?? 0) > BODY_CHARS_MAX) throw tooLarge(inline(id, 'body', BODY_CHARS_MAX));
  }
  const bodies = submissionsIn(message).map(({ body }) => body);
  for (const value of [...valuesIn(message), ...bodies]) {
    if ((value?.length ?? 0) > INLINE_CHARS_MAX)
      throw tooLarge(inline(id, 'value', INLINE_CHARS_MAX));
  }
  for (const { bytes } of ownAttachments(message)) {
    if (Buffer.byteLength(bytes, 'base64') > INLINE_CHARS_MAX)
      throw tooLarge(inline(id, 'reply or published value', INLINE_CHARS_MAX));
  }
}

/** Replies to updates and published values. Routes decode them, unlike other attachments. */
function ownAttachments({ attachments = [] }: WriteMessage): readonly { readonly bytes: string }[] {
  return attachments.filter(({ name }) => name.startsWith(OWN_PREFIX));
}

function inline(id: string, what: string, max: number): string {
  return `A ${what} in a write of execution ${id} has more than ${max} characters. Store large values first (putBlob), and refer to them.`;
}

function tooLarge(why: string): ProblemReply {
  return new ProblemReply('payload-too-large', `${why} Nothing was written.`);
}

/** Returns the digests of the values that the message refers to. */
export function requireReadable(message: WriteMessage): readonly string[] {
  const { id, events } = message;
  requireBounded(message);
  const refersTo: string[] = [];
  requireOwnEvents(message);
  for (const { kind, body } of events) {
    const parsed = body === undefined ? {} : parsedFrom(message, body);
    const odd = oddField(parsed) ?? missingField(kind, parsed as object);
    if (odd !== undefined)
      throw unreadable(`${odd} in the body of a ${kind} event of execution ${id}.`);
    if (body === undefined) continue;
    requireOwnSuccessor(message, { body, parsed });
    refersTo.push(...referencesIn(parsed));
  }
  requireOwnPredecessor(message);
  for (const payload of valuesIn(message)) {
    if (payload === undefined) continue;
    const parsed = parsedFrom(message, payload);
    if (!isEnvelope(parsed))
      throw unreadable(
        `A value in a write of execution ${id} is not an encoded value: {"v":…}, {} or {"ref":digest}.`,
      );
    refersTo.push(...referencesIn(parsed));
  }
  for (const { body } of submissionsIn(message)) {
    if (body !== undefined) refersTo.push(...referencesIn(parsedFrom(message, body)));
  }
  for (const { bytes } of ownAttachments(message)) {
    const parsed = parsedFrom(message, Buffer.from(bytes, 'base64').toString());
    const { out, rejected } = Object(parsed) as { readonly out?: unknown; rejected?: unknown };
    if (!isText(rejected) && !isEnvelope(out))
      throw unreadable(
        `A reply or published value of execution ${id} is neither {"out":value} nor {"rejected":reason}.`,
      );
    refersTo.push(...referencesIn(parsed));
  }
  refersTo.push(...referencesIn(outcomeOf(message)));
  requireLabels(message);
  if (!isStorable(message)) {
    throw unreadable(
      `A text in a write of execution ${id} has the NUL character or half of a surrogate pair. Not every store keeps those.`,
    );
  }
  return refersTo;
}

/** As `requireReadable`, for one value of an execution. */
export function requireReadableValue(id: string, payload: string): readonly string[] {
  const parsed = parsedFrom({ id }, payload);
  if (isEnvelope(parsed) && isStorable(parsed)) return referencesIn(parsed);
  throw unreadable(
    `A value of execution ${id} is not an encoded value: {"v":…}, {} or {"ref":digest}.`,
  );
}

/** The last event of a leaving write names the exit. All other events are results of the code. */
function leavingKinds(message: WriteMessage): readonly HistoryEventKind[] {
  switch (message.verb) {
    case 'record':
      return [];
    case 'finish':
      return [message.status];
    case 'park':
      return ['parked'];
    case 'giveBack':
      return ['given-back', 'paused', 'blocked', 'compensating'];
  }
}

/** The row must follow from the history, so only the last event may change its status. */
function requireOwnEvents(message: WriteMessage): void {
  const { id, verb, events } = message;
  const kinds = events.map(({ kind }) => kind);
  const leaving = leavingKinds(message);
  const last = leaving.length === 0 ? undefined : kinds.pop();
  const foreign = kinds.find((kind) => NEEDED[kind] === undefined);
  if (foreign !== undefined) {
    throw unreadable(
      `A ${foreign} event of execution ${id} is not allowed at this position of a ${verb}.`,
    );
  }
  if (leaving.length === 0 || leaving.some((kind) => kind === last)) return;
  throw unreadable(`The last event of a ${verb} of ${id} must be ${leaving.join(' or ')}.`);
}

/**
 * Callers that wait for the result follow this link. So it must name the successor of this write,
 * in the form that retention reads.
 */
function requireOwnSuccessor(
  message: WriteMessage,
  { body, parsed }: { readonly body: string; readonly parsed: unknown },
): void {
  const { continuedAs } = parsed as { readonly continuedAs?: string };
  if (continuedAs === undefined) return;
  const successor = message.verb === 'finish' ? message.successor?.id : undefined;
  if (continuedAs === successor && namedBy(body, 'continuedAs') === successor) return;
  throw unreadable(
    `An event of execution ${message.id} names the successor ${continuedAs}, and the same write submits another one.`,
  );
}

/** Only the successor may name a predecessor, and it must be this execution. */
function requireOwnPredecessor(message: WriteMessage): void {
  const { id } = message;
  const successor = message.verb === 'finish' ? message.successor : undefined;
  if (successor?.id === id) throw unreadable(`Execution ${id} cannot be its own successor.`);
  for (const each of submissionsIn(message)) {
    const { body } = each;
    if (body === undefined) continue;
    const parsed = parsedFrom(message, body);
    if (!isObject(parsed)) {
      throw unreadable(`The description of the submit of ${each.id} must be an object.`);
    }
    if (!('continues' in parsed)) continue;
    if (each === successor && parsed.continues === id && namedBy(body, 'continues') === id)
      continue;
    throw unreadable(
      `Only the successor of execution ${id} can continue it, and it can continue no other.`,
    );
  }
}

function valuesIn(message: WriteMessage): readonly (string | undefined)[] {
  return [
    message.progress,
    ...(message.heartbeats ?? []).map(({ details }) => details),
    ...submissionsIn(message).map(({ input }) => input),
    ...(message.awaits ?? []).flatMap(({ items, defaultAnswer }) => [
      defaultAnswer,
      ...items.map(({ request }) => request),
    ]),
  ];
}

/** The parent copies the outcome into its own history. */
function outcomeOf(message: WriteMessage): unknown {
  if (message.verb !== 'finish' || message.outcome === undefined) return undefined;
  const parsed = parsedFrom(message, message.outcome);
  const odd = oddField(parsed);
  if (odd !== undefined) throw unreadable(`${odd} in the outcome of ${message.id}.`);
  return parsed;
}

function parsedFrom({ id }: Pick<WriteMessage, 'id'>, payload: string): unknown {
  if (isDeeperThan(payload, DEPTH_MAX)) {
    throw unreadable(`A payload of execution ${id} is nested deeper than ${DEPTH_MAX}.`);
  }
  try {
    return JSON.parse(payload);
  } catch {
    throw unreadable(`A payload of execution ${id} is not JSON.`);
  }
}

const isText = (value: unknown): boolean => typeof value === 'string';
const isNumber = (value: unknown): boolean => typeof value === 'number';
const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The form that routes and workers read; a codec's bytes stay sealed. */
function isEnvelope(value: unknown): boolean {
  if (!isObject(value)) return false;
  try {
    parseEnvelope(value);
    return true;
  } catch {
    return false;
  }
}

/** The fields of bodies that routes and re-drives read; the worker owns the others. */
const FIELDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  key: isText,
  id: isText,
  status: isText,
  why: isText,
  log: isText,
  continuedAs: isText,
  n: isNumber,
  retryInMs: isNumber,
  ms: isNumber,
  until: isNumber,
  items: isNumber,
  settledAt: isNumber,
  attempt: isNumber,
  saga: isFlag,
  last: isFlag,
  denied: isFlag,
  soft: isFlag,
  ahead: isFlag,
  abandoned: isFlag,
  inside: isFlag,
  fence: isNumber,
  taken: (value) => Array.isArray(value) && value.every(isNumber),
  attributes: isChange,
  redo: isText,
  state: isEnvelope,
  ids: isTexts,
  with: isTexts,
  for: isTexts,
  out: isEnvelope,
  failure: (value) => isObject(value) && FAILURE.every((each) => isTextIn(value, each)),
};

/** A change of attributes. A re-drive begins with those of `before`. */
function isChange(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { set = {}, before = {} } = value as { readonly set?: unknown; readonly before?: unknown };
  if (!isObject(set) || !isObject(before)) return false;
  const isSet = Object.values(set).every((each) => each === null || isLabel(each));
  return isSet && Object.entries(before).every((entry) => entry.every(isLabel));
}

const FAILURE = ['message', 'at', 'stack', 'location'] as const;

function isTextIn(value: object, name: string): boolean {
  const found = (value as Readonly<Record<string, unknown>>)[name];
  return found === undefined || isText(found);
}

function oddField(body: unknown): string | undefined {
  if (!isObject(body)) return 'A value is not an object';
  for (const [name, value] of Object.entries(body)) {
    const fits = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
    if (fits?.(value) === false) return `The field "${name}" has the wrong type`;
  }
  return undefined;
}

/** Fields without which a replay cannot use the event. */
const NEEDED: Readonly<Partial<Record<HistoryEventKind, readonly string[]>>> = {
  'step-completed': ['key'],
  'step-failed': ['key', 'failure'],
  'timer-set': ['key', 'ms or until'],
  'timer-fired': ['key'],
  'child-spawned': ['key', 'ids'],
  'child-ended': ['key', 'n or id'],
  'signal-received': ['key', 'n'],
  'await-opened': ['key'],
  'await-settled': ['key'],
  'cancel-requested': ['key', 'n'],
  attached: ['key'],
  'lease-ended': ['key'],
  checkpointed: ['state'],
  progressed: [],
};

function missingField(kind: HistoryEventKind, body: object): string | undefined {
  const needed = NEEDED[kind] ?? [];
  const missing = needed.find((names) => !names.split(' or ').some((name) => name in body));
  return missing === undefined ? undefined : `The field "${missing}" is missing`;
}

function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  return Array.isArray(value)
    ? value.every(isStorable)
    : Object.entries(value).every(([name, each]) => isStorable(name) && isStorable(each));
}

/** Short, because an index contains them. */
function requireLabels(message: WriteMessage): void {
  for (const { attributes = {} } of [message, ...submissionsIn(message)]) {
    for (const [name, value] of Object.entries(attributes)) {
      if (isLabel(name) && isLabel(value)) continue;
      throw unreadable(
        `An attribute in a write of execution ${message.id} has a name or a value of more than ${NAME_BYTES_MAX} bytes.`,
      );
    }
  }
}

function unreadable(why: string): ProblemReply {
  return new ProblemReply('invalid-input', `${why} Nothing was written.`);
}

// References to blobs in workers' writes and in their claims. A reference in a row gives the
// project an older blob. So no reference may enter a row unless the project has the blob:
// knowing a digest must not be enough.

const DIGEST = /^[0-9a-f]{64}$/;
/** As the engine writes it. */
const MARK = '"ref":"';
/**
 * A worker may store a value through a coordinator of an older build, and refer to it here. For
 * this long after such a put, the digest suffices, as it does for that build.
 */
const SWITCH_MS = 600_000;

/**
 * Collects the references of a payload or a body. Inline content belongs to the user, whatever its
 * form.
 */
export function referencesIn(value: unknown): readonly string[] {
  const found: string[] = [];
  collect(value, found);
  return found;
}

function collect(value: unknown, found: string[]): void {
  if (typeof value !== 'object' || value === null) return;
  const { ref } = value as { readonly ref?: unknown };
  if (typeof ref === 'string' && DIGEST.test(ref)) found.push(ref);
  for (const name of Object.keys(value)) {
    if (name !== 'v') collect((value as Readonly<Record<string, unknown>>)[name], found);
  }
}

/**
 * Runs before a worker gets the texts, so that it can read the blobs that they refer to. Texts
 * without references cost one search.
 */
export async function giveOut(
  executions: ExecutionStore,
  project: ProjectName,
  texts: Iterable<string | undefined>,
): Promise<void> {
  const digests: string[] = [];
  for (const text of texts) {
    if (text?.includes(MARK) === true) digests.push(...referencesIn(parsedOf(text)));
  }
  if (digests.length === 0) return;
  const missing = await executions.missingBlobs({ project, digests });
  if (missing.length > 0) await executions.attributeBlobs({ project, digests: missing });
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The text is not valid JSON, so it has no reference.
    return undefined;
  }
}

/** The blob that a worker requests by digest. */
export async function valueFor(
  executions: ExecutionStore,
  request: ReadBlob,
): Promise<Uint8Array | undefined> {
  const own = await executions.getBlob(request);
  if (own !== undefined) return own;
  const { project, digest } = request;
  await executions.attributeBlobs({ project, digests: [digest], putWithinMs: SWITCH_MS });
  // A coordinator of an older build may have sent these texts with a claim.
  for (const id of await executions.referring(request)) {
    for await (const texts of textsOf(executions, id)) await giveOut(executions, project, texts);
  }
  return executions.getBlob(request);
}

/**
 * Throws if a write refers to a blob that the project does not have: neither stored for it, nor
 * already referred to by the execution.
 */
export async function requireOwnValues(
  executions: ExecutionStore,
  project: ProjectName,
  { id, digests }: { readonly id: ExecutionId; readonly digests: readonly string[] },
): Promise<void> {
  if (digests.length === 0) return;
  const wanted = { project, digests };
  if ((await executions.missingBlobs(wanted)).length === 0) return;
  await executions.attributeBlobs({ ...wanted, putWithinMs: SWITCH_MS });
  // A coordinator of an older build may have sent these texts.
  if ((await executions.read(id))?.project === project) {
    for await (const texts of textsOf(executions, id)) await giveOut(executions, project, texts);
  }
  const [missing] = await executions.missingBlobs(wanted);
  if (missing === undefined) return;
  throw new ProblemReply(
    'invalid-input',
    `A write of execution ${id} refers to the value ${missing}, which its project has not stored. Nothing was written. Store the bytes first (putBlob).`,
  );
}

/** The texts in which an execution may refer to blobs, page by page. */
async function* textsOf(
  executions: ExecutionStore,
  id: ExecutionId,
): AsyncGenerator<readonly (string | undefined)[]> {
  const record = await executions.read(id);
  if (record !== undefined) yield storedValues(record);
  for await (const page of historyPages(executions, { id })) yield page.map(({ body }) => body);
  for await (const page of inboxPages(executions, id)) yield page.map(({ body }) => body);
}
