// Preflight of a release before its activation: its contract changes, and the open executions that
// its code would not replay (RE-10).

import type { EngineConfig, WorkerConfig } from '../../engine/config.ts';
import { type AnyPipeline, pipeline } from '../../engine/pipeline.ts';
import { dryReplay } from '../../engine/run/dry-replay.ts';
import { type Ended, runOnWorker } from '../../engine/run-on-worker.ts';
import { projectOf } from '../../engine/submission.ts';
import type { WorkerSettings } from '../../engine/worker/worker-options.ts';
import type { Status } from '../../execution/execution.ts';
import {
  type ExecutionId,
  type PipelineName,
  type ProjectName,
  parsePipelineName,
} from '../../execution/names.ts';
import type { NoSuchRelease } from '../../execution/refusal.ts';
import { parseReleaseName, REPLAY, replayName } from '../../execution/route.ts';
import { NAME_BYTES_MAX } from '../../lease/names.ts';
import type { ListPosition } from '../../store/contract/execution-reads.ts';
import { Fault } from '../../support/fault.ts';
import { integerOption, readOptions, shown, wordsIn } from '../../support/options.ts';
import { digestsOf } from './artifacts-model.ts';
import { type ContractChange, diffContracts, isBreaking } from './contract-decide.ts';
import { nameBefore } from './decide.ts';
import {
  BROKEN_MAX,
  type BrokenReplay,
  type Preflight,
  type Release,
  type ReleaseKey,
} from './model.ts';

/** Options of a preflight. */
export interface PreflightOptions {
  /** The project. Default `default`. */
  readonly project?: string;
  /**
   * How many open executions to replay, spread over all. Default all. Findings about the others are
   * kept.
   */
  readonly sample?: number;
  /** Milliseconds that workers have for each hundred executions, up to an hour. Default 30,000. */
  readonly waitMs?: number;
}

/**
 * The result of a preflight.
 *
 * - `replayed`: the preflight ran; `breaking` is true if the release breaks something.
 * - `refused`: the release does not exist, or no worker has it (`no-worker`). `name` is that of the
 *   release of `pipeline`.
 */
export type PreflightResult =
  | ({ readonly kind: 'replayed'; readonly breaking: boolean } & Omit<Preflight, 'at'>)
  | ({ readonly kind: 'refused' } & NoSuchRelease)
  | {
      readonly kind: 'refused';
      readonly why: 'no-worker';
      readonly pipeline: PipelineName;
      readonly name: string;
    };

const BATCH = 100;
const CHANGES_MAX = 1_000;
const TEXT_MAX = 1_024;

export async function preflight(
  config: EngineConfig,
  ended: Ended,
  request: { readonly pipeline: string; readonly name: string; readonly options: PreflightOptions },
): Promise<PreflightResult> {
  const options = readOptions(
    'releases.preflight',
    request.options,
    wordsIn('project sample waitMs'),
  );
  const { sample, waitMs = 30_000 } = options;
  if (sample !== undefined) integerOption('sample', sample, { min: 1, max: 10_000_000 });
  integerOption('waitMs', waitMs, { min: 1, max: 3_600_000 });
  const pipeline = parsePipelineName(request.pipeline);
  const name = parseReleaseName(request.name);
  const key = { project: projectOf(options.project), pipeline, name };
  const release = await config.store.executions.release(key);
  if (release === undefined) return { kind: 'refused', why: 'release-unknown', pipeline, name };
  const open = await openElsewhere(config, key, OPEN);
  const sampled = spread(open, sample ?? open.length);
  const broken = await replayAll(config, ended, { release, sampled, waitMs });
  if (broken === undefined) return { kind: 'refused', why: 'no-worker', pipeline, name };
  const found = {
    ...(await changesOf(config, release)),
    open: open.length,
    replayed: sampled.length,
    broken: broken.slice(0, BROKEN_MAX),
    brokenCount: broken.length,
  };
  const seen = new Set(sampled);
  const unseen = open.filter((id) => !seen.has(id));
  const noted = await config.store.executions.notePreflight({ ...key, preflight: found, unseen });
  if (noted.kind === 'refused') return noted;
  const { preflight: kept } = noted;
  const breaking = kept.brokenCount > 0 || isBreaking(kept.changes);
  return { kind: 'replayed', breaking, ...kept };
}

/** Evenly spread, so that old and new ones are among them. */
function spread(ids: readonly ExecutionId[], count: number): readonly ExecutionId[] {
  if (count >= ids.length) return ids;
  return Array.from(
    { length: count },
    (_, nth) => ids[Math.floor((nth * ids.length) / count)],
  ).filter((id) => id !== undefined);
}

