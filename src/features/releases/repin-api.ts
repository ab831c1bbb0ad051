// Repins one execution to another release. A worker of that release first replays the history. If
// the execution records more events meanwhile, the store refuses the repin (RE-8).

import type { EngineConfig } from '../../engine/config.ts';
import type { Context } from '../../engine/context.ts';
import { ReleaseRefused } from '../../engine/failures.ts';
import type { OperationOptions } from '../../engine/holdfast.ts';
import { requireId } from '../../engine/named.ts';
import { type AnyPipeline, pipeline } from '../../engine/pipeline.ts';
import { commandOf } from '../../engine/requests.ts';
import type { Ended } from '../../engine/run-on-worker.ts';
import { projectOf } from '../../engine/submission.ts';
import { type ExecutionRecord, isTerminal } from '../../execution/execution.ts';
import {
  type ExecutionId,
  type Payload,
  type ProjectName,
  parsePipelineName,
  parseProject,
} from '../../execution/names.ts';
import { parseReleaseName, REPLAY, replayName } from '../../execution/route.ts';
import { NAME_BYTES_MAX } from '../../lease/names.ts';
import { InvalidInput } from '../../support/fault.ts';
import {
  boundedText,
  integerOption,
  optionalBooleans,
  present,
  readOptions,
} from '../../support/options.ts';
import { inLanes } from '../../support/turns.ts';
import { checkedOperation, OPERATION_OPTIONS, stampOf } from '../audit/api.ts';
import { beginIn, inJobTurn, type JobTurn, LIST_WEIGHT } from '../repair/job-limits-api.ts';
import {
  type BulkOptions,
  type JobInput,
  type JobOutput,
  type Paced,
  type PageDone,
  pageByPage,
  turnOf,
} from '../repair/jobs-api.ts';
import { digestsOf } from './artifacts-model.ts';
import type { Release, RepinRefusal } from './model.ts';
import type { ExecutionRepinned, RepinExecution } from './port.ts';
import { brokenReplays, OPEN, replayElsewhere } from './preflight-api.ts';

/** Options of a repin. */
export interface RepinOptions extends OperationOptions {
  /**
   * Only if it is pinned to this release; null: only if it is pinned to none. By default from any.
   */
  readonly from?: string | null;
  /** True: repin it without a replay. Needs `reason`. Default false. */
  readonly force?: boolean;
  /** Milliseconds that a worker has to replay it, up to an hour. Default 30,000. */
  readonly waitMs?: number;
}

type Refusal = { readonly kind: 'refused' } & RepinRefusal;

export async function repin(
  config: EngineConfig,
  ended: Ended,
  target: { readonly id: string; readonly to: string; readonly options: RepinOptions },
): Promise<ExecutionRepinned> {
  const names = [...OPERATION_OPTIONS, 'from', 'force', 'waitMs'];
  const given = readOptions('releases.repin', target.options, names);
  const { from, force = false, waitMs = 30_000, ...operation } = given;
  optionalBooleans('releases.repin', { force: given.force });
  integerOption('waitMs', waitMs, { min: 1, max: 3_600_000 });
  const to = parseReleaseName(target.to);
  const { project, body } = commandOf('releases.repin', target.id, operation);
  const request: RepinExecution = {
    ...{ id: await requireId(config, target.id, operation.project), project, body, to },
    ...(from === undefined ? {} : { from: from === null ? null : parseReleaseName(from, 'from') }),
    audit: stampOf(config, 'repin', operation),
  };
  if (force) {
    return checkedOperation(operation).reason === ''
      ? { kind: 'refused', why: 'force-without-reason' }
      : config.store.executions.repinExecution(request);
  }
  const seq = await fitUntil(config, ended, { request, waitMs });
  if (typeof seq === 'object') return seq;
  return config.store.executions.repinExecution({ ...request, ...present({ seq }) });
}

/** The seq up to which the history fits. Undefined if the store itself gives the result. */
async function fitUntil(
  config: EngineConfig,
  ended: Ended,
  { request, waitMs }: { readonly request: RepinExecution; readonly waitMs: number },
): Promise<number | undefined | Refusal> {
  const { executions } = config.store;
  const { id, project, to: name } = request;
  const seen = await executions.read(id);
  if (seen === undefined || seen.project !== project || seen.release === name) return undefined;
  if (isTerminal(seen.status) || seen.status === 'running') return undefined;
  const { pipeline, seq } = seen;
  const release = await executions.release({ project, pipeline, name });
  if (release === undefined || release.retiredAt !== undefined) return undefined;
  const digests = digestsOf(release);
  const about = { project, pipeline, release: name, digests, executions: [id], waitMs };
  const found = await replayElsewhere(config, ended, about);
  if (found === undefined) return { kind: 'refused', why: 'repin-unchecked', id, name };
  const [broken] = found;
  return broken === undefined ? seq : breaking(id, name, broken.why);
}

