// The part of the port that keeps releases (RE-3 … RE-11).

import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import type { SessionId } from '../../lease/names.ts';
import type { Audited, AuditStamp } from '../audit/model.ts';
import type { RepinRequest, RolloutRequest } from './decide.ts';
import type {
  Activation,
  Announcement,
  Preflight,
  Release,
  ReleaseKey,
  ReleaseRefusal,
  RepinRefusal,
  Rollout,
  WorkerRecord,
} from './model.ts';

export interface ReleaseStore {
  /** Repeating the same request is safe (RE-3). */
  registerRelease(request: RegisterRelease): Promise<ReleaseRegistered>;
  release(key: ReleaseKey): Promise<Release | undefined>;
  /** Newest first. */
  releases(query: ListReleases): Promise<readonly Release[]>;
  /** Keeps the result with the release until the next preflight. */
  notePreflight(request: NotePreflight): Promise<PreflightNoted>;
  /**
   * Activates, sets a canary, promotes, rolls back, deactivates or retires. Each operation adds
   * one entry to the log (RE-4, RE-6).
   */
  changeRollout(request: ChangeRollout): Promise<RolloutChanged>;
  rollout(query: OfPipeline): Promise<Rollout>;
  /** Every pipeline that has a release, by name. */
  rollouts(query: ListRollouts): Promise<readonly PipelineRollout[]>;
  /** Newest first. */
  activations(query: ListActivations): Promise<readonly Activation[]>;
  /** The number of open executions pinned to each release, by name. */
  pinned(query: OfPipeline): Promise<readonly Pinned[]>;
  /** Repins an open execution that no worker runs (RE-8). */
  repinExecution(request: RepinExecution): Promise<ExecutionRepinned>;
  /** A worker's pipelines and release, and the proof that its claim loop runs (RE-9, RE-11). */
  announce(request: Announcement): Promise<Announced>;
  /** The JSON Schema of a pipeline's input, by the worker that announced itself last (RE-21). */
  announcedInput(query: OfPipeline): Promise<string | undefined>;
  /** Workers whose sessions the store knows, sorted by session. */
  workers(query: ListWorkers): Promise<readonly WorkerRecord[]>;
}

/** Bounds what one page parses at once. A worker may announce 1,000 names. */
const PAGE_NAMES = 20_000;
const PAGE_MIN = 20;
const PAGE_MAX = 1_000;

/** All workers of a project, or of all projects, in pages of a bounded size. */
export async function* workerPages(
  { workers }: Pick<ReleaseStore, 'workers'>,
  project?: ProjectName,
): AsyncGenerator<readonly WorkerRecord[], void, void> {
  let limit = PAGE_MIN;
  for (let after: SessionId | undefined; ; ) {
    const page = await workers({ limit, ...(project && { project }), ...(after && { after }) });
    yield page;
    if (page.length < limit) return;
    after = page.at(-1)?.session;
    const fits = Math.floor((PAGE_NAMES / Math.max(1, namesIn(page))) * page.length);
    limit = Math.min(PAGE_MAX, Math.max(PAGE_MIN, fits));
  }
}

/** The number of pipelines that the workers announce. */
export function namesIn(workers: readonly WorkerRecord[]): number {
  return workers.reduce((sum, { pipelines }) => sum + pipelines.length, 0);
}

type Refused<Why> = { readonly kind: 'refused' } & Why;

export type RegisterRelease = Omit<Release, 'createdAt' | 'preflight' | 'retiredAt'>;

/** The result of `register`: `registered` (`existing` is true if it was there), or `refused`. */
export type ReleaseRegistered =
  | { readonly kind: 'registered'; readonly existing: boolean }
  | Refused<Extract<ReleaseRefusal, { readonly why: 'release-differs' | 'release-retired' }>>;

export type PreflightNoted =
  | { readonly kind: 'noted'; readonly preflight: Omit<Preflight, 'at'> }
  | Refused<Extract<ReleaseRefusal, { readonly why: 'release-unknown' }>>;

export interface ListReleases {
  readonly project: ProjectName;
  readonly pipeline?: PipelineName;
  /** Continues below this one. */
  readonly before?: Pick<Release, 'createdAt' | 'pipeline' | 'name'>;
  readonly limit: number;
  /** The most bytes of contracts and preflights together. The first release always fits. */
  readonly bytesMax?: number;
}

export interface NotePreflight extends ReleaseKey {
  readonly preflight: Omit<Preflight, 'at'>;
  /** Open executions that this preflight did not replay. Their earlier results stay. */
  readonly unseen?: readonly ExecutionId[];
}

export interface ChangeRollout extends RolloutRequest, Audited {
  readonly project: ProjectName;
  readonly actor: string;
}

/**
 * The result of a change to a rollout: `changed` or `no-change`, with the `rollout`; or `refused`.
 */
export type RolloutChanged =
  | { readonly kind: 'changed' | 'no-change'; readonly rollout: Rollout }
  | Refused<ReleaseRefusal>;

export interface OfPipeline {
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
}

export interface ListRollouts {
  readonly project: ProjectName;
  /** Continues after this pipeline. */
  readonly after?: string;
  readonly limit: number;
}

/** The rollout of one pipeline. */
export interface PipelineRollout extends Rollout {
  /** The name of the pipeline. */
  readonly pipeline: PipelineName;
}

export interface ListActivations extends OfPipeline {
  /** Continues below this version. */
  readonly before?: number;
  readonly limit: number;
}

export interface Pinned {
  readonly release: string;
  readonly open: number;
}

export interface RepinExecution extends RepinRequest {
  readonly audit?: AuditStamp;
  /** Set if a job requests it (Y-23). */
  readonly job?: ExecutionId;
}

/**
 * The result of a repin: `repinned` or `no-change`, with the `id` and its `release` now; or
 * `refused`.
 */
export type ExecutionRepinned =
  | { readonly kind: 'repinned' | 'no-change'; readonly id: ExecutionId; readonly release: string }
  | Refused<RepinRefusal>;

export type Announced =
  | { readonly kind: 'announced' }
  | Refused<
      | Extract<
          ReleaseRefusal,
          { readonly why: 'release-unknown' | 'release-differs' | 'release-retired' }
        >
      | { readonly why: 'session-not-live' }
    >;

export interface ListWorkers {
  /** Workers for this project, alone or among all. Undefined: every worker. */
  readonly project?: ProjectName;
  readonly after?: SessionId;
  readonly limit: number;
}
