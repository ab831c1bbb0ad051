// Writes of owners: converts messages into requests to the port, and collects the results.

import { interactionIdOf } from '../../engine/ids.ts';
import { whyOf } from '../../engine/store-replies.ts';
import { OverdueSessions } from '../../engine/worker/duties.ts';
import { isAddedName } from '../../engine/worker/own-pipelines.ts';
import { NO_WORKER, WORKER_KIND, workerMetadata } from '../../engine/worker/worker-session.ts';
import {
  type CallKey,
  DEFAULT_PROJECT,
  type ExecutionId,
  type PipelineName,
  type ProjectName,
  parsePipelineName,
} from '../../execution/names.ts';
import { QUOTAS } from '../../features/access/model.ts';
import type { WriteTransport } from '../../features/audit/model.ts';
import { type Announcement, describeReleaseRefusal } from '../../features/releases/model.ts';
import type { Announced } from '../../features/releases/port.ts';
import { noteAnnounced } from '../../features/releases/routes.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import type { SessionInspection } from '../../lease/port.ts';
import {
  POOL_METADATA,
  PROJECT_METADATA,
  SERVICE_METADATA,
  type SessionMetadata,
} from '../../lease/session.ts';
import type { Outcome } from '../../store/contract/execution-reads.ts';
import type {
  Claim,
  ClaimResult,
  CoordinatorStore,
  Finish,
  Finished,
  GiveBack,
  GivenBack,
  OwnerWrite,
  Park,
  Parked,
  Recorded,
} from '../../store/contract/execution-store.ts';
import type { Instant } from '../../support/clock.ts';
import { InvalidInput } from '../../support/fault.ts';
import type { WriteMessage, WritesReply } from '../messages/work.ts';
import { isReserved, requireOpenName } from './handling.ts';
import { problemFrom } from './problems.ts';
import { type Caller, type Coordinator, ProblemReply } from './route.ts';
import {
  messagesOf,
  remindersIn,
  requireFewRows,
  requireOwnValues,
  requireReadable,
  rowsOf,
  type Submitted,
  submissionsIn,
} from './work-content.ts';

export type OwnWrite = Written & {
  /** The digests of the values that it refers to. */
  readonly refersTo: readonly string[];
  readonly rows: number;
  /** Rows that each channel of the project can add. */
  readonly messages: number;
};

type Written =
  | { readonly verb: 'record'; readonly request: OwnerWrite }
  | { readonly verb: 'finish'; readonly request: Finish }
  | { readonly verb: 'park'; readonly request: Park }
  | { readonly verb: 'giveBack'; readonly request: GiveBack };

/** Throws if the write reaches into another project, or has unreadable content. */
export function toWrite(message: WriteMessage, caller: Caller): OwnWrite {
  const { verb, attachments, ...rest } = message;
  requireOwnReach(message, caller);
  const refersTo = requireReadable(message);
  const bytes = attachments?.map((each) => ({ ...each, bytes: Buffer.from(each.bytes, 'base64') }));
  const { project } = caller;
  const request = { ...rest, project, ...(bytes === undefined ? {} : { attachments: bytes }) };
  const sizes = { rows: rowsOf(message), messages: messagesOf(message) };
  return { verb, request, refersTo, ...sizes } as unknown as OwnWrite;
}

type Performing = Pick<
  Coordinator,
  'store' | 'sessionTurns' | 'histories' | 'holdfast' | 'onFault'
>;

/** The caller of a write, and how the write came. */
export interface Sender {
  readonly caller: Caller;
  readonly transport: WriteTransport;
}

/** Performs many at once, so that they share commits. A fault of one does not affect the others. */
export async function perform(
  coordinator: Performing,
  sender: Sender,
  writes: readonly OwnWrite[],
): Promise<WritesReply> {
  const results: WritesReply['results'][number][] = [];
  const sized = await withMessages(coordinator.store, sender.caller.project, writes);
  for (const group of groupsOf(sized)) {
    results.push(...(await Promise.all(group.map((each) => performed(coordinator, sender, each)))));
  }
  return { results };
}

/** The limit of one commit, so that other requests get their turn in between. */
const GROUP_ROWS_MAX = 5_000;

