// Releases
//
// A release is a build of one pipeline: an artifact, by name and digest, that implements a contract.
// The rollout of a pipeline decides the release of new executions: the active one, or the canary for
// a percentage of them.
//
//     register ──▶ (preflight) ──▶ canary, a percentage ──▶ active ──▶ draining ──▶ drained ──▶ retired
//                       └────────────────────────────────────▲  ◀── roll back
//
//   RE-3   A release never changes, except for its preflight and its end.
//   RE-4   Operations on a rollout run one at a time, each on the version that its caller saw. Each
//          adds one entry to the log.
//   RE-5   The transaction of a submission pins the execution, by the rollout at that moment.
//   RE-6   A release retires only while no execution is pinned to it. Nothing gets pinned to a
//          retired release.

import { createHash } from 'node:crypto';
import type { Status } from '../../execution/execution.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import { describeExecutionRefusal, type NoSuchRelease } from '../../execution/refusal.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import { unreachable } from '../../support/assert.ts';
import { type Instant, laterBy } from '../../support/clock.ts';
import type { ContractChange } from './contract-decide.ts';
import type { Contract } from './contract-model.ts';

export interface ReleaseKey {
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
  readonly name: string;
}

export interface Release extends ReleaseKey {
  /** What was built: an image, a package, a bundle. */
  readonly artifact: string;
  /** Of its bytes; a worker that shows another one is not this release. */
  readonly digest: string;
  readonly contract: Contract;
  readonly contractVersion: string;
  readonly createdAt: Instant;
  readonly createdBy: string;
  /** The last one. */
  readonly preflight?: Preflight;
  readonly retiredAt?: Instant;
}

/** What a release would break, before it is activated. */
export interface Preflight {
  readonly at: Instant;
  /** The release it was compared with, when there was one. */
  readonly against?: string;
  readonly changes: readonly ContractChange[];
  /** Open executions there were, and how many of them were replayed. */
  readonly open: number;
  readonly replayed: number;
  /** Of those that were replayed. The first ones, where there are many. */
  readonly broken: readonly BrokenReplay[];
  readonly brokenCount: number;
}

/** The most broken replays that a release keeps; the rest is only counted. */
export const BROKEN_MAX = 100;

export interface BrokenReplay {
  readonly execution: ExecutionId;
  /** The release it is pinned to. */
  readonly release?: string;
  /** In history, where the code asked for something else. */
  readonly seq?: number;
  /** For people: what history has, and what the code did instead. */
  readonly why: string;
}

/** Where new executions of a pipeline go. */
export interface Rollout {
  readonly active?: string;
  /** What was active before, to go back to; where nothing is active, also what the next one is compared with. */
  readonly previous?: string;
  readonly canary?: string;
  /** The percentage of new executions that go to the canary: 1 to 99. */
  readonly percent?: number;
  /** Rises by one with each act; zero before the first. */
  readonly version: number;
}

export const NO_ROLLOUT: Rollout = Object.freeze({ version: 0 });

export const ROLLOUT_ACTS = [
  ...(['activate', 'set-canary', 'promote', 'roll-back', 'deactivate', 'retire'] as const),
] as const;

export type RolloutAct = (typeof ROLLOUT_ACTS)[number];

/** One entry of the log of a rollout. */
export interface Activation {
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
  /** The version of the rollout that it made. */
  readonly version: number;
  readonly at: Instant;
  readonly act: RolloutAct;
  /** Which release it was about. */
  readonly name: string;
  readonly actor: string;
  readonly reason: string;
  /** Although it was said to break something. */
  readonly forced: boolean;
  readonly before: Omit<Rollout, 'version'>;
  readonly after: Omit<Rollout, 'version'>;
}

/**
 * The same key, or else the same id, always has the same bucket, on every store (RE-5). From 0 to
 * 99. The SQL of one store computes it too.
 */
export function bucketOf({ id, key }: { readonly id: string; readonly key?: string }): number {
  const digest = createHash('md5')
    .update(key ?? id)
    .digest('hex');
  return Number.parseInt(digest.slice(0, 7), 16) % 100;
}

