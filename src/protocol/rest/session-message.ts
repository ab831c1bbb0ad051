// Sessions → messages, and whose they are.

import { WORKER_KIND, WORKER_PIPELINES, type WorkerKind } from '../../engine/worker-session.ts';
import { LANES } from '../../execution/execution.ts';
import type { ProjectName } from '../../execution/names.ts';
import type { WorkerInfo } from '../../features/releases/api.ts';
import type { SessionId } from '../../lease/names.ts';
import type { SessionInspection } from '../../lease/port.ts';
import { PROJECT_METADATA } from '../../lease/session.ts';
import type { InFlight } from '../../store/contract/census-store.ts';
import { formatInstant } from '../../support/clock.ts';
import type {
  RefusedWorkerMessage,
  SessionMessage,
  WorkerMessage,
} from '../messages/operations.ts';
import type { Caller } from './route.ts';

/** What came by no project's key is for keys of all projects. */
export function maySee({ project, isOfAll }: Caller, { session }: SessionInspection): boolean {
  return isOfAll || session.metadata[PROJECT_METADATA] === project;
}

export function sessionMessage(inspection: SessionInspection): SessionMessage {
  const { session, state, authorityMs, remainingMs } = inspection;
  const { id, owner, ttlMs, graceMs, metadata, end } = session;
  const { [PROJECT_METADATA]: project, [WORKER_PIPELINES]: pipelines } = metadata;
  return {
    ...{ id, owner, state, ttlMs, graceMs, remainingMs: whole(remainingMs) },
    slackMs: whole(authorityMs),
    openedAt: formatInstant(session.openedAt),
    beatAt: formatInstant(session.beatAt),
    ...(project === undefined ? {} : { project }),
    ...(pipelines === undefined ? {} : { pipelines: pipelines.split(' ') }),
    ...(end === undefined ? {} : { end: { ...end, at: formatInstant(end.at) } }),
  };
}

/** One of another project's is nobody's business; those of none work for all. */
export function isWorkerFor({ project, isOfAll }: Caller, { session }: SessionInspection): boolean {
  const { [PROJECT_METADATA]: of, [WORKER_KIND]: kind } = session.metadata;
  return of === undefined ? isOfAll && kind !== undefined : of === project;
}

/** Of no project: who has the store itself. */
export function whoseSession({ session: { id, metadata } }: SessionInspection): {
  readonly id: SessionId;
  readonly project: ProjectName | undefined;
} {
  return { id, project: metadata[PROJECT_METADATA] as ProjectName | undefined };
}

export interface OfWorkers {
  readonly inFlight: readonly InFlight[];
  /** What workers say of themselves. */
  readonly told: readonly WorkerInfo[];
  /** Those that are not what they say. */
  readonly refused: ReadonlyMap<SessionId, RefusedWorkerMessage>;
}

/** With what it runs now, by lane, and what it says of itself. */
export function workerMessage(inspection: SessionInspection, of: OfWorkers): WorkerMessage {
  const { id, metadata } = inspection.session;
  const own = of.inFlight.filter(({ session }) => session === id);
  const counts = LANES.map((lane) => [lane, own.find((each) => each.lane === lane)?.count ?? 0]);
  // Workers of the build before this one say no kind; those that have a project came by the API.
  const kind = (metadata[WORKER_KIND] ?? 'remote') as WorkerKind;
  const said = of.told.find(({ session }) => session === id);
  const refused = of.refused.get(id);
  return {
    ...{ ...sessionMessage(inspection), kind, inFlight: Object.fromEntries(counts) },
    ...(said === undefined ? {} : { work: said.is }),
    ...(said?.release === undefined ? {} : { release: said.release }),
    ...(refused === undefined ? {} : { refused }),
  };
}

function whole(ms: number): number {
  return Math.trunc(ms);
}