/** With fewer messages for each channel, all channels of a project fit one commit. */
const FEW_MESSAGES = GROUP_ROWS_MAX / QUOTAS.channels.default;

/** Counts the rows of messages too. Reads the channels only for many. */
async function withMessages(
  { access }: Pick<CoordinatorStore, 'access'>,
  project: ProjectName,
  writes: readonly OwnWrite[],
): Promise<readonly OwnWrite[]> {
  if (writes.reduce((sum, { messages }) => sum + messages, 0) <= FEW_MESSAGES) return writes;
  const { length } = await access.channels({ project, limit: QUOTAS.channels.max });
  return writes.map((each) => ({ ...each, rows: each.rows + each.messages * length }));
}

function groupsOf(writes: readonly OwnWrite[]): readonly (readonly OwnWrite[])[] {
  const groups: OwnWrite[][] = [];
  let rows = Number.POSITIVE_INFINITY;
  for (const write of writes) {
    rows += write.rows;
    if (rows > GROUP_ROWS_MAX) {
      groups.push([]);
      rows = write.rows;
    }
    groups.at(-1)?.push(write);
  }
  return groups;
}

async function performed(
  coordinator: Performing,
  sender: Sender,
  write: OwnWrite,
): Promise<WritesReply['results'][number]> {
  const { store, histories, holdfast, onFault } = coordinator;
  const { caller } = sender;
  const { executions } = store;
  const { id, fence } = write.request;
  try {
    requireFewRows(id, write.rows);
    const newest = async (): Promise<number | undefined> => {
      const record = await executions.read(id);
      return record?.project === caller.project ? record.fence : undefined;
    };
    if (!(await isIssued(store, fence, newest))) {
      const refusal = { kind: 'refused', why: 'fence-ahead', id, fence };
      return refusal;
    }
    await histories.require(write.request, write.verb !== 'record');
    if (write.verb === 'finish') await requireSameOrigin(store, caller, write.request);
    const { refersTo: digests } = write;
    if (digests.length > 0) {
      await requireOwnValues(executions, caller.project, { id, digests });
    }
    const result = await performOne(executions, write);
    if (result.kind === 'finished' && write.verb === 'finish')
      holdfast.noteEnded(outcomeOf(write.request, result.at));
    return result.kind === 'refused'
      ? await refusedWrite(coordinator, sender, { write, result })
      : result;
  } catch (error) {
    const { code, detail, isFault } = problemFrom(error);
    if (isFault) onFault?.(code, error);
    return { kind: 'fault', code, detail } as const;
  }
}

/** The event that ends an execution is the last of its write (M-31). */
function outcomeOf({ id, status, seq, fence, events }: Finish, at: Instant): Outcome {
  const { body } = events.at(-1) ?? {};
  const place = { seq: seq + events.length - 1, at, fence, kind: status };
  return { id, status, endedAt: at, event: { ...place, ...(body && { body }) } };
}

type Refused = Extract<Recorded | Finished | Parked | GivenBack, { readonly kind: 'refused' }>;

/**
 * Counts the write of a claim that is over (J-10). Hides the reason if the execution belongs to
 * another project. Reads the record only after a refusal.
 */
async function refusedWrite(
  coordinator: Performing,
  { caller, transport }: Sender,
  { write, result }: { readonly write: OwnWrite; readonly result: Refused },
): Promise<{ readonly kind: string }> {
  const { store, holdfast } = coordinator;
  const { project } = caller;
  const { id, fence, session } = write.request;
  const record = await store.executions.read(id);
  const unknown = { kind: 'refused', why: 'execution-unknown', id };
  if (record?.project !== project) return unknown;
  // Behind `seq-taken`, the worker may find its own write.
  if (result.why === 'unread-messages' || result.why === 'seq-taken') return result;
  const owner = (await openedSession(coordinator, caller, session))?.owner;
  if (owner !== undefined) {
    const key = { execution: id, fence, verb: write.verb };
    holdfast.noteRefused({ ...key, project, session, owner, transport, ...whyOf(result) });
  }
  return result;
}

