// Decides changes of a rollout (RE-4), and whether a release may be retired (RE-6). Pure.

import { historyEvent, withoutHolds } from '../../execution/decide/record.ts';
import { type ExecutionRecord, isTerminal } from '../../execution/execution.ts';
import type { HistoryEvent } from '../../execution/history.ts';
import type { ExecutionId, Payload, PipelineName, ProjectName } from '../../execution/names.ts';
import type { NoSuchRelease } from '../../execution/refusal.ts';
import { replayName, routeOf } from '../../execution/route.ts';
import type { Instant } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import { digestsOf } from './artifacts-model.ts';
import { diffContracts } from './contract-decide.ts';
import { canonicalJson, type Json } from './contract-model.ts';
import {
  type Announcement,
  BROKEN_MAX,
  type Preflight,
  type Release,
  type ReleaseRefusal,
  type RepinRefusal,
  type Rollout,
  type RolloutAction,
} from './model.ts';

interface RolloutView {
  /** NO_ROLLOUT before the first change. */
  readonly rollout: Rollout;
  /** The release that is to become active or the canary, if the store knows it. */
  readonly release: Release | undefined;
  /** The release to compare it with, by `nameBefore`. */
  readonly before: Release | undefined;
  /** Open executions that are pinned to it; for `retire`. */
  readonly pinned: number;
}

export interface RolloutRequest {
  readonly pipeline: PipelineName;
  readonly action: RolloutAction;
  /** For `activate`, `set-canary` and `retire`. */
  readonly name?: string;
  /** For `set-canary`: 0 removes the canary. */
  readonly percent?: number;
  /** The version of the rollout that the caller saw. */
  readonly expected?: number;
  readonly force?: boolean;
  readonly reason: string;
}

type RolloutDecision =
  | { readonly kind: 'change'; readonly rollout: Rollout; readonly forced: boolean }
  | { readonly kind: 'no-change'; readonly rollout: Rollout }
  | { readonly kind: 'refuse'; readonly refusal: ReleaseRefusal };

/** The release that an operation is about, given the current rollout. */
export function nameMeant(
  rollout: Rollout,
  { action, name }: Pick<RolloutRequest, 'action' | 'name'>,
): string | undefined {
  if (action === 'promote') return rollout.canary;
  if (action === 'deactivate') return rollout.active;
  if (action === 'roll-back')
    return rollout.canary === undefined ? rollout.previous : rollout.active;
  return name;
}

/** The release that callers keep to: the active one, or else the last that was active (RE-7). */
export function nameBefore({ active, previous }: Omit<Rollout, 'version'>): string | undefined {
  return active ?? previous;
}

export function decideRollout(view: RolloutView, request: RolloutRequest): RolloutDecision {
  const { rollout } = view;
  const { pipeline, action, expected, force = false } = request;
  if (expected !== undefined && expected !== rollout.version) {
    return refuse({ why: 'rollout-changed', pipeline, version: rollout.version });
  }
  if (force && request.reason === '') return refuse({ why: 'force-without-reason' });
  if (action === 'retire') return decideRetire(view, request);
  const wanted = WANTED[action](rollout, request);
  if ('why' in wanted) return refuse(wanted);
  if (isSame(rollout, wanted)) return { kind: 'no-change', rollout };
  const unfit = refuseRelease(view, request);
  if (unfit !== undefined) return refuse(unfit);
  // Going back breaks no party that was not broken before.
  const isBack = action === 'roll-back' || action === 'deactivate' || request.percent === 0;
  const breaks = isBack ? [] : breaksOf(view);
  if (breaks.length > 0 && !force) {
    const name = nameMeant(rollout, request) ?? '';
    return refuse({ why: 'release-breaks', pipeline, name, breaks });
  }
  const forced = breaks.length > 0;
  return { kind: 'change', rollout: { ...wanted, version: rollout.version + 1 }, forced };
}

type Wanted = Omit<Rollout, 'version'>;

const WANTED: Readonly<
  Record<
    Exclude<RolloutAction, 'retire'>,
    (rollout: Rollout, request: RolloutRequest) => Wanted | ReleaseRefusal
  >
> = {
  activate: (rollout, { name = '' }) =>
    rollout.active === name
      ? withoutCanary(rollout)
      : { active: name, ...(nameBefore(rollout) === name ? {} : before(nameBefore(rollout))) },
  'set-canary': (rollout, { pipeline, name = '', percent = 0 }) => {
    if (rollout.active === name) return { why: 'already-active', pipeline, name };
    // If this release is not the canary, 0 changes nothing: another canary stays.
    if (percent === 0) return rollout.canary === name ? withoutCanary(rollout) : rollout;
    if (rollout.active === undefined) return { why: 'nothing-active', pipeline };
    return { ...withoutCanary(rollout), canary: name, percent };
  },
  promote: (rollout, { pipeline }) =>
    rollout.canary === undefined
      ? { why: 'no-canary', pipeline }
      : { active: rollout.canary, ...before(rollout.active) },
  'roll-back': (rollout, { pipeline }) => {
    if (rollout.canary !== undefined) return withoutCanary(rollout);
    if (rollout.previous === undefined) return { why: 'nothing-before', pipeline };
    // Forgets the rolled-back release; going forward again is an activation (RE-7).
    return { active: rollout.previous };
  },
  deactivate: (rollout) => (rollout.active === undefined ? rollout : before(rollout.active)),
};

