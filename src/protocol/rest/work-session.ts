// Whose session it is: that is said when it is opened, by the coordinator, and stored with it.

import { OverdueSessions } from '../../engine/worker/duties.ts';
import { isAddedName } from '../../engine/worker/own-pipelines.ts';
import { workerMetadata } from '../../engine/worker/worker-session.ts';
import {
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
import type { Claim, ClaimAnswer, CoordinatorStore } from '../../store/contract/execution-store.ts';
import { isReserved } from './handling.ts';
import { type Caller, type Coordinator, ProblemReply } from './route.ts';

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