function performOne(
  executions: CoordinatorStore['executions'],
  write: OwnWrite,
): Promise<Recorded | Finished | Parked | GivenBack> {
  switch (write.verb) {
    case 'record':
      return executions.record(write.request);
    case 'finish':
      return executions.finish(write.request);
    case 'park':
      return executions.park(write.request);
    case 'giveBack':
      return executions.giveBack(write.request);
  }
}

// Limits the reach of an owner's write: its own project, its own children, and its own questions.
// Workers choose the ids, so check them before anything is written.

/** Throws if the write reaches further. The parent of a successor is checked when it is written. */
function requireOwnReach(message: WriteMessage, { project }: Caller): void {
  const submissions = submissionsIn(message);
  for (const each of submissions) {
    requireOpenName('A pipeline', parsePipelineName(each.pipeline));
  }
  if (submissions.some((each) => each.project !== project)) {
    throw denied('A worker can submit only into its own project.');
  }
  const { children = [], id } = message;
  if (children.some(({ parent }) => parent !== undefined && parent.id !== id)) {
    throw denied(`A submit by the worker of ${id} must have the parent ${id}, or none.`);
  }
  if (remindersIn(message).some(({ parent }) => parent !== undefined)) {
    throw denied(`A reminder must have no parent.`);
  }
  if ([...children, ...remindersIn(message)].some(namesAnotherOrigin)) {
    throw denied(`A submit by a worker must not name a caller or a schedule.`);
  }
  requireOwnQuestions(message);
}

/** Fields that name the requester to people: a caller of the API, or a schedule. */
function namesAnotherOrigin({ submittedBy, scheduled }: Submitted): boolean {
  return submittedBy !== undefined || scheduled !== undefined;
}

/**
 * An id that follows from another execution's await would open that execution's question (W-11).
 */
function requireOwnQuestions(message: WriteMessage): void {
  const execution = message.id as ExecutionId;
  for (const { call, items } of message.awaits ?? []) {
    const isForeign = items.some(
      ({ id }, item) => id !== interactionIdOf({ execution, call: call as CallKey, item }),
    );
    if (!isForeign) continue;
    throw denied(`The ids of "${call}" do not follow from execution ${execution} and that call.`);
  }
}

function denied(why: string): ProblemReply {
  return new ProblemReply('project-denied', `${why} Nothing was written.`);
}

/** A successor keeps the parent and the submitter of its predecessor (M-18). */
async function requireSameOrigin(
  { executions }: Pick<CoordinatorStore, 'executions'>,
  { project }: Caller,
  { id, successor }: Pick<Finish, 'id' | 'successor'>,
): Promise<void> {
  const { parent, submittedBy, scheduled } = successor ?? {};
  if ((parent ?? submittedBy ?? scheduled) === undefined) return;
  const record = await executions.read(id);
  // For an execution of another project, a guess must not confirm its origin.
  const own = record?.project === project ? record : undefined;
  if (parent !== undefined && !(own?.parent?.id === parent.id && own.parent.call === parent.call)) {
    throw denied(`The successor of ${id} must have the parent of ${id}, or none.`);
  }
  const isSame =
    (submittedBy === undefined || submittedBy === own?.submittedBy) &&
    (scheduled === undefined ||
      (scheduled.id === own?.scheduled?.id && scheduled.at === own.scheduled.at));
  if (isSame) return;
  throw denied(`The successor of ${id} must name the same submitter as ${id}, or none.`);
}

// The owner of a session. The coordinator stores it when the session opens.

const KEY = 'holdfast.key';
const KNOWN_MAX = 10_000;
/** More rotations within one session's life count as no match. */
const ROTATIONS_MAX = 10;

interface Opened {
  readonly project: string;
  readonly owner: Owner;
  /** The key that opened it, and the keys that replaced it. Empty: any key of the project. */
  readonly keys: Set<string>;
}

type Sessions = Pick<Coordinator, 'store' | 'sessionTurns'>;

/** The owner of a session never changes, so cache it. */
const known: WeakMap<CoordinatorStore, Map<SessionId, Opened>> = new WeakMap();

/** The reserved names that recipes use. */
const OF_RECIPES: ReadonlySet<string> = new Set([POOL_METADATA, SERVICE_METADATA]);

