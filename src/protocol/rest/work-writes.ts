// Writes of owners: from messages to what the port takes, and what came of each.

import { interactionIdOf } from '../../engine/ids.ts';
import { OverdueSessions } from '../../engine/worker/duties.ts';
import { isAddedName } from '../../engine/worker/own-pipelines.ts';
import { workerMetadata } from '../../engine/worker/worker-session.ts';
import {
  type CallKey,
  DEFAULT_PROJECT,
  type ExecutionId,
  type PipelineName,
  type ProjectName,
  parsePipelineName,
} from '../../execution/names.ts';
import { type Announcement, describeReleaseRefusal } from '../../features/releases/model.ts';
import type { Announced } from '../../features/releases/port.ts';
import { noteAnnounced } from '../../features/releases/routes.ts';
import type { SessionId } from '../../lease/names.ts';
import type { SessionInspection } from '../../lease/port.ts';
import { PROJECT_METADATA, type SessionMetadata } from '../../lease/session.ts';
import type {
  Claim,
  ClaimAnswer,
  CoordinatorStore,
  Finish,
  GiveBack,
  OwnerWrite,
  Park,
} from '../../store/contract/execution-store.ts';
import type { WriteMessage, WritesAnswer } from '../messages/work.ts';
import { isReserved, requireOpenName } from './handling.ts';
import { problemFrom } from './problems.ts';
import { type Caller, type Coordinator, ProblemReply } from './route.ts';
import {
  remindersIn,
  requireOwnValues,
  requireReadable,
  rowsOf,
  type Submitted,
  submissionsIn,
} from './work-content.ts';

export type OwnWrite = Written & {
  /** Digests of the values that it refers to. */
  readonly refersTo: readonly string[];
  readonly rows: number;
};

type Written =
  | { readonly verb: 'record'; readonly request: OwnerWrite }
  | { readonly verb: 'finish'; readonly request: Finish }
  | { readonly verb: 'park'; readonly request: Park }
  | { readonly verb: 'giveBack'; readonly request: GiveBack };

/** Throws when it would reach into another project, or carries what nobody could read. */
export function toWrite(message: WriteMessage, caller: Caller): OwnWrite {
  const { verb, attachments, ...rest } = message;
  requireOwnReach(message, caller);
  const refersTo = requireReadable(message);
  const bytes = attachments?.map((each) => ({ ...each, bytes: Buffer.from(each.bytes, 'base64') }));
  const { project } = caller;
  const request = { ...rest, project, ...(bytes === undefined ? {} : { attachments: bytes }) };
  return { verb, request, refersTo, rows: rowsOf(message) } as unknown as OwnWrite;
}

type Performing = Pick<Coordinator, 'store' | 'histories' | 'onFault'>;

/** Many at once, so that they share commits. What one of them runs into is its own. */
export async function perform(
  coordinator: Performing,
  caller: Caller,
  writes: readonly OwnWrite[],
): Promise<WritesAnswer> {
  const answers: WritesAnswer['answers'][number][] = [];
  for (const group of groupsOf(writes)) {
    answers.push(...(await Promise.all(group.map((each) => performed(coordinator, caller, each)))));
  }
  return { answers };
}

/** What one commit may take: others have their turn between two of them. */
const GROUP_ROWS_MAX = 5_000;

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
  { store, histories, onFault }: Performing,
  caller: Caller,
  write: OwnWrite,
): Promise<WritesAnswer['answers'][number]> {
  const { executions } = store;
  const { id, fence } = write.request;
  try {
    if (!(await isIssued(store, { id, fence, project: caller.project }))) {
      const refusal = { kind: 'refused', why: 'fence-ahead', id, fence };
      return refusal;
    }
    await histories.require(write.request, write.verb !== 'record');
    if (write.verb === 'finish') await requireSameOrigin(store, caller, write.request);
    const { refersTo: digests } = write;
    if (digests.length > 0) {
      await requireOwnValues(executions, caller.project, { id, digests });
    }
    const answer = await performOne(executions, write);
    return answer.kind === 'refused' ? await told(executions, caller, { write, answer }) : answer;
  } catch (error) {
    const { code, detail, isFault } = problemFrom(error);
    if (isFault) onFault?.(code, error);
    return { kind: 'fault', code, detail } as const;
  }
}