export function pinOf(
  rollout: Rollout | undefined,
  submitted: { readonly id: string; readonly key?: string },
): string | undefined {
  if (rollout?.canary === undefined) return rollout?.active;
  return bucketOf(submitted) < (rollout.percent ?? 0) ? rollout.canary : rollout.active;
}

/** The state of a release in lists. */
export type ReleaseState = 'registered' | 'canary' | 'active' | 'draining' | 'drained' | 'retired';

export function releaseState(
  release: Pick<Release, 'name' | 'retiredAt'>,
  {
    rollout,
    pinned,
    wasActive,
  }: { readonly rollout: Rollout; readonly pinned: number; readonly wasActive: boolean },
): ReleaseState {
  if (release.retiredAt !== undefined) return 'retired';
  if (rollout.active === release.name) return 'active';
  if (rollout.canary === release.name) return 'canary';
  if (pinned > 0) return 'draining';
  return wasActive ? 'drained' : 'registered';
}

// Workers, as they announce themselves. A heartbeat proves that a process lives. Only the claim
// loop proves that it takes work (RE-11).

export interface AnnouncedRelease {
  readonly name: string;
  /** The digest of the worker's artifact. If it differs, the worker does not run this release. */
  readonly digest: string;
  /** The contract version of each pipeline in the worker's code. */
  readonly contracts: Readonly<Record<string, string>>;
}

/** The claim loop sends one when it starts, and then once per period. */
export interface Announcement {
  readonly session: SessionId;
  /** The only project that it works for. Default: all projects. */
  readonly project?: ProjectName;
  readonly pipelines: readonly PipelineName[];
  readonly release?: AnnouncedRelease;
  /** `starting`: the store has not responded to its first claim yet. */
  readonly state: 'starting' | 'ready' | 'draining';
  /** The period of the announcements. */
  readonly everyMs: number;
  /** The number of executions that it could take now. */
  readonly room: number;
}

export interface WorkerRecord extends Omit<Announcement, 'release'> {
  readonly release?: string;
  readonly owner: Owner;
  readonly announcedAt: Instant;
  /** When its claim loop last announced itself. */
  readonly provedAt: Instant;
  /** Its session has ended, as a stored fact. */
  readonly ended: boolean;
  /** Its session has missed its expiry. */
  readonly overdue: boolean;
}

/** `stuck`: the process lives, but its claim loop does not run. */
export type WorkerState = 'starting' | 'ready' | 'draining' | 'stuck' | 'gone';

/** Detects a stuck worker within two periods (RE-11). */
export function workerState(worker: WorkerRecord, now: Instant): WorkerState {
  if (worker.ended) return 'gone';
  if (now > laterBy(worker.provedAt, 2 * worker.everyMs)) return worker.overdue ? 'gone' : 'stuck';
  return worker.state;
}

// Refusals of operations on releases: every expected no, with the facts that its reader needs.

export type ReleaseRefusal =
  | NoSuchRelease
  /** Something else was registered under this name. */
  | {
      readonly why: 'release-differs';
      readonly pipeline: PipelineName;
      readonly name: string;
      readonly part: 'artifact' | 'digest' | 'contract';
    }
  /** It is active, or the canary. */
  | { readonly why: 'release-in-use'; readonly pipeline: PipelineName; readonly name: string }
  | {
      readonly why: 'release-pinned';
      readonly pipeline: PipelineName;
      readonly name: string;
      readonly pinned: number;
    }
  | {
      readonly why: 'release-breaks';
      readonly pipeline: PipelineName;
      readonly name: string;
      /** For people, one each. */
      readonly breaks: readonly string[];
    }
  | { readonly why: 'force-without-reason' }
  | { readonly why: 'rollout-changed'; readonly pipeline: PipelineName; readonly version: number }
  | { readonly why: 'no-canary'; readonly pipeline: PipelineName }
  /** The active release cannot be the canary. */
  | { readonly why: 'already-active'; readonly pipeline: PipelineName; readonly name: string }
  | { readonly why: 'nothing-before'; readonly pipeline: PipelineName }
  /** There is no active release for the rest of the executions. */
  | { readonly why: 'nothing-active'; readonly pipeline: PipelineName };