function breaking(id: ExecutionId, name: string, because: string): Refusal {
  return { kind: 'refused', why: 'repin-breaks', id, name, because };
}

// Checks the arguments of a bulk repin: the executions, and a release that they can go to.

export type AnyJobInput = JobInput | RepinJobInput;

/** Options of a job that repins many executions. */
export interface BulkRepinOptions extends BulkOptions {
  /** Executions of `pipeline` in `project` that are pinned to `release`; null is none. */
  readonly filter: {
    readonly project?: string;
    readonly pipeline: string;
    /** What they are pinned to; null is nothing. */
    readonly release: string | null;
  };
  /** The release to pin them to. */
  readonly to: string;
}

/** Throws ReleaseRefused if no job could repin anything. */
export async function repinTarget(
  { store }: EngineConfig,
  given: BulkRepinOptions,
): Promise<Pick<RepinJobInput, 'filter' | 'to'> & { readonly project: ProjectName }> {
  const { filter, to: name } = filterOf(given);
  optionalBooleans('bulk.repin', { dryRun: given.dryRun });
  if (given.key !== undefined) boundedText('key', given.key, NAME_BYTES_MAX);
  const project = projectOf(filter.project);
  const pipeline = parsePipelineName(filter.pipeline);
  const release = await store.executions.release({ project, pipeline, name });
  if (release === undefined) throw new ReleaseRefused({ why: 'release-unknown', pipeline, name });
  if (release.retiredAt !== undefined) {
    throw new ReleaseRefused({ why: 'release-retired', pipeline, name });
  }
  return { filter, to: name, project };
}

function filterOf(given: BulkRepinOptions): Pick<RepinJobInput, 'filter' | 'to'> {
  const names = ['project', 'pipeline', 'release'] as const;
  const filter = readOptions('bulk.repin filter', given.filter, names);
  const { project, release } = filter;
  if (project !== undefined) parseProject(project);
  const to = parseReleaseName(given.to, 'to');
  if (release === to) {
    throw new InvalidInput(
      `bulk.repin: to and filter.release are both "${to}", so there is nothing to do. Pass another release as to.`,
    );
  }
  return {
    filter: {
      ...present({ project }),
      pipeline: parsePipelineName(filter.pipeline),
      release: release === null ? null : parseReleaseName(release, 'filter.release'),
    },
    to,
  };
}

// A job that repins all executions of a release, page by page (Y-23). A worker of the new release
// first replays each page (RE-8). The replay is a child of the job. While no worker has the
// release, the job waits without occupying a worker, and `explain` names the missing release.

/**
 * A pipeline of its own, so that builds without this operation do not claim it. Stored jobs have this
 * name, its input and its step names, so they keep the word `move`.
 */
export const REPIN_PIPELINE = 'holdfast.move';

interface RepinJobInput extends Paced {
  readonly act: 'move';
  readonly filter: {
    readonly project?: string;
    readonly pipeline: string;
    /** The release that they are pinned to; null means none. */
    readonly release: string | null;
  };
  readonly to: string;
}

type Target = Pick<ExecutionRecord, 'id' | 'seq' | 'status'>;

interface TargetPage {
  readonly targets: readonly Target[];
  readonly last?: ExecutionId;
  /** The digest of the target release, or the reason why there is none. */
  readonly digest?: string;
  /** The digests of its further artifacts, if it has any. */
  readonly others?: readonly string[];
  readonly missing?: 'release-unknown' | 'release-retired';
}

/** The known reason against a target; most have none. */
type Against = ReadonlyMap<ExecutionId, string>;

interface Repinning {
  readonly job: ExecutionId;
  readonly input: RepinJobInput;
}

interface RepinTurn extends Repinning {
  readonly turn: JobTurn;
}

/** As many as one worker replays at once. */
const PAGE = 100;
const SCANNED = 1_000;
/** Concurrent repins; each is a transaction of its own. */
const LANES = 16;

/** Every worker with a store of its own runs it. */
export function repinJobPipeline(config: EngineConfig): AnyPipeline {
  return pipeline<RepinJobInput, JobOutput>({
    name: REPIN_PIPELINE,
    run: (ctx, input) =>
      pageByPage(config, ctx, {
        input,
        doPage: (before) => repinPage(config, ctx, { input, before }),
      }),
  }) as AnyPipeline;
}