/** Of an execution that is somebody else's, not even why. Asked only when it was refused anyway. */
async function told(
  executions: CoordinatorStore['executions'],
  { project }: Caller,
  { write, answer }: { readonly write: OwnWrite; readonly answer: { readonly kind: string } },
): Promise<{ readonly kind: string }> {
  const { id } = write.request;
  const record = await executions.read(id);
  const refusal = { kind: 'refused', why: 'execution-unknown', id };
  return record?.project === project ? answer : refusal;
}

function performOne(
  executions: CoordinatorStore['executions'],
  write: OwnWrite,
): Promise<{ readonly kind: string }> {
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

// How far an owner's write reaches: into its own project, to its own children and its own questions. Ids are
// the worker's choice, so what they stand for is looked at before anything is written.

/** Throws when it would reach further. A successor's parent is looked at when it is written. */
function requireOwnReach(message: WriteMessage, { project }: Caller): void {
  const submissions = submissionsIn(message);
  for (const each of submissions) {
    requireOpenName('A pipeline', parsePipelineName(each.pipeline));
  }
  if (submissions.some((each) => each.project !== project)) {
    throw denied('A worker submits into its own project only.');
  }
  const { children = [], id } = message;
  if (children.some(({ parent }) => parent !== undefined && parent.id !== id)) {
    throw denied(`What the owner of ${id} submits has ${id} for its parent, or none.`);
  }
  if (remindersIn(message).some(({ parent }) => parent !== undefined)) {
    throw denied(`A reminder has no parent: nobody waits for it.`);
  }
  if ([...children, ...remindersIn(message)].some(isSaidOfOthers)) {
    throw denied(`What a worker submits is submitted by no caller and no schedule.`);
  }
  requireOwnQuestions(message);
}

/** Who asked for it, as people read it: a caller of the API, or a schedule. */
function isSaidOfOthers({ submittedBy, scheduled }: Submitted): boolean {
  return submittedBy !== undefined || scheduled !== undefined;
}

/** W-11: an id that follows from another execution's await would be that one's question. */
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
  return new ProblemReply(403, 'project-denied', `${why} Nothing was written.`);
}

/**
 * M-18: whoever goes on tells whom its predecessor would have told, which never changes; and was asked for by whom that
 * was.
 */
async function requireSameOrigin(
  { executions }: Pick<CoordinatorStore, 'executions'>,
  { project }: Caller,
  { id, successor }: Pick<Finish, 'id' | 'successor'>,
): Promise<void> {
  const { parent, submittedBy, scheduled } = successor ?? {};
  if ((parent ?? submittedBy ?? scheduled) === undefined) return;
  const record = await executions.read(id);
  // Of what is somebody else's, nobody learns where it is from by guessing it.
  const own = record?.project === project ? record : undefined;
  if (parent !== undefined && !(own?.parent?.id === parent.id && own.parent.call === parent.call)) {
    throw denied(`What goes on for ${id} has the parent of ${id}, or none.`);
  }
  const isSame =
    (submittedBy === undefined || submittedBy === own?.submittedBy) &&
    (scheduled === undefined ||
      (scheduled.id === own?.scheduled?.id && scheduled.at === own.scheduled.at));
  if (isSame) return;
  throw denied(`What goes on for ${id} was submitted by whom ${id} was, or by nobody.`);
}

// Whose session it is: that is said when it is opened, by the coordinator, and stored with it.

const KEY = 'holdfast.key';
const KNOWN_MAX = 10_000;
/** More of them in the life of one session are none. */
const ROTATIONS_MAX = 10;

interface Opened {
  readonly project: string;
  /** The one that opened it, and those that it was rotated to. None: whoever is of the project. */
  readonly keys: Set<string>;
}

/** Whose a session is never changes: what was read once holds. */
const known: WeakMap<CoordinatorStore, Map<SessionId, Opened>> = new WeakMap();

export function metadataOf(caller: Caller, pipelines: readonly string[] = []): SessionMetadata {
  const { project, key } = caller;
  const by = key === undefined ? {} : { [KEY]: key };
  return {
    [PROJECT_METADATA]: project,
    ...by,
    ...workerMetadata('remote', pipelines.map(parsePipelineName)),
  };
}