export type RepinRefusal =
  | NoSuchRelease
  | { readonly why: 'execution-unknown'; readonly id: ExecutionId }
  | { readonly why: 'already-ended'; readonly id: ExecutionId; readonly status: Status }
  | { readonly why: 'repin-while-running'; readonly id: ExecutionId }
  | { readonly why: 'pinned-elsewhere'; readonly id: ExecutionId; readonly release?: string }
  /** Its history does not fit the code of that release. */
  | {
      readonly why: 'repin-breaks';
      readonly id: ExecutionId;
      readonly name: string;
      readonly because: string;
    }
  /** No worker of that release looked in time. */
  | { readonly why: 'repin-unchecked'; readonly id: ExecutionId; readonly name: string }
  /** Something was recorded since it was looked at. */
  | { readonly why: 'execution-went-on'; readonly id: ExecutionId }
  | { readonly why: 'force-without-reason' };

/** What happened, why, and what to do next. */
export function describeReleaseRefusal(refusal: ReleaseRefusal | RepinRefusal): string {
  switch (refusal.why) {
    case 'release-unknown':
    case 'release-retired':
      return describeExecutionRefusal(refusal);
    case 'release-differs':
      return `Release "${refusal.name}" of pipeline "${refusal.pipeline}" is registered with another ${refusal.part}, and a release never changes. Give the new build a name of its own.`;
    case 'release-in-use':
      return `Release "${refusal.name}" of pipeline "${refusal.pipeline}" is active, or the canary. Activate another one first.`;
    case 'release-pinned':
      return `${refusal.pinned === 1 ? 'One open execution is' : `${refusal.pinned} open executions are`} pinned to release "${refusal.name}" of pipeline "${refusal.pipeline}". Wait until ${refusal.pinned === 1 ? 'it has ended, or repin it' : 'they have ended, or repin them'}.`;
    case 'release-breaks':
      return `Release "${refusal.name}" of pipeline "${refusal.pipeline}" was not activated: it would break something. ${refusal.breaks.join(' ')} Change it, or force it with a reason.`;
    case 'force-without-reason':
      return 'What is forced needs a reason, for those who look it up later. Nothing was changed.';
    case 'rollout-changed':
      return `Somebody else changed the releases of pipeline "${refusal.pipeline}" meanwhile; its version is ${refusal.version}. Look again, then decide.`;
    case 'no-canary':
      return `Pipeline "${refusal.pipeline}" has no canary. Nothing was changed. Set one first, or activate a release.`;
    case 'already-active':
      return `Release "${refusal.name}" of pipeline "${refusal.pipeline}" is already active, so it cannot be the canary. Nothing was changed. To remove the canary, roll back.`;
    case 'nothing-before':
      return `Pipeline "${refusal.pipeline}" has neither a canary nor an earlier release to go back to; it goes back once. Activate one by name.`;
    case 'nothing-active':
      return `Pipeline "${refusal.pipeline}" has no active release for the rest of the executions. Nothing was changed. Activate one first.`;
    case 'execution-unknown':
      return `Execution ${refusal.id} is not known in this project. Check the id and the project.`;
    case 'already-ended':
      return `Execution ${refusal.id} is ${refusal.status} and never changes again. To go on with another release, re-drive it.`;
    case 'repin-while-running':
      return `Execution ${refusal.id} is running. Pause it, or wait until it is let go of, then repin it.`;
    case 'pinned-elsewhere':
      return `Execution ${refusal.id} is pinned to ${refusal.release === undefined ? 'no release' : `release "${refusal.release}"`}, not to the release that you named. Nothing was changed.`;
    case 'repin-breaks':
      return `Execution ${refusal.id} was not repinned: release "${refusal.name}" would break it. ${refusal.because} Change the code, or force it with a reason.`;
    case 'repin-unchecked':
      return `Execution ${refusal.id} was not repinned: no worker of release "${refusal.name}" replayed it in time. Start one that has it, or force it with a reason.`;
    case 'execution-went-on':
      return `Execution ${refusal.id} has gone on since it was replayed. Nothing was changed; ask again.`;
    default:
      return unreachable(refusal);
  }
}