function isOpenName(name: string): boolean {
  return !isReserved(name) || OF_RECIPES.has(name);
}

/** Lists of sessions carry these texts for each of them. */
const SESSION_CHARS_MAX = 65_536;

/** The store keeps them for each session. */
export function requireShortInputs(inputs: unknown): void {
  if (inputs !== undefined && (jsonOf(inputs)?.length ?? Infinity) > SESSION_CHARS_MAX) {
    throw new InvalidInput(
      `The schemas of the inputs of a worker may have ${SESSION_CHARS_MAX} characters together. Nothing was written. Announce fewer.`,
    );
  }
}

/** Undefined if the value is nested too deeply for a text. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** A session without pipelines, of a key that may hold leases, is not a worker's. */
export function metadataOf(
  caller: Caller,
  { pipelines, metadata = {} }: SessionContent = {},
): SessionMetadata {
  const { project, key, roles } = caller;
  const reserved = Object.keys(metadata).find((name) => !isOpenName(name));
  if (reserved !== undefined) requireOpenName('An entry of metadata', reserved);
  const texts = [...Object.entries(metadata).flat(), ...(pipelines ?? [])];
  if (texts.reduce((sum, { length }) => sum + length, 0) > SESSION_CHARS_MAX) {
    throw new InvalidInput(
      `The metadata and the pipeline names of a session may have ${SESSION_CHARS_MAX} characters together. Nothing was written. Use fewer or shorter ones.`,
    );
  }
  const by = key === undefined ? {} : { [KEY]: key };
  const isWorker = pipelines !== undefined || !roles.has('lease');
  return {
    ...metadata,
    [PROJECT_METADATA]: project,
    ...by,
    ...(isWorker
      ? workerMetadata('remote', (pipelines ?? []).map(parsePipelineName))
      : { [WORKER_KIND]: NO_WORKER }),
  };
}

interface SessionContent {
  readonly pipelines?: readonly string[] | undefined;
  readonly metadata?: SessionMetadata | undefined;
}

/** The entries that its owner gave. */
export function withoutReserved(metadata: SessionMetadata): SessionMetadata {
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => isOpenName(name)));
}

/**
 * A key of the same project is not enough: a holder that knows of a claim could write as its owner
 * (M-20).
 */
export async function requireOwnSession(
  coordinator: Sessions,
  caller: Caller,
  id: string,
): Promise<SessionId> {
  if (await isOwnSession(coordinator, caller, id)) return id as SessionId;
  throw new ProblemReply(
    'session-unknown',
    `Session ${id} was not opened with this key in this project. Nothing was written. Open a new session.`,
  );
}

export async function isOwnSession(
  coordinator: Sessions,
  caller: Caller,
  id: string,
): Promise<boolean> {
  const opened = await openedSession(coordinator, caller, id as SessionId);
  return opened?.project === caller.project && isOpenedBy(coordinator.store, caller, opened);
}

/** Undefined if no coordinator opened it, or the store has deleted it. */
export async function projectOfSession(
  coordinator: Sessions,
  caller: Caller,
  id: SessionId,
): Promise<string | undefined> {
  return (await openedSession(coordinator, caller, id))?.project;
}

async function openedSession(
  { store, sessionTurns }: Sessions,
  { project }: Caller,
  session: SessionId,
): Promise<Opened | undefined> {
  const read = known.get(store) ?? new Map<SessionId, Opened>();
  known.set(store, read);
  const look = (): Promise<SessionInspection | undefined> => store.sessions.inspect(session);
  const opened = read.get(session) ?? openedAs(await sessionTurns.take(project, look));
  if (opened === undefined) return undefined;
  if (read.size >= KNOWN_MAX) read.clear();
  read.set(session, opened);
  return opened;
}

/**
 * Older builds stored no key, and push endpoints have none. Any key of the project may write for
 * them.
 */
function openedAs(found: SessionInspection | undefined): Opened | undefined {
  if (found === undefined) return undefined;
  const { owner, metadata } = found.session;
  const { [PROJECT_METADATA]: project, [KEY]: key } = metadata;
  return project === undefined
    ? undefined
    : { project, owner, keys: new Set(key === undefined ? [] : [key]) };
}