async function repinPage(
  config: EngineConfig,
  ctx: Context,
  { input, before }: { readonly input: RepinJobInput; readonly before: ExecutionId | undefined },
): Promise<PageDone> {
  const repinning = { job: ctx.id, input };
  const page = await ctx.step('look', async ({ signal }) => {
    const turn = await turnOf(config, ctx.id, signal);
    return inJobTurn(turn, () => nextTargets(config, { ...repinning, turn }, before));
  });
  const { targets, last } = page;
  const against = await againstThem(ctx, input, page);
  const outcomes = await ctx.step('move', async ({ signal }) => {
    const turn = await turnOf(config, ctx.id, signal);
    return inJobTurn(turn, () => repinAll(config, { ...repinning, turn }, { targets, against }));
  });
  return { outcomes, ...present({ last }) };
}

/** Newest first, so that later executions are not part of the job. */
async function nextTargets(
  config: EngineConfig,
  { job, input, turn }: RepinTurn,
  before: ExecutionId = job,
): Promise<TargetPage> {
  const { executions } = config.store;
  const { project } = turn;
  const name = parsePipelineName(input.filter.pipeline);
  const release = await executions.release({ project, pipeline: name, name: input.to });
  const size = Math.min(PAGE, input.perSecond ?? PAGE);
  const about = standingOf(release);
  for (let below = before; ; ) {
    const query = { project, pipeline: name, status: OPEN, limit: SCANNED, before: below };
    await beginIn(turn, LIST_WEIGHT);
    const { items, next } = await executions.list(query);
    const own = items.filter((each) => (each.release ?? null) === input.filter.release);
    const targets = own.slice(0, size).map(({ id, seq, status }) => ({ id, seq, status }));
    const last = targets.length < own.length ? targets.at(-1)?.id : next?.id;
    if (targets.length > 0 || last === undefined) {
      return { targets, ...about, ...present({ last }) };
    }
    below = last;
  }
}

function standingOf(
  release: Pick<Release, 'digest' | 'artifacts' | 'retiredAt'> | undefined,
): Pick<TargetPage, 'digest' | 'others' | 'missing'> {
  if (release === undefined) return { missing: 'release-unknown' };
  if (release.retiredAt !== undefined) return { missing: 'release-retired' };
  const [digest, ...others] = digestsOf(release);
  return { ...present({ digest }), ...(others.length > 0 && { others }) };
}

async function againstThem(
  ctx: Context,
  { filter, to }: RepinJobInput,
  { targets, digest, others = [], missing }: TargetPage,
): Promise<Against> {
  const executions = targets.map(({ id }) => id);
  if (executions.length === 0) return new Map();
  if (digest === undefined) return forAll(executions, missing ?? 'release-unknown');
  const name = replayName(parseReleaseName(to), parsePipelineName(filter.pipeline));
  const replays = await ctx.fanOut(name, [{ executions }], { name: 'replay', tags: [REPLAY] });
  const [outcome] = await replays.outcomes();
  const replayed = outcome?.status === 'completed' ? outcome.output : null;
  const broken = brokenReplays(replayed, { digests: [digest, ...others], executions });
  if (broken === undefined) return forAll(executions, 'repin-unchecked');
  return forAll(
    broken.map(({ execution }) => execution),
    'repin-breaks',
  );
}

function forAll(ids: readonly ExecutionId[], outcome: string): Against {
  return new Map(ids.map((id) => [id, outcome]));
}

async function repinAll(
  config: EngineConfig,
  repinning: RepinTurn,
  { targets, against }: { readonly targets: readonly Target[]; readonly against: Against },
): Promise<readonly string[]> {
  const { project, limits } = repinning.turn;
  return inLanes(targets, limits.lanes ?? LANES, async (target) => {
    await beginIn(repinning.turn);
    return repinOne(config, repinning, { target, why: against.get(target.id), project });
  });
}

async function repinOne(
  { store: { executions } }: EngineConfig,
  { job, input }: Repinning,
  of: {
    readonly target: Target;
    readonly why: string | undefined;
    readonly project: ReturnType<typeof projectOf>;
  },
): Promise<string> {
  const { id, seq, status } = of.target;
  const { dryRun, to, filter, by, reason } = input;
  if (dryRun) return of.why ?? (status === 'running' ? 'repin-while-running' : 'would-repin');
  if (of.why !== undefined) {
    await executions.noteJobItem({ job, target: id, outcome: of.why });
    return of.why;
  }
  const body = JSON.stringify({ by, reason, job }) as Payload;
  const request = { id, project: of.project, to, from: filter.release, seq, body, job };
  const result = await executions.repinExecution(request);
  return result.kind === 'refused' ? result.why : result.kind;
}
