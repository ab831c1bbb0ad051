// Bulk acts as executions: a job goes through its items page by page, remembers where it is at each page,
// and each item has one outcome, written with what was done to it (Y-23). So a job that dies goes on.

import type { EngineConfig } from '../../engine/config.ts';
import type { Context } from '../../engine/context.ts';
import { ActRefused } from '../../engine/failures.ts';
import { type AnyPipeline, pipeline } from '../../engine/pipeline.ts';
import { projectOf } from '../../engine/submission.ts';
import type { Status } from '../../execution/execution.ts';
import { type ExecutionId, type Payload, parsePipelineName } from '../../execution/names.ts';
import { type DeadLetterFilter, filterOf } from './api.ts';
import type { RedriveMode } from './plan-decide.ts';
import { type Ended, endedOf, RedriveImpossible, redriveBody, redriveOf } from './redriving-api.ts';

export const JOB_PIPELINE = 'holdfast.job';

export interface Paced {
  readonly perSecond?: number;
  readonly dryRun: boolean;
  readonly by: string;
  readonly reason: string;
}

export type JobInput =
  | (Paced & {
      readonly act: 'redrive';
      readonly mode: RedriveMode;
      readonly filter: DeadLetterFilter;
    })
  | (Paced & {
      readonly act: 'cancel';
      readonly filter: {
        readonly project?: string;
        readonly pipeline?: string;
        readonly status?: Status;
        readonly tag?: string;
      };
    });

export interface JobOutput {
  /** How many items were seen. */
  readonly seen: number;
  /** By outcome. */
  readonly outcomes: Readonly<Record<string, number>>;
}

interface JobState extends JobOutput {
  readonly before?: ExecutionId;
}

export interface PageDone {
  readonly last?: ExecutionId;
  readonly outcomes: readonly string[];
}

const PAGE = 200;
const COUNTED = 5_000;
/** Cancels at once: each is a transaction of its own. */
const LANES = 16;

/** Known to every worker. */
export function jobPipeline(config: EngineConfig): AnyPipeline {
  return pipeline<JobInput, JobOutput>({
    name: JOB_PIPELINE,
    run: (ctx, input) => runJob(config, ctx, input),
  }) as AnyPipeline;
}

function runJob(config: EngineConfig, ctx: Context, input: JobInput): Promise<JobOutput> {
  const size = Math.min(PAGE, input.perSecond ?? PAGE);
  return pageByPage(config, ctx, {
    input,
    doPage: (before) =>
      ctx.step('page', () => doPage(config, { job: ctx.id, input, size, before })),
  });
}

/** `doPage` goes on below an id, and says where it ended. */
export async function pageByPage(
  config: EngineConfig,
  ctx: Context,
  {
    input,
    doPage,
  }: {
    readonly input: Paced;
    readonly doPage: (before: ExecutionId | undefined) => Promise<PageDone>;
  },
): Promise<JobOutput> {
  let state = (ctx.restored as JobState | undefined) ?? { seen: 0, outcomes: {} };
  for (;;) {
    const done = await doPage(state.before);
    state = added(state, done);
    ctx.progress(state);
    if (done.last === undefined) {
      // A page that was repeated is counted by what stands for its items.
      return input.dryRun
        ? { seen: state.seen, outcomes: state.outcomes }
        : ctx.step('count', () => countItems(config, ctx.id));
    }
    // Behind a checkpoint it would be forgotten by whoever takes the job over meanwhile.
    if (input.perSecond !== undefined) {
      await ctx.sleep(Math.ceil((1_000 * done.outcomes.length) / input.perSecond));
    }
    await ctx.checkpoint(state);
  }
}

function added(state: JobState, { last, outcomes }: PageDone): JobState {
  const counts: Record<string, number> = { ...state.outcomes };
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return {
    seen: state.seen + outcomes.length,
    outcomes: counts,
    ...(last === undefined ? {} : { before: last }),
  };
}

async function countItems(config: EngineConfig, job: ExecutionId): Promise<JobOutput> {
  const outcomes: Record<string, number> = {};
  let seen = 0;
  for (let after: ExecutionId | undefined; ; ) {
    const query = { job, limit: COUNTED, ...(after === undefined ? {} : { after }) };
    const items = await config.store.executions.jobItems(query);
    for (const { outcome } of items) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    seen += items.length;
    after = items.at(-1)?.target;
    if (items.length < COUNTED) return { seen, outcomes };
  }
}

