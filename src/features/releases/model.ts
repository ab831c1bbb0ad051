// Releases
//
// A release is a build of one pipeline: an artifact, by name and digest, that implements a contract. The line of
// a pipeline says which release new executions are pinned to: the active one, and a share of them to a candidate.
//
//     register ──▶ (preflight) ──▶ candidate, some per cent ──▶ active ──▶ draining ──▶ drained ──▶ retired
//                       └────────────────────────────────────────▲  ◀── roll back
//
//   RE-3   A release never changes but for its preflight and its end.
//   RE-4   One act on a line at a time, each on the line that it saw; each leaves one entry in its log.
//   RE-5   An execution is pinned when it is submitted, by the line as it is in that transaction.
//   RE-6   A release is retired only while nothing is pinned to it, and nothing is pinned to a retired one.

import { createHash } from 'node:crypto';
import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import type { ContractChange } from './contract-diff-decide.ts';
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
  readonly looked: number;
  /** Of those that were replayed. The first ones, where there are many. */
  readonly broken: readonly BrokenReplay[];
  readonly brokenCount: number;
}

/** Those that are kept with a release; how many there are is counted. */
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
export interface Line {
  readonly active?: string;
  /** What was active before, to go back to; where nothing is active, also what the next one is compared with. */
  readonly previous?: string;
  readonly candidate?: string;
  /** Of new executions, to the candidate: 1 to 99. */
  readonly percent?: number;
  /** Rises by one with each act; zero before the first. */
  readonly version: number;
}

export const NO_LINE: Line = Object.freeze({ version: 0 });

export type LineAct = 'activate' | 'percentage' | 'promote' | 'roll-back' | 'deactivate' | 'retire';

export const LINE_ACTS: readonly LineAct[] = [
  ...(['activate', 'percentage', 'promote', 'roll-back', 'deactivate', 'retire'] as const),
];

/** One entry of the log of a line. */
export interface Activation {
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
  /** The version of the line that it made. */
  readonly version: number;
  readonly at: Instant;
  readonly act: LineAct;
  /** Which release it was about. */
  readonly name: string;
  readonly actor: string;
  readonly reason: string;
  /** Although it was said to break something. */
  readonly forced: boolean;
  readonly before: Omit<Line, 'version'>;
  readonly after: Omit<Line, 'version'>;
}

/**
 * RE-5: the same for the same key, or for the same id, whoever asks and on every store. From 0 to 99; the SQL of
 * one of them computes it too.
 */
export function bucketOf({ id, key }: { readonly id: string; readonly key?: string }): number {
  const digest = createHash('md5')
    .update(key ?? id)
    .digest('hex');
  return Number.parseInt(digest.slice(0, 7), 16) % 100;
}

export function pinOf(
  line: Line | undefined,
  submitted: { readonly id: string; readonly key?: string },
): string | undefined {
  if (line?.candidate === undefined) return line?.active;
  return bucketOf(submitted) < (line.percent ?? 0) ? line.candidate : line.active;
}

/** What is to be said of a release, as lists show it. */
export type ReleaseState =
  | 'registered'
  | 'candidate'
  | 'active'
  | 'draining'
  | 'drained'
  | 'retired';

export function stateOf(
  release: Pick<Release, 'name' | 'retiredAt'>,
  {
    line,
    pinned,
    wasActive,
  }: { readonly line: Line; readonly pinned: number; readonly wasActive: boolean },
): ReleaseState {
  if (release.retiredAt !== undefined) return 'retired';
  if (line.active === release.name) return 'active';
  if (line.candidate === release.name) return 'candidate';
  if (pinned > 0) return 'draining';
  return wasActive ? 'drained' : 'registered';
}