async function replayAll(
  config: EngineConfig,
  ended: Ended,
  replays: {
    readonly release: Release;
    readonly sampled: readonly ExecutionId[];
    readonly waitMs: number;
  },
): Promise<readonly BrokenReplay[] | undefined> {
  const { release, sampled, waitMs } = replays;
  const { project, pipeline, name } = release;
  const digests = digestsOf(release);
  const broken: BrokenReplay[] = [];
  for (let from = 0; from < sampled.length; from += BATCH) {
    const executions = sampled.slice(from, from + BATCH);
    const request = { project, pipeline, release: name, digests, executions, waitMs };
    const found = await replayElsewhere(config, ended, request);
    if (found === undefined) return undefined;
    broken.push(...found);
  }
  return broken;
}

async function changesOf(
  config: EngineConfig,
  release: Release,
): Promise<Pick<Preflight, 'changes' | 'against'>> {
  const { executions } = config.store;
  const against = nameBefore(await executions.rollout(release));
  const before =
    against === undefined ? undefined : await executions.release({ ...release, name: against });
  if (before === undefined || against === undefined) return { changes: [] };
  return { changes: keptOf(diffContracts(before.contract, release.contract)), against };
}

/** Breaking changes first; bounded. */
function keptOf(changes: readonly ContractChange[]): readonly ContractChange[] {
  const breaking = changes.filter((each) => each.breaking);
  const others = changes.filter((each) => !each.breaking);
  const kept = changes.length <= CHANGES_MAX ? changes : [...breaking, ...others];
  return kept.slice(0, CHANGES_MAX).map(({ part, path, what, breaking: breaks }) => ({
    part: part.slice(0, TEXT_MAX),
    path: path.slice(0, TEXT_MAX),
    what: what.slice(0, TEXT_MAX),
    breaking: breaks,
  }));
}

/** Options of `releases.compare`. */
export interface CompareOptions {
  /** The project. Default `default`. */
  readonly project?: string;
  /** The release to compare with. Default: the active one, or the last that was active. */
  readonly against?: string;
}

/**
 * The result of `releases.compare`.
 *
 * - `compared`: up to 1,000 `changes` against the release `against`, with texts cut to 1,024
 *   characters; `breaking` is true if one of all changes is.
 * - `refused`: one of the releases does not exist.
 */
export type Compared =
  | {
      readonly kind: 'compared';
      readonly against?: string;
      readonly breaking: boolean;
      readonly changes: readonly ContractChange[];
    }
  | ({ readonly kind: 'refused' } & NoSuchRelease);

/** Compares only the contracts. */
export async function compare(
  { store: { executions } }: EngineConfig,
  request: { readonly pipeline: string; readonly name: string; readonly options: CompareOptions },
): Promise<Compared> {
  const options = readOptions('releases.compare', request.options, ['project', 'against']);
  const project = projectOf(options.project);
  const pipeline = parsePipelineName(request.pipeline);
  const name = parseReleaseName(request.name);
  const named =
    options.against === undefined ? undefined : parseReleaseName(options.against, 'against');
  const release = await executions.release({ project, pipeline, name });
  if (release === undefined) return unknownRelease(pipeline, name);
  const against = named ?? nameBefore(await executions.rollout({ project, pipeline }));
  if (against === undefined) return { kind: 'compared', breaking: false, changes: [] };
  const before = await executions.release({ project, pipeline, name: against });
  if (before === undefined) return unknownRelease(pipeline, against);
  const changes = diffContracts(before.contract, release.contract);
  return { kind: 'compared', against, breaking: isBreaking(changes), changes: keptOf(changes) };
}

function unknownRelease(pipeline: PipelineName, name: string): Compared {
  return { kind: 'refused', why: 'release-unknown', pipeline, name };
}

// The executions that a new release must handle: open, and pinned to another release or to none.

const PAGE = 1_000;

/** The statuses in which no worker runs the execution. */
export const IDLE: readonly Status[] = ['queued', 'waiting'];
export const OPEN: readonly Status[] = [...IDLE, 'running'];

/** Newest first. */
export async function openElsewhere(
  config: EngineConfig,
  { project, pipeline, name }: ReleaseKey,
  status: readonly Status[],
): Promise<readonly ExecutionId[]> {
  const ids: ExecutionId[] = [];
  for (let after: ListPosition | undefined; ; ) {
    const query = { project, pipeline, status, limit: PAGE, ...(after && { after }) };
    const { items, next } = await config.store.executions.list(query);
    for (const { id, release } of items) if (release !== name) ids.push(id);
    if (next === undefined) return ids;
    after = next;
  }
}