interface PageAsked {
  readonly job: ExecutionId;
  readonly input: JobInput;
  readonly size: number;
  readonly before: ExecutionId | undefined;
}

async function doPage(config: EngineConfig, asked: PageAsked): Promise<PageDone> {
  const own = await config.store.executions.read(asked.job);
  const { input } = asked;
  // Whatever it was submitted with, a job acts on its own project only.
  const filter = { ...input.filter, project: projectOf(own?.project) };
  return doTargets(config, { ...asked, input: { ...input, filter } as JobInput });
}

async function doTargets(config: EngineConfig, asked: PageAsked): Promise<PageDone> {
  const targets = await targetsOf(config, asked);
  const outcomes = await (asked.input.act === 'cancel'
    ? cancelAll(config, asked, targets)
    : redriveAll(config, asked, targets));
  const last = targets.length < asked.size ? undefined : targets.at(-1);
  return { outcomes, ...(last === undefined ? {} : { last }) };
}

/** Newest first, so that what comes meanwhile is not part of the job. */
async function targetsOf(
  config: EngineConfig,
  { input, size, before, job }: PageAsked,
): Promise<readonly ExecutionId[]> {
  const page = { limit: size, before: before ?? job };
  if (input.act === 'redrive') {
    const query = { ...filterOf(input.filter), ...page };
    const letters = await config.store.executions.deadLetters(query);
    return letters.map(({ execution }) => execution);
  }
  const { project, pipeline: name, status, tag } = input.filter;
  const found = await config.store.executions.list({
    project: projectOf(project),
    status: status === undefined ? ['queued', 'running', 'waiting'] : [status],
    ...(name === undefined ? {} : { pipeline: parsePipelineName(name) }),
    ...(tag === undefined ? {} : { tag }),
    ...page,
  });
  return found.map(({ id }) => id);
}

async function cancelAll(
  config: EngineConfig,
  asked: PageAsked,
  targets: readonly ExecutionId[],
): Promise<readonly string[]> {
  const { job, input } = asked;
  if (input.dryRun) return targets.map(() => 'would-cancel');
  const project = projectOf(input.filter.project);
  const body = actingOf(asked);
  const left = [...targets];
  const outcomes: string[] = [];
  const lane = async (): Promise<void> => {
    for (let id = left.shift(); id !== undefined; id = left.shift()) {
      const answer = await config.store.executions.cancel({ id, project, body, job });
      outcomes.push(answer.kind === 'refused' ? answer.why : answer.kind);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return outcomes;
}

/** What is asked for together is written together, by stores that can. */
async function redriveAll(
  config: EngineConfig,
  asked: PageAsked,
  targets: readonly ExecutionId[],
): Promise<readonly string[]> {
  const left = new Set(targets);
  const outcomes: string[] = [];
  for await (const some of endedOf(config, targets)) {
    for (const { old } of some) left.delete(old.id);
    const items = some.map((ended) => redriveItem(config, asked, { target: ended.old.id, ended }));
    outcomes.push(...(await Promise.all(items)));
  }
  const unknown = [...left].map((target) => redriveItem(config, asked, { target }));
  return [...outcomes, ...(await Promise.all(unknown))];
}

async function redriveItem(
  config: EngineConfig,
  asked: PageAsked,
  { target, ended }: { readonly target: ExecutionId; readonly ended?: Ended },
): Promise<string> {
  const { job, input } = asked;
  if (input.act !== 'redrive') return 'no-change';
  const { executions } = config.store;
  const acting = redriveBody(target, actingOf(asked));
  const project = projectOf(input.filter.project);
  try {
    const item = { id: target, project, mode: input.mode, acting, job };
    const planned = redriveOf(config, item, ended);
    if (input.dryRun) return 'would-submit';
    const answer = await executions.redrive(planned);
    return answer.kind === 'refused' ? answer.why : answer.kind;
  } catch (error) {
    if (!(error instanceof ActRefused) && !(error instanceof RedriveImpossible)) throw error;
    const outcome = error.code;
    if (!input.dryRun) await executions.noteJobItem({ job, target, outcome });
    return outcome;
  }
}

function actingOf({ job, input: { by, reason } }: PageAsked): Payload {
  return JSON.stringify({ by, reason, job }) as Payload;
}