/** M-20: of the project is not enough, or who knows of a claim could write as its owner. */
export async function requireOwnSession(
  { store }: Pick<Coordinator, 'store'>,
  caller: Caller,
  id: string,
): Promise<SessionId> {
  const session = id as SessionId;
  const read = known.get(store) ?? new Map<SessionId, Opened>();
  known.set(store, read);
  const opened = read.get(session) ?? openedAs(await store.sessions.inspect(session));
  if (opened?.project !== caller.project || !(await isOpenedBy(store, caller, opened))) {
    throw new ProblemReply(
      404,
      'session-unknown',
      `Session ${id} is not a worker's of this project that has this key. Open a new one.`,
    );
  }
  if (read.size >= KNOWN_MAX) read.clear();
  read.set(session, opened);
  return session;
}

/** Builds before this one said no key, and endpoints have none: what they write comes by one of the project. */
function openedAs(found: SessionInspection | undefined): Opened | undefined {
  const { [PROJECT_METADATA]: project, [KEY]: key } = found?.session.metadata ?? {};
  return project === undefined
    ? undefined
    : { project, keys: new Set(key === undefined ? [] : [key]) };
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

/** The key in whose place this one was made, as the audit says (J-7). */
async function rotatedFrom(
  executions: CoordinatorStore['executions'],
  project: ProjectName,
  id: string,
): Promise<string | undefined> {
  const target = { kind: 'access-key', id } as const;
  const [made] = await executions.audit({ project, target, act: 'make-key', limit: 1 });
  const rotates = made?.after?.['rotates'];
  return typeof rotates === 'string' ? rotates : undefined;
}

/** RE-9: whoever reads the log of the coordinator may not have that of the worker. */
export function noteRefused(
  { store, onFault }: Pick<Coordinator, 'store' | 'onFault'>,
  said: Announcement & { readonly project: ProjectName },
  answer: Announced,
): void {
  noteAnnounced(store, said, answer);
  // Once for each session, not once for each period.
  if (said.state !== 'starting') return;
  if (answer.kind === 'announced' || answer.why === 'session-not-live') return;
  const why = describeReleaseRefusal(answer);
  onFault?.('worker-refused', `Worker ${said.session} gets nothing that is pinned: ${why}`);
}

// A store that is shown a fence which it never issued halts all grants: it may be an older copy of itself. A
// key of one project must not be able to bring that about for all, so what comes over the wire is looked at
// first. What is up to the highest fence seen here was issued; above it, the row of its execution says, to who may
// read that: of an execution of another project the answer is that of one which is not there.

const highest: WeakMap<CoordinatorStore, number> = new WeakMap();

export function noteIssued(store: CoordinatorStore, fence: number): void {
  if (fence > (highest.get(store) ?? 0)) highest.set(store, fence);
}

export async function isIssued(
  store: CoordinatorStore,
  {
    id,
    fence,
    project,
  }: { readonly id: ExecutionId; readonly fence: number; readonly project: ProjectName },
): Promise<boolean> {
  if (fence <= (highest.get(store) ?? 0)) return true;
  const record = await store.executions.read(id);
  if (record?.project === project) noteIssued(store, record.fence ?? 0);
  return fence <= (highest.get(store) ?? 0);
}

// Claims of workers elsewhere. They cannot end the sessions of those who died, so it is done here, by whatever
// their claims say (P4).

const overdueIn: WeakMap<CoordinatorStore, OverdueSessions> = new WeakMap();

/** M-19: who has a key for workers is given no act of an operator, whose end it could make up. It is left out. */
export function runElsewhere(pipelines: readonly string[]): readonly PipelineName[] {
  return pipelines.map(parsePipelineName).filter((each) => isAddedName(each) || !isReserved(each));
}

export async function claimFor(coordinator: Coordinator, request: Claim): Promise<ClaimAnswer> {
  const { executions } = coordinator.store;
  const answer = await executions.claim(request);
  if (answer.kind === 'refused' || !answer.overdue) return answer;
  const overdue = overdueOf(coordinator);
  // What was claimed must be told; a store that is away says so to the next who asks.
  const isNew = await overdue.heard(true).catch(() => false);
  if (isNew)
    return answer.claims.length === 0 ? executions.claim(request) : { ...answer, more: true };
  const { nextReadyInMs = Infinity } = answer;
  return { ...answer, nextReadyInMs: Math.min(nextReadyInMs, overdue.dueInMs) };
}

function overdueOf({ store, clock }: Coordinator): OverdueSessions {
  const known = overdueIn.get(store) ?? new OverdueSessions(store.sessions, clock);
  overdueIn.set(store, known);
  return known;
}