// The worker's side of a preflight. Workers of a release replay open executions with its code, in
// short executions that only they can claim. A coordinator has no code to run.

interface ReplayInput {
  readonly executions: readonly ExecutionId[];
}

interface Replayed {
  /** The digest of the artifact that replayed them. */
  readonly digest: string;
  readonly broken: readonly BrokenReplay[];
}

export function isReplayName(name: string): boolean {
  return name.startsWith(`${REPLAY}/`);
}

export function replayPipelines(
  config: WorkerConfig,
  { pipelines, release }: Pick<WorkerSettings, 'pipelines' | 'release'>,
): readonly AnyPipeline[] {
  if (release === undefined) return [];
  return [...pipelines.values()].flatMap((code) => {
    const name = replayName(release.name, code.name);
    if (Buffer.byteLength(name) > NAME_BYTES_MAX) return [];
    const made = pipeline<ReplayInput, Replayed>({
      name,
      run: (ctx, { executions }) =>
        ctx.step('replay', async ({ signal: over }) => {
          const replays = executions.map((id) => dryReplay(config, code, { id, over }));
          const found = await Promise.all(replays);
          return { digest: release.digest, broken: found.flatMap((each) => each ?? []) };
        }),
    });
    return [made as AnyPipeline];
  });
}

interface ReplayRequest {
  readonly project: ProjectName;
  readonly pipeline: PipelineName;
  readonly release: string;
  /** The digests of the release's artifacts. */
  readonly digests: readonly string[];
  readonly executions: readonly ExecutionId[];
  /** The time for a worker to claim the replay and finish it. */
  readonly waitMs: number;
}

/** Undefined when no worker finished in time. */
export async function replayElsewhere(
  config: EngineConfig,
  ended: Ended,
  replay: ReplayRequest,
): Promise<readonly BrokenReplay[] | undefined> {
  const { project, executions, waitMs } = replay;
  const pipeline = replayName(replay.release, replay.pipeline);
  const request = { pipeline, project, input: { executions }, tag: REPLAY, waitMs };
  const { outcome } = await runOnWorker(config, ended, request);
  if (outcome?.status !== 'completed') return undefined;
  return brokenIn(config, outcome.event.body ?? '{}', replay);
}

async function brokenIn(
  config: EngineConfig,
  body: string,
  replay: ReplayRequest,
): Promise<readonly BrokenReplay[]> {
  const { out = {} } = JSON.parse(body) as { readonly out?: object };
  const replayed = await config.payloads.of(replay.project).decodeEnvelope(out);
  const broken = brokenReplays(replayed, replay);
  if (broken !== undefined) return broken;
  throw new Fault(
    'release-differs',
    `The worker that replayed for release "${replay.release}" has another digest (${shown((replayed as Partial<Replayed> | null)?.digest)}) than the registered one. Nothing was changed. Stop it, or register its build under a name of its own.`,
  );
}

/** Undefined if another artifact replayed them. */
export function brokenReplays(
  output: unknown,
  { digests, executions }: Pick<ReplayRequest, 'digests' | 'executions'>,
): readonly BrokenReplay[] | undefined {
  const replayed = output as Partial<Replayed> | null;
  const isKnown = digests.includes(replayed?.digest ?? '');
  return isKnown ? brokenOf(replayed?.broken, executions) : undefined;
}

const WHY_CHARS_MAX = 4_096;
const RELEASE_CHARS_MAX = 128;

/**
 * Any worker with the role can send this, and the release keeps it for people to read. So check and
 * bound every field.
 */
function brokenOf(reported: unknown, expected: readonly ExecutionId[]): readonly BrokenReplay[] {
  const list: readonly unknown[] = Array.isArray(reported) ? reported : [];
  return list.slice(0, expected.length).flatMap((each) => {
    const { execution, release, seq, why } = (each ?? {}) as Partial<BrokenReplay>;
    if (execution === undefined || !expected.includes(execution) || typeof why !== 'string')
      return [];
    return {
      execution,
      why: why.slice(0, WHY_CHARS_MAX),
      ...(typeof release === 'string' ? { release: release.slice(0, RELEASE_CHARS_MAX) } : {}),
      ...(Number.isSafeInteger(seq) ? { seq } : {}),
    } as BrokenReplay;
  });
}