async function isOpenedBy(
  { executions }: CoordinatorStore,
  { key, project, isOfAll }: Caller,
  { keys }: Opened,
): Promise<boolean> {
  if (key === undefined || keys.size === 0 || keys.has(key)) return true;
  let id: string | undefined = key;
  for (let left = ROTATIONS_MAX; left > 0 && id !== undefined; left -= 1) {
    id = await rotatedFrom(executions, isOfAll ? DEFAULT_PROJECT : project, id);
    if (id === undefined || !keys.has(id)) continue;
    keys.add(key);
    return true;
  }
  return false;
}

/** The key that this one replaced, according to the audit (J-7). */
async function rotatedFrom(
  executions: CoordinatorStore['executions'],
  project: ProjectName,
  id: string,
): Promise<string | undefined> {
  const target = { kind: 'access-key', id } as const;
  const [made] = await executions.audit({ project, target, action: 'create-key', limit: 1 });
  const rotates = made?.after?.['rotates'];
  return typeof rotates === 'string' ? rotates : undefined;
}

/**
 * Logs the refusal here, because readers of the coordinator's log often do not have the worker's
 * (RE-9).
 */
export function noteRefused(
  { store, onFault }: Pick<Coordinator, 'store' | 'onFault'>,
  announcement: Announcement & { readonly project: ProjectName },
  result: Announced,
): void {
  noteAnnounced(store, announcement, result);
  // Once per session, not once per period.
  if (announcement.state !== 'starting') return;
  if (result.kind === 'announced' || result.why === 'session-not-live') return;
  const why = describeReleaseRefusal(result);
  onFault?.('worker-refused', `Worker ${announcement.session} gets no pinned executions: ${why}`);
}

// A store that gets a fence it never issued halts all grants, because it may be an older copy of
// itself. A key of one project must not cause that for all. So check fences from the wire first.
// Fences up to the highest one seen here were issued. Above it, the row of the execution decides.
// An execution of another project gets the same reply as a missing one.

const highest: WeakMap<CoordinatorStore, number> = new WeakMap();

export function noteIssued(store: CoordinatorStore, fence: number): void {
  if (fence > (highest.get(store) ?? 0)) highest.set(store, fence);
}

/** `newest`: the newest fence of the row that the fence is for, if the caller may know it. */
export async function isIssued(
  store: CoordinatorStore,
  fence: number,
  newest: () => Promise<number | undefined>,
): Promise<boolean> {
  if (fence <= (highest.get(store) ?? 0)) return true;
  noteIssued(store, (await newest()) ?? 0);
  return fence <= (highest.get(store) ?? 0);
}

// Claims of remote workers. They cannot end the sessions of dead workers, so the coordinator does
// so when their claims report it (P4).

const overdueIn: WeakMap<CoordinatorStore, OverdueSessions> = new WeakMap();

/** Leaves out operators' jobs: a holder of a worker key could fake their result (M-19). */
export function runElsewhere(pipelines: readonly string[]): readonly PipelineName[] {
  return pipelines.map(parsePipelineName).filter((each) => isAddedName(each) || !isReserved(each));
}

export async function claimFor(coordinator: Coordinator, request: Claim): Promise<ClaimResult> {
  const { executions } = coordinator.store;
  // Without dice, every claim would look at the same sessions.
  const claim = { ...request, dice: request.dice ?? coordinator.random.next() };
  const result = await executions.claim(claim);
  if (result.kind === 'refused' || !result.overdue) return result;
  const overdue = overdueOf(coordinator);
  // The claims must reach the worker, so ignore a failed sweep here; the next caller sees the
  // outage.
  const isNew = await overdue.onClaimReply(true).catch(() => false);
  if (isNew)
    return result.claims.length === 0 ? executions.claim(claim) : { ...result, more: true };
  const { nextReadyInMs = Infinity } = result;
  return { ...result, nextReadyInMs: Math.min(nextReadyInMs, overdue.dueInMs) };
}

function overdueOf({ store, clock }: Coordinator): OverdueSessions {
  const known = overdueIn.get(store) ?? new OverdueSessions(store.sessions, clock);
  overdueIn.set(store, known);
  return known;
}
