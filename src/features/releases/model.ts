// Releases
//
// A release is a build of one pipeline: an artifact, by name and digest, that implements a contract.
// Further artifacts, each with its own digest, can belong to it.
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
import { isRedrivable, type Status } from '../../execution/execution.ts';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import { describeExecutionRefusal, type NoSuchRelease } from '../../execution/refusal.ts';
import type { Routed } from '../../execution/route.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import { unreachable } from '../../support/assert.ts';
import { type Instant, laterBy } from '../../support/clock.ts';
import type { Artifact } from './artifacts-model.ts';
import type { ContractChange } from './contract-decide.ts';
import type { Contract } from './contract-model.ts';

/** The identity of a release. */
export interface ReleaseKey {
  /** The project. */
  readonly project: ProjectName;
  /** The name of the pipeline. */
  readonly pipeline: PipelineName;
  /** The name of the release. */
  readonly name: string;
}

/**
 * A registered build of a pipeline. It never changes, except for its preflight and its retirement.
 */
export interface Release extends ReleaseKey {
  /** The image, package or bundle. */
  readonly artifact: string;
  /**
   * The digest of the artifact. A worker that shows neither this one nor that of one of `artifacts`
   * is not this release.
   */
  readonly digest: string;
  /** Further artifacts, by name. Absent if there are none. */
  readonly artifacts?: readonly Artifact[];
  /** The contract of the pipeline. */
  readonly contract: Contract;
  /** The version of the contract. */
  readonly contractVersion: string;
  /** When it was registered. */
  readonly createdAt: Instant;
  /** The actor who registered it. */
  readonly createdBy: string;
  /** The result of its last preflight. */
  readonly preflight?: Preflight;
  /** When it was retired. */
  readonly retiredAt?: Instant;
}

/** The executions and callers that a release would break. */
export interface Preflight {
  /** When the preflight ran. */
  readonly at: Instant;
  /** The release that its contract was compared with, if there was one. */
  readonly against?: string;
  /** The changes of its contract. */
  readonly changes: readonly ContractChange[];
  /** How many open executions there were. */
  readonly open: number;
  /** How many of them were replayed. */
  readonly replayed: number;
  /** Executions whose replay failed, at most 100. */
  readonly broken: readonly BrokenReplay[];
  /** How many replays failed. */
  readonly brokenCount: number;
}

/** The most broken replays that a release keeps; the rest is only counted. */
export const BROKEN_MAX = 100;

/** An execution whose history a release cannot replay. */
export interface BrokenReplay {
  /** The id of the execution. */
  readonly execution: ExecutionId;
  /** The release that it is pinned to. */
  readonly release?: string;
  /** The history event at which the code made another call. */
  readonly seq?: number;
  /** The difference between history and code, for people. */
  readonly why: string;
}

/** The releases that new executions of a pipeline go to. */
export interface Rollout {
  /** The active release. */
  readonly active?: string;
  /** The release that was active before, for `rollBack`. */
  readonly previous?: string;
  /** The release that gets a percentage of new executions. */
  readonly canary?: string;
  /** The percentage of new executions that go to the canary, 1 to 99. */
  readonly percent?: number;
  /** Rises by one with each change. Zero before the first. */
  readonly version: number;
}

export const NO_ROLLOUT: Rollout = Object.freeze({ version: 0 });

export const ROLLOUT_ACTIONS = [
  ...(['activate', 'set-canary', 'promote', 'roll-back', 'deactivate', 'retire'] as const),
] as const;

export type RolloutAction = (typeof ROLLOUT_ACTIONS)[number];