function before(active: string | undefined): Pick<Rollout, 'previous'> {
  return active === undefined ? {} : { previous: active };
}

function withoutCanary({ active, previous }: Rollout): Wanted {
  return present({ active, previous });
}

function isSame(rollout: Rollout, wanted: Wanted): boolean {
  const parts = ['active', 'previous', 'canary', 'percent'] as const;
  return parts.every((part) => rollout[part] === wanted[part]);
}

function refuseRelease(
  { rollout, release }: RolloutView,
  request: RolloutRequest,
): ReleaseRefusal | undefined {
  const name = nameMeant(rollout, request) ?? '';
  const { pipeline } = request;
  if (request.percent === 0 || request.action === 'deactivate') return undefined;
  return noSuchRelease(release, { pipeline, name });
}

/** A bounded list, for people. */
const LISTED_MAX = 100;
const LISTED_CHARS_MAX = 1_024;

/** The breaking contract changes, and the failures of the last preflight (RE-7). */
function breaksOf({ release, before: kept }: RolloutView): readonly string[] {
  if (release === undefined) return [];
  const changes = kept === undefined ? [] : diffContracts(kept.contract, release.contract);
  const breaking = changes.filter((each) => each.breaking);
  const listed = breaking
    .slice(0, LISTED_MAX)
    .map(({ part, path, what }) => `${`${part}${path}: ${what}`.slice(0, LISTED_CHARS_MAX)}.`);
  const left = breaking.length - listed.length;
  const more = left > 0 ? [`There are ${left} more.`] : [];
  return [
    ...listed,
    ...more,
    ...(release.preflight === undefined ? [] : replaysOf(release.preflight)),
  ];
}

function replaysOf({ replayed, broken, brokenCount }: Preflight): readonly string[] {
  if (brokenCount === 0) return [];
  const [first] = broken;
  const which = first === undefined ? '' : ` The first: ${first.execution}: ${first.why}`;
  return [`${brokenCount} of ${replayed} open executions would not replay.${which}`];
}

/**
 * The rollout stays as it is. Its version rises, so that a concurrent operation on the same rollout
 * fails (RE-6).
 */
function decideRetire(
  { rollout, release, pinned }: RolloutView,
  { pipeline, name = '' }: RolloutRequest,
): RolloutDecision {
  if (release === undefined) return refuse({ why: 'release-unknown', pipeline, name });
  if (release.retiredAt !== undefined) return { kind: 'no-change', rollout };
  if (rollout.active === name || rollout.canary === name) {
    return refuse({ why: 'release-in-use', pipeline, name });
  }
  if (pinned > 0) return refuse({ why: 'release-pinned', pipeline, name, pinned });
  const { previous: _, ...rest } = rollout;
  // If nothing is active, the next release is still compared with this one.
  const kept = rollout.active !== undefined && rollout.previous === name ? rest : rollout;
  return { kind: 'change', rollout: { ...kept, version: rollout.version + 1 }, forced: false };
}

/** For a release that the caller named (RE-6). */
export function noSuchRelease(
  stored: Pick<Release, 'retiredAt'> | undefined,
  named: { readonly pipeline: PipelineName; readonly name: string },
): NoSuchRelease | undefined {
  const { pipeline, name } = named;
  if (stored === undefined) return { why: 'release-unknown', pipeline, name };
  return stored.retiredAt === undefined ? undefined : { why: 'release-retired', pipeline, name };
}

/** The part in which a registration differs from the stored release (RE-3). */
export function differenceOf(
  stored: Release,
  given: Pick<Release, 'artifact' | 'artifacts' | 'digest' | 'contractVersion'>,
): 'artifact' | 'digest' | 'contract' | undefined {
  if (stored.artifact !== given.artifact) return 'artifact';
  if (stored.digest !== given.digest) return 'digest';
  if (artifactsText(stored) !== artifactsText(given)) return 'artifact';
  return stored.contractVersion === given.contractVersion ? undefined : 'contract';
}

function artifactsText({ artifacts = [] }: Pick<Release, 'artifacts'>): string {
  return canonicalJson(artifacts as unknown as Json);
}

function refuse(refusal: ReleaseRefusal): Extract<RolloutDecision, { kind: 'refuse' }> {
  return { kind: 'refuse', refusal };
}

// Checks that a worker runs the release that it announces (RE-9). Pure.

type Refusal = NoSuchRelease | Extract<ReleaseRefusal, { readonly why: 'release-differs' }>;

type Registered = Pick<
  Release,
  'project' | 'pipeline' | 'name' | 'digest' | 'artifacts' | 'contractVersion' | 'retiredAt'
