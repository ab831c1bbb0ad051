// Workers, as they say of themselves what they have and how it goes. A heartbeat says that a process lives; that
// it takes work is said by the loop that takes it, and by nothing else (RE-11).

import type { PipelineName, ProjectName } from '../../execution/names.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import { type Instant, laterBy } from '../../support/clock.ts';

export interface AnnouncedRelease {
  readonly name: string;
  /** Of the artifact, as the worker has it; it is not the release when it differs. */
  readonly digest: string;
  /** Of the contract of each pipeline, as its code has it. */
  readonly contracts: Readonly<Record<string, string>>;
}

/** Made by the loop that claims, once when it starts, then once in each period. */
export interface Announcement {
  readonly session: SessionId;
  /** The only one it works for; of all unless said. */
  readonly project?: ProjectName;
  readonly pipelines: readonly PipelineName[];
  readonly release?: AnnouncedRelease;
  /** `starting` before its first claim was answered. */
  readonly state: 'starting' | 'ready' | 'draining';
  /** How often it says so. */
  readonly everyMs: number;
  /** How many more executions it could take now. */
  readonly room: number;
}

export interface WorkerRecord extends Omit<Announcement, 'release'> {
  readonly release?: string;
  readonly owner: Owner;
  readonly announcedAt: Instant;
  /** When its loop last said that it goes round. */
  readonly provedAt: Instant;
  /** Of its session: it has ended, as a stored fact. */
  readonly ended: boolean;
  /** Its session should have been heard of by now. */
  readonly overdue: boolean;
}

/** `stuck`: its process lives and its loop does not go round. */
export type WorkerState = 'starting' | 'ready' | 'draining' | 'stuck' | 'gone';

/** RE-11: found within two periods. */
export function workerState(worker: WorkerRecord, now: Instant): WorkerState {
  if (worker.ended) return 'gone';
  if (now > laterBy(worker.provedAt, 2 * worker.everyMs)) return worker.overdue ? 'gone' : 'stuck';
  return worker.state;
}
