// Rows of releases, rollouts and workers, in one shape for both SQL stores.

import type { PipelineName, ProjectName } from '../../execution/names.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import { type Instant, toInstant } from '../../support/clock.ts';
import type { Artifact } from './artifacts-model.ts';
import type { Contract } from './contract-model.ts';
import {
  type Activation,
  type Announcement,
  NO_ROLLOUT,
  type Preflight,
  type Release,
  type Rollout,
  type RolloutAction,
  type WorkerRecord,
} from './model.ts';
import type { ChangeRollout, PipelineRollout, RegisterRelease } from './port.ts';

export interface ReleaseRow {
  readonly project: string;
  readonly pipeline: string;
  readonly name: string;
  readonly artifact: string;
  readonly digest: string;
  readonly contract_version: string;
  readonly contract: string;
  readonly created_at: number;
  readonly created_by: string;
  readonly preflight: string | null;
  readonly retired_at: number | null;
}

/** Older builds read a row with artifacts as one without, so the artifacts have no column. */
type StoredContract = Contract & { readonly artifacts?: readonly Artifact[] };

export function toRelease(row: ReleaseRow): Release {
  const { artifacts, ...contract } = JSON.parse(row.contract) as StoredContract;
  return {
    project: row.project as ProjectName,
    pipeline: row.pipeline as PipelineName,
    name: row.name,
    artifact: row.artifact,
    digest: row.digest,
    contractVersion: row.contract_version,
    ...(artifacts && { artifacts }),
    contract,
    createdAt: toInstant(row.created_at),
    createdBy: row.created_by,
    ...(row.preflight === null ? {} : { preflight: toPreflight(row.preflight) }),
    ...(row.retired_at === null ? {} : { retiredAt: toInstant(row.retired_at) }),
  };
}

/** The columns that a registration writes, in the order above. */
export function fromRelease(
  release: RegisterRelease,
): Omit<ReleaseRow, 'created_at' | 'preflight' | 'retired_at'> {
  const { project, pipeline, name, artifact, digest, artifacts, contractVersion } = release;
  const contract: StoredContract = { ...release.contract, ...(artifacts && { artifacts }) };
  return {
    ...{ project, pipeline, name, artifact, digest },
    contract_version: contractVersion,
    contract: JSON.stringify(contract),
    created_by: release.createdBy,
  };
}

/** A preflight that an earlier version stored has `looked` for `replayed`. */
function toPreflight(text: string): Preflight {
  const { looked, ...preflight } = JSON.parse(text) as Preflight & { readonly looked?: number };
  return looked === undefined ? preflight : { ...preflight, replayed: looked };
}

export interface RolloutRow {
  readonly version: number;
  readonly active: string | null;
  readonly previous: string | null;
  readonly candidate: string | null;
  readonly percent: number | null;
}

/** The column keeps the word that the canary had first. */
export function toRollout(row: RolloutRow): Rollout {
  const { version, active, previous, candidate: canary, percent } = row;
  return {
    version,
    ...(active === null ? {} : { active }),
    ...(previous === null ? {} : { previous }),
    ...(canary === null ? {} : { canary }),
    ...(percent === null ? {} : { percent }),
  };
}

/**
 * A pipeline with releases. All other fields are null before the first operation on its rollout.
 */
export interface PipelineRolloutRow extends Omit<RolloutRow, 'version'> {
  readonly pipeline: string;
  readonly version: number | null;
}

export function toPipelineRollout({
  pipeline,
  version,
  ...rest
}: PipelineRolloutRow): PipelineRollout {
  const rollout = version === null ? NO_ROLLOUT : toRollout({ version, ...rest });
  return { pipeline: pipeline as PipelineName, ...rollout };
}

export function fromRollout(rollout: Rollout): RolloutRow {
  const { version, active = null, previous = null, canary = null, percent = null } = rollout;
  return { version, active, previous, candidate: canary, percent };
}

export interface ActivationRow {
  readonly project: string;
  readonly pipeline: string;
  readonly version: number;
  readonly at: number;
  readonly act: string;
  readonly name: string;
  readonly actor: string;
  readonly reason: string;
  readonly forced: number | boolean;
  readonly was: string;
  readonly became: string;
}

// Log entries never change, so they keep the words `percentage` for `set-canary`, and `candidate` for `canary`.

export const STORED_SET_CANARY = 'percentage';

type Logged = Omit<Rollout, 'version'>;

function fromLogged({ canary, ...rest }: Logged): string {
  return JSON.stringify({ ...rest, candidate: canary });
}

function toLogged(text: string): Logged {
  const { candidate, ...rest } = JSON.parse(text) as Logged & { readonly candidate?: string };
  return candidate === undefined ? rest : { ...rest, canary: candidate };
}

export function toActivation(row: ActivationRow): Activation {
  return {
    project: row.project as ProjectName,
    pipeline: row.pipeline as PipelineName,
    version: row.version,
    at: toInstant(row.at),
    action: row.act === STORED_SET_CANARY ? 'set-canary' : (row.act as RolloutAction),
    name: row.name,
    actor: row.actor,
    reason: row.reason,
    forced: Boolean(row.forced),
    before: toLogged(row.was),
    after: toLogged(row.became),
  };
}

/** The log entry of an operation (RE-4). */
export function activationOf(
  { project, pipeline, action, actor, reason }: ChangeRollout,
  made: {
    readonly before: Rollout;
    readonly after: Rollout;
    readonly name: string;
    readonly forced: boolean;
  },
): Omit<ActivationRow, 'at' | 'forced'> & { readonly forced: boolean } {
  const { version: _, ...before } = made.before;
  const { version, ...after } = made.after;
  const { name, forced } = made;
  return {
    ...{ project, pipeline, version, name, actor, reason, forced },
    act: action === 'set-canary' ? STORED_SET_CANARY : action,
    was: fromLogged(before),
    became: fromLogged(after),
  };
}

export interface WorkerRow {
  readonly session_id: string;
  readonly announced_at: number;
  readonly proved_at: number;
  readonly every_ms: number;
  readonly room: number;
  readonly state: string;
  readonly project: string | null;
  readonly release: string | null;
  readonly pipelines: string;
}

export interface ListedWorkerRow extends WorkerRow {
  readonly owner: string | null;
  readonly ended: number | boolean;
  readonly overdue: number | boolean;
}

export function toWorker(row: ListedWorkerRow): WorkerRecord {
  return {
    session: row.session_id as SessionId,
    owner: (row.owner ?? '') as Owner,
    pipelines: JSON.parse(row.pipelines) as readonly PipelineName[],
    state: row.state as Announcement['state'],
    everyMs: row.every_ms,
    room: row.room,
    ...(row.project === null ? {} : { project: row.project as ProjectName }),
    ...(row.release === null ? {} : { release: row.release }),
    announcedAt: row.announced_at as Instant,
    provedAt: row.proved_at as Instant,
    ended: Boolean(row.ended),
    overdue: Boolean(row.overdue),
  };
}

/** Omits a release that the worker does not run. */
export function fromAnnouncement(
  announcement: Announcement,
  isRelease: boolean,
): Omit<WorkerRow, 'announced_at' | 'proved_at'> {
  return {
    session_id: announcement.session,
    every_ms: announcement.everyMs,
    room: announcement.room,
    state: announcement.state,
    project: announcement.project ?? null,
    release: isRelease ? (announcement.release?.name ?? null) : null,
    pipelines: JSON.stringify(announcement.pipelines),
  };
}