>;

/**
 * `registered`: the releases of this name that the worker can reach. A pipeline without a release
 * of this name runs without one.
 */
export function refuseAnnouncement(
  registered: readonly Registered[],
  { release, pipelines }: Pick<Announcement, 'release' | 'pipelines'>,
): Refusal | undefined {
  if (release === undefined) return undefined;
  const { name } = release;
  const own = registered.filter(({ pipeline }) => pipelines.includes(pipeline));
  if (own.length === 0) {
    return { why: 'release-unknown', pipeline: pipelines[0] ?? ('' as PipelineName), name };
  }
  for (const each of own) {
    const { pipeline } = each;
    if (each.retiredAt !== undefined) return { why: 'release-retired', pipeline, name };
    if (!digestsOf(each).includes(release.digest)) {
      return { why: 'release-differs', pipeline, name, part: 'digest' };
    }
    if (each.contractVersion !== release.contracts[pipeline]) {
      return { why: 'release-differs', pipeline, name, part: 'contract' };
    }
  }
  return undefined;
}

/** The routes from which the worker may claim pinned executions and replays, by project. */
export function workerRoutes(
  registered: readonly Registered[],
  { pipelines }: Pick<Announcement, 'pipelines'>,
): readonly string[] {
  const own = new Set(pipelines);
  return registered
    .filter(({ pipeline }) => own.has(pipeline))
    .flatMap(({ project, pipeline, name }) => [
      `${project}\0${routeOf({ pipeline, release: name })}`,
      `${project}\0${replayName(name, pipeline)}`,
    ]);
}

// Repins an execution that no worker runs (RE-8). Pure.

interface RepinView {
  readonly execution: ExecutionRecord | undefined;
  /** The release to repin to. */
  readonly release: Release | undefined;
}

export interface RepinRequest {
  readonly id: ExecutionId;
  readonly project: ProjectName;
  readonly to: string;
  /** Only from this release; null means no release. */
  readonly from?: string | null;
  /** Only if its history ends here. */
  readonly seq?: number;
  /** The actor and the reason, for the event. */
  readonly body: Payload;
}

type RepinDecision =
  | { readonly kind: 'repin'; readonly execution: ExecutionRecord; readonly event: HistoryEvent }
  | { readonly kind: 'no-change'; readonly execution: ExecutionRecord }
  | { readonly kind: 'refuse'; readonly refusal: RepinRefusal };

export function decideRepin(view: RepinView, request: RepinRequest, now: Instant): RepinDecision {
  const { execution } = view;
  const { id, to } = request;
  if (execution === undefined || execution.project !== request.project) {
    return { kind: 'refuse', refusal: { why: 'execution-unknown', id } };
  }
  const refusal = refuseRepin(execution, view.release, request);
  if (refusal !== undefined) return { kind: 'refuse', refusal };
  if (execution.release === to) return { kind: 'no-change', execution };
  const seq = execution.seq + 1;
  const event = historyEvent({ kind: 'moved', name: to, body: request.body }, { seq, at: now });
  // The new code may fit its history.
  const repinned = { ...withoutHolds(execution, 'blocked'), release: to, seq };
  return { kind: 'repin', execution: repinned, event };
}

function refuseRepin(
  { id, status, pipeline, seq, release: pinned }: ExecutionRecord,
  release: Release | undefined,
  { to: name, from, seq: seen }: RepinRequest,
): RepinRefusal | undefined {
  if (isTerminal(status)) return { why: 'already-ended', id, status };
  if (release === undefined) return { why: 'release-unknown', pipeline, name };
  if (release.retiredAt !== undefined) return { why: 'release-retired', pipeline, name };
  if (from !== undefined && (pinned ?? null) !== from) {
    return { why: 'pinned-elsewhere', id, ...(pinned === undefined ? {} : { release: pinned }) };
  }
  if (status === 'running') return { why: 'repin-while-running', id };
  return seen === undefined || seen === seq ? undefined : { why: 'execution-went-on', id };
}

// Merges the results of a release's preflights (RE-10). Pure.

type Found = Omit<Preflight, 'at'>;

/**
 * A partial preflight keeps earlier failures of the executions in `unseen`, the open ones that it
 * did not replay. Earlier failures that were only counted may be among them, so they count too.
 */
export function keptPreflight(
  before: Found | undefined,
  found: Found,
  unseen: readonly ExecutionId[],
): Found {
  if (before === undefined || before.brokenCount === 0 || unseen.length === 0) return found;
  const isUnseen = new Set(unseen);
  const again = before.broken.filter(({ execution }) => isUnseen.has(execution));
  const counted = before.brokenCount - before.broken.length;
  const kept = Math.min(again.length + counted, unseen.length);
  return {
    ...found,
    replayed: found.replayed + kept,
    broken: [...found.broken, ...again].slice(0, BROKEN_MAX),
    brokenCount: found.brokenCount + kept,
  };
}
