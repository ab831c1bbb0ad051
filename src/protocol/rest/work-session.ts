// Whose session it is: that is said when it is opened, by the coordinator, and stored with it.

import { workerMetadata } from '../../engine/worker-session.ts';
import type { SessionId } from '../../lease/names.ts';
import type { SessionMetadata } from '../../lease/session.ts';
import { describeReleaseRefusal } from '../../release/refusal.ts';
import type { CoordinatorStore } from '../../store/contract/execution-store.ts';
import type { Announced } from '../../store/contract/release-store.ts';
import { type Caller, type Coordinator, ProblemReply } from './route.ts';

export const PROJECT = 'holdfast.project';
const KNOWN_MAX = 10_000;

/** A session never changes its project: what was read once holds. */
const known: WeakMap<CoordinatorStore, Map<SessionId, string>> = new WeakMap();

export function metadataOf(caller: Caller, pipelines: readonly string[] = []): SessionMetadata {
  return { [PROJECT]: caller.project, ...workerMetadata('remote', pipelines) };
}

export async function requireOwnSession(
  { store }: Coordinator,
  caller: Caller,
  id: string,
): Promise<SessionId> {
  const session = id as SessionId;
  const read = known.get(store) ?? new Map<SessionId, string>();
  known.set(store, read);
  const project =
    read.get(session) ?? (await store.sessions.inspect(session))?.session.metadata[PROJECT];
  if (project !== caller.project) {
    throw new ProblemReply(
      404,
      'session-unknown',
      `Session ${id} is not a worker's of this project. Open a new one.`,
    );
  }
  if (read.size >= KNOWN_MAX) read.clear();
  read.set(session, project);
  return session;
}

/** RE-9: whoever reads the log of the coordinator may not have that of the worker. */
export function noteRefused(
  { onFault }: Pick<Coordinator, 'onFault'>,
  session: SessionId,
  answer: Announced,
): void {
  if (answer.kind === 'announced' || answer.why === 'session-not-live') return;
  const why = describeReleaseRefusal(answer);
  onFault?.('worker-refused', `Worker ${session} gets nothing that is pinned: ${why}`);
}