/** One change of a rollout. */
export interface Activation {
  /** The project. */
  readonly project: ProjectName;
  /** The name of the pipeline. */
  readonly pipeline: PipelineName;
  /** The version of the rollout after the change. */
  readonly version: number;
  /** When. */
  readonly at: Instant;
  /** The operation. */
  readonly action: RolloutAction;
  /** The release that it was about. */
  readonly name: string;
  /** The actor who made the change. */
  readonly actor: string;
  /** Why. */
  readonly reason: string;
  /** True if the change was forced. */
  readonly forced: boolean;
  /** The rollout before. */
  readonly before: Omit<Rollout, 'version'>;
  /** The rollout after. */
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

/** The state of a release. */
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

/** The release that a worker announces. */
export interface AnnouncedRelease {
  /** The name of the release. */
  readonly name: string;
  /** The digest of the artifact that the worker has. */
  readonly digest: string;
  /** The contract version of each pipeline in its code. */
  readonly contracts: Readonly<Record<string, string>>;
}

/** A worker's report of itself. */
export interface Announcement {
  /** The worker's session. */
  readonly session: SessionId;
  /** The only project that it works for. Absent: all. */
  readonly project?: ProjectName;
  /** The pipelines that it serves. */
  readonly pipelines: readonly PipelineName[];
  /** The release that it announces. */
  readonly release?: AnnouncedRelease;
  /** The JSON Schema of the input of each pipeline that has one. Absent: as announced before. */
  readonly inputs?: Readonly<Record<string, unknown>>;
  /** `starting` before its first claim, then `ready`, or `draining` while it stops. */
  readonly state: 'starting' | 'ready' | 'draining';
  /** Milliseconds between its reports. */
  readonly everyMs: number;
  /** How many more executions it could take now. */
  readonly room: number;
}

/** A worker that announced itself. */
export interface WorkerRecord extends Omit<Announcement, 'release' | 'inputs'> {
  /** The name of its release. Absent if it has none or was refused. */
  readonly release?: string;
  /** The name that operators see. */
  readonly owner: Owner;
  /** When it announced itself. */
  readonly announcedAt: Instant;
  /** When its claim loop last reported. */
  readonly provedAt: Instant;
  /** True if its session has ended. */
  readonly ended: boolean;
  /** True if its session has missed heartbeats. */
  readonly overdue: boolean;
}

/**
 * The state of a worker. `stuck`: its process lives, but its claim loop does not report. `gone`:
 * its session is over, or its claim loop does not report and its session is overdue.
 */
export type WorkerState = 'starting' | 'ready' | 'draining' | 'stuck' | 'gone';

/** Detects a stuck worker within two periods (RE-11). */
export function workerState(worker: WorkerRecord, now: Instant): WorkerState {
  if (worker.ended) return 'gone';
  if (now > laterBy(worker.provedAt, 2 * worker.everyMs)) return worker.overdue ? 'gone' : 'stuck';
  return worker.state;
}

type Announced = Pick<WorkerRecord, 'pipelines' | 'release'> & { readonly is: WorkerState };

/** The workers that announced the pipeline, and the release if it is pinned to one. */
export function announcersOf<Worker extends Announced>(
  workers: readonly Worker[],
  { pipeline, release }: Routed,
): readonly Worker[] {
  return workers
    .filter((each) => each.pipelines.includes(pipeline))
    .filter((each) => release === undefined || each.release === release);
}

/** Draining and stuck workers take no work. */
export function takesWork({ is }: Pick<Announced, 'is'>): boolean {
  return is === 'ready' || is === 'starting';
}

// Refusals of operations on releases: every expected negative result, with the facts that its
// reader needs.

/**
 * Why an operation on the release `name` of `pipeline` was refused. Nothing was written.
 *
 * - `release-unknown`, `release-retired`: the release does not exist, or was retired.
 * - `release-differs`: the name is registered with another `part`.
 * - `release-in-use`: it is active, or the canary.
 * - `release-pinned`: `pinned` open executions are pinned to it.
 * - `release-breaks`: it would break something; `breaks` lists it.
 * - `force-without-reason`: a forced change needs a reason.
 * - `rollout-changed`: another change came first; `version` is the current one.
 * - `no-canary`: there is no canary to promote.
 * - `already-active`: it is the active release.
 * - `nothing-before`: there is nothing to roll back to.
 * - `nothing-active`: there is no active release to get the rest.
 */
export type ReleaseRefusal =
  | NoSuchRelease
  | {
      readonly why: 'release-differs';
      readonly pipeline: PipelineName;
      readonly name: string;
      readonly part: 'artifact' | 'digest' | 'contract';
    }
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
      readonly breaks: readonly string[];
    }
  | { readonly why: 'force-without-reason' }
  | { readonly why: 'rollout-changed'; readonly pipeline: PipelineName; readonly version: number }
  | { readonly why: 'no-canary'; readonly pipeline: PipelineName }
  | { readonly why: 'already-active'; readonly pipeline: PipelineName; readonly name: string }
  | { readonly why: 'nothing-before'; readonly pipeline: PipelineName }
  | { readonly why: 'nothing-active'; readonly pipeline: PipelineName };

/**
 * Why a repin was refused. Nothing was written.
 *
 * - `release-unknown`, `release-retired`: the release does not exist, or was retired.
 * - `execution-unknown`, `already-ended`: the execution `id` does not exist, or has ended as
 *   `status`.
 * - `repin-while-running`: a worker runs it.
 * - `pinned-elsewhere`: it is pinned to another `release` than `from`.
 * - `repin-breaks`: the release `name` cannot replay its history, for the reason `because`.
 * - `repin-unchecked`: no worker of the release replayed it in time.
 * - `execution-went-on`: it has progressed since it was replayed.
 * - `force-without-reason`: a forced repin needs a reason.
 */
