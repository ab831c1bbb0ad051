// The part of the port that keeps releases (RE-3 … RE-11).

import type { ExecutionId, PipelineName, ProjectName } from '../../execution/names.ts';
import type { SessionId } from '../../lease/names.ts';
import type { AuditStamp } from '../audit/model.ts';
import type { LineRequest, MoveRequest } from './decide.ts';
import type {
  Activation,
  Announcement,
  Line,
  MoveRefusal,
  Preflight,
  Release,
  ReleaseKey,
  ReleaseRefusal,
  WorkerRecord,
} from './model.ts';

export interface ReleaseStore {
  /** The same again is fine (RE-3). */
  registerRelease(request: RegisterRelease): Promise<ReleaseRegistered>;
  release(key: ReleaseKey): Promise<Release | undefined>;
  /** Newest first. */
  releases(query: ListReleases): Promise<readonly Release[]>;
  /** What was found out about a release stays with it, until it is looked at again. */
  notePreflight(request: NotePreflight): Promise<PreflightNoted>;
  /** Activates, gives a share, promotes, rolls back, deactivates, retires: one act, one entry in the log (RE-4, RE-6). */
  changeLine(request: ChangeLine): Promise<LineChanged>;
  line(query: OfPipeline): Promise<Line>;
  /** Of every pipeline that has a release, by its name. */
  lines(query: ListLines): Promise<readonly LineOf[]>;
  /** Newest first. */
  activations(query: ListActivations): Promise<readonly Activation[]>;
  /** How many open executions are pinned to which release, by name. */
  pinned(query: OfPipeline): Promise<readonly Pinned[]>;
  /** Gives an open execution that nobody runs another release (RE-8). */
  moveExecution(request: MoveExecution): Promise<ExecutionMoved>;
  /** What a worker has, and that it is on the way to taking work (RE-9, RE-11). */
  announce(request: Announcement): Promise<Announced>;
  /** Those whose sessions are known, by session. */
  workers(query: ListWorkers): Promise<readonly WorkerRecord[]>;
}

type Refused<Why> = { readonly kind: 'refused' } & Why;

export type RegisterRelease = Omit<Release, 'createdAt' | 'preflight' | 'retiredAt'>;

export type ReleaseRegistered =
  | { readonly kind: 'registered'; readonly existing: boolean }
  | Refused<Extract<ReleaseRefusal, { readonly why: 'release-differs' | 'release-retired' }>>;

export type PreflightNoted =
  | { readonly kind: 'noted'; readonly preflight: Omit<Preflight, 'at'> }
  | Refused<Extract<ReleaseRefusal, { readonly why: 'release-unknown' }>>;

export interface ListReleases {
  readonly project: ProjectName;
  readonly pipeline?: PipelineName;
  /** Goes on below this one. */
  readonly before?: Pick<Release, 'createdAt' | 'pipeline' | 'name'>;
  readonly limit: number;
}

export interface NotePreflight extends ReleaseKey {
  readonly preflight: Omit<Preflight, 'at'>;
  /** Those that are open and were not looked at: what was found of them before stays. */
  readonly unseen?: readonly ExecutionId[];
}

export interface ChangeLine extends LineRequest {
  readonly project: ProjectName;
  readonly actor: string;
}

export type LineChanged =
  | { readonly kind: 'changed' | 'no-change'; readonly line: Line }
  | Refused<ReleaseRefusal>;

export interface OfPipeline {
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
}

export interface ListLines {
  readonly project: ProjectName;
  /** Goes on behind this pipeline. */
  readonly after?: string;
  readonly limit: number;
}

export interface LineOf extends Line {
  readonly pipeline: PipelineName;
}

export interface ListActivations extends OfPipeline {
  /** Goes on below this version. */
  readonly before?: number;
  readonly limit: number;
}

export interface Pinned {
  readonly release: string;
  readonly open: number;
}

export interface MoveExecution extends MoveRequest {
  readonly audit?: AuditStamp;
  /** Y-23. */
  readonly job?: ExecutionId;
}

export type ExecutionMoved =
  | { readonly kind: 'moved' | 'no-change'; readonly id: ExecutionId; readonly release: string }
  | Refused<MoveRefusal>;

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
  /** Those that work for it: for it alone, or for all. Every one when undefined. */
  readonly project?: ProjectName;
  readonly after?: SessionId;
  readonly limit: number;
}