export type RepinRefusal =
  | NoSuchRelease
  | { readonly why: 'execution-unknown'; readonly id: ExecutionId }
  | { readonly why: 'already-ended'; readonly id: ExecutionId; readonly status: Status }
  | { readonly why: 'repin-while-running'; readonly id: ExecutionId }
  | { readonly why: 'pinned-elsewhere'; readonly id: ExecutionId; readonly release?: string }
  | {
      readonly why: 'repin-breaks';
      readonly id: ExecutionId;
      readonly name: string;
      readonly because: string;
    }
  | { readonly why: 'repin-unchecked'; readonly id: ExecutionId; readonly name: string }
  | { readonly why: 'execution-went-on'; readonly id: ExecutionId }
  | { readonly why: 'force-without-reason' };

/**
 * Returns a sentence that explains a refusal: the cause, its effect and what to do.
 *
 * @example
 * const result = await holdfast.releases.activate('order', 'v2');
 * if (result.kind === 'refused') console.error(describeReleaseRefusal(result));
 */
export function describeReleaseRefusal(refusal: ReleaseRefusal | RepinRefusal): string {
  switch (refusal.why) {
    case 'release-unknown':
    case 'release-retired':
      return describeExecutionRefusal(refusal);
    case 'release-differs':
      return `Release "${refusal.name}" of pipeline "${refusal.pipeline}" is registered with another ${refusal.part}, and a release never changes. Nothing was written. Give the new build a name of its own.`;
    case 'release-in-use':
      return `Release "${refusal.name}" of pipeline "${refusal.pipeline}" is active, or the canary. Nothing was changed. Activate another one first.`;
    case 'release-pinned':
      return `${refusal.pinned === 1 ? 'One open execution is' : `${refusal.pinned} open executions are`} pinned to release "${refusal.name}" of pipeline "${refusal.pipeline}". Nothing was changed. Wait until ${refusal.pinned === 1 ? 'it has ended, or repin it' : 'they have ended, or repin them'}.`;
    case 'release-breaks':
      return `Release "${refusal.name}" of pipeline "${refusal.pipeline}" was not activated: it would break callers or open executions. ${refusal.breaks.join(' ')} Change the code, or force it with a reason.`;
    case 'force-without-reason':
      return 'A forced operation needs a reason. Nothing was changed. Pass the reason: --reason "…".';
    case 'rollout-changed':
      return `Another operator changed the rollout of pipeline "${refusal.pipeline}" meanwhile: its version is ${refusal.version}. Nothing was changed. Read it again, then decide.`;
    case 'no-canary':
      return `Pipeline "${refusal.pipeline}" has no canary. Nothing was changed. Set one first, or activate a release.`;
    case 'already-active':
      return `Release "${refusal.name}" of pipeline "${refusal.pipeline}" is already active, so it cannot be the canary. Nothing was changed. To remove the canary, roll back.`;
    case 'nothing-before':
      return `Pipeline "${refusal.pipeline}" has neither a canary nor an earlier active release, and a rollback goes back once. Nothing was changed. Activate a release by name.`;
    case 'nothing-active':
      return `Pipeline "${refusal.pipeline}" has no active release that takes the rest. Nothing was changed. Activate one first.`;
    case 'execution-unknown':
      return `Execution ${refusal.id} is not known in this project. Nothing was changed. Check the id and the project.`;
    case 'already-ended':
      return `Execution ${refusal.id} has ended (${refusal.status}) and cannot change. Nothing was changed. To run it with another release, ${isRedrivable(refusal.status) ? 're-drive it' : 'submit the work again'}.`;
    case 'repin-while-running':
      return `Execution ${refusal.id} is running. Nothing was changed. Pause it, or wait until its worker gives it up, then repin it.`;
    case 'pinned-elsewhere':
      return `Execution ${refusal.id} is pinned to ${refusal.release === undefined ? 'no release' : `release "${refusal.release}"`}, not to the release that you named. Nothing was changed. Read it again, then decide.`;
    case 'repin-breaks':
      return `Execution ${refusal.id} was not repinned: release "${refusal.name}" would break it. ${refusal.because} Change the code, or force it with a reason.`;
    case 'repin-unchecked':
      return `Execution ${refusal.id} was not repinned: no worker of release "${refusal.name}" replayed it in time. Start one, or force it with a reason.`;
    case 'execution-went-on':
      return `Execution ${refusal.id} has continued since it was replayed. Nothing was changed. Try again.`;
    default:
      return unreachable(refusal);
  }
}
