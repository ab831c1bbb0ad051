// Bulk operations as executions. A job processes its items page by page and saves its position at
// each page. Each item has one outcome, written together with its change (Y-23). So another worker
// can continue a job after a crash.

import type { EngineConfig } from '../../engine/config.ts';
import type { Context } from '../../engine/context.ts';
import { OperationRefused } from '../../engine/failures.ts';
import type { ExecutionFilter, OperationOptions } from '../../engine/holdfast.ts';
import { type AnyPipeline, pipeline } from '../../engine/pipeline.ts';
import { listQueryOf } from '../../engine/requests.ts';
import { projectOf } from '../../engine/submission.ts';
import { inputOf } from '../../engine/values/place.ts';
import { type ExecutionRecord, isTerminal, type Status } from '../../execution/execution.ts';
import type { HistoryEvent } from '../../execution/history.ts';
import {
  type ExecutionId,
  OWN_PREFIX,
  type Payload,
  type ProjectName,
  parsePipelineName,
} from '../../execution/names.ts';
import { historyPages } from '../../store/contract/body-pages.ts';
import type { Instant } from '../../support/clock.ts';
import { Fault, InvalidInput } from '../../support/fault.ts';
import { boundedText, present, shown } from '../../support/options.ts';
import { inLanes, weightOfBytes } from '../../support/turns.ts';
import type { Audited } from '../audit/model.ts';
import { requireInput } from '../releases/input-api.ts';
import { planRedrive, type RedriveMode } from './decide.ts';
import { beginIn, inJobTurn, type JobTurn, LIST_WEIGHT } from './job-limits-api.ts';
import type { ListDeadLetters, Redrive, RedriveResult } from './port.ts';

export const JOB_PIPELINE = 'holdfast.job';

/** Options of every bulk job. */
export interface BulkOptions extends Omit<OperationOptions, 'project'> {
  /** The most items per second. By default there is no limit. */
  readonly perSecond?: number;
  /** True: count the items and change nothing. Default false. */
  readonly dryRun?: boolean;
  /** Makes the submission idempotent: the same key returns the same job. */
  readonly key?: string;
}

/** The option of jobs that act on what a person has seen counted. */
export interface CountedBy {
  /**
   * The id of a dry run: the job takes only items that existed when the dry run was submitted.
   * Default: items that exist when the job itself is submitted.
   */
  readonly countedBy?: string;
}

/** Where a dry run began. Items above its id, or of a later time, are not part of the job. */
export interface JobStart {
  readonly id: ExecutionId;
  readonly asOf?: Instant;
}

/** Part of a stored job input, so its field names stay: `by` is the actor, `act` the action. */
export interface Paced {
  readonly perSecond?: number;
  readonly dryRun: boolean;
  readonly by: string;
  readonly reason: string;
}

export type JobInput =
  | (Paced & {
      readonly act: 'redrive';
      readonly counted?: JobStart;
      readonly mode: RedriveMode;
      readonly filter: RedriveFilter;
    })
  | (Paced & {
      readonly act: 'cancel';
      readonly counted?: JobStart;
      readonly filter: ExecutionFilter;
    });

/** The result of a bulk job. */
export interface JobOutput {
  /** How many items the job has seen. */
  readonly seen: number;
  /** How many items had each outcome. */
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
const COUNTED = 1_000;
/** Concurrent cancels; each is a transaction of its own. */
const LANES = 16;

/** Every worker with a store of its own runs it. */
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
      ctx.step('page', async ({ signal }) => {
        const turn = await turnOf(config, ctx.id, signal);
        return doPage(config, { job: ctx.id, input, size, before, turn });
      }),
  });
}

/** A job acts only on its own project, whatever its input names. */
export async function turnOf(
  { store, jobLimits: limits }: EngineConfig,
  job: ExecutionId,
  signal: AbortSignal,
): Promise<JobTurn> {
  const record = await store.executions.read(job);
  const project = projectOf(record?.project);
  return { project, limits, signal, ...present({ submittedAt: record?.submittedAt }) };
}

/** `doPage` continues below an id and returns its last one. */
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
      // Count the stored items, because a repeated page would count twice.
      return input.dryRun
        ? { seen: state.seen, outcomes: state.outcomes }
        : ctx.step('count', async ({ signal }) => {
            const turn = await turnOf(config, ctx.id, signal);
            return inJobTurn(turn, () => countItems(config, ctx.id, turn));
          });
    }
    // Sleep before the checkpoint: a worker that takes over restarts after the checkpoint and would
    // skip the sleep.
    if (input.perSecond !== undefined) {
      await ctx.sleep(Math.ceil((1_000 * done.outcomes.length) / input.perSecond));
    }
    await ctx.checkpoint(state);
  }
}

function added(state: JobState, { last, outcomes }: PageDone): JobState {
  const counts: Record<string, number> = { ...state.outcomes };
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return { seen: state.seen + outcomes.length, outcomes: counts, ...present({ before: last }) };
}

async function countItems(
  config: EngineConfig,
  job: ExecutionId,
  turn: JobTurn,
): Promise<JobOutput> {
  const outcomes: Record<string, number> = {};
  let seen = 0;
  for (let after: ExecutionId | undefined; ; ) {
    await beginIn(turn, LIST_WEIGHT);
    const query = { job, limit: COUNTED, ...(after === undefined ? {} : { after }) };
    const items = await config.store.executions.jobItems(query);
    for (const { outcome } of items) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    seen += items.length;
    after = items.at(-1)?.target;
    if (items.length < COUNTED) return { seen, outcomes };
  }
}

interface PageRequest {
  readonly job: ExecutionId;
  readonly input: JobInput;
  readonly size: number;
  readonly before: ExecutionId | undefined;
  readonly turn: JobTurn;
}

function doPage(config: EngineConfig, request: PageRequest): Promise<PageDone> {
  const { input, turn } = request;
  const filter = { ...input.filter, project: turn.project };
  const own = { ...request, input: { ...input, filter } as JobInput };
  return inJobTurn(turn, () => doTargets(config, own));
}

async function doTargets(config: EngineConfig, request: PageRequest): Promise<PageDone> {
  const { targets, last } = await targetsOf(config, request);
  const outcomes = await (request.input.act === 'cancel'
    ? cancelAll(config, request, targets)
    : redriveAll(config, request, targets));
  return { outcomes, ...present({ last }) };
}

interface TargetPage {
  readonly targets: readonly ExecutionId[];
  /** The id down to which the page has looked. Absent on the last page. */
  readonly last?: ExecutionId;
}

const OPEN: readonly Status[] = ['queued', 'running', 'waiting'];
const DEAD: readonly Status[] = ['failed', 'quarantined'];

/** Newest first, so that later executions are not part of the job. */
async function targetsOf(
  { store: { executions } }: EngineConfig,
  { input, size, before, job, turn }: PageRequest,
): Promise<TargetPage> {
  await beginIn(turn, LIST_WEIGHT);
  const { act, filter, dryRun } = input;
  const { submittedAt } = turn;
  const own: JobStart = { id: job, ...(dryRun && present({ asOf: submittedAt })) };
  const { id, asOf } = input.counted ?? own;
  if (act === 'redrive' && isOfDeadLetters(filter)) {
    const query = { ...filterOf(filter), limit: size, before: before ?? id, ...present({ asOf }) };
    const targets = (await executions.deadLetters(query)).map(({ execution }) => execution);
    return { targets, ...present({ last: targets.length < size ? undefined : targets.at(-1) }) };
  }
  const { ids, next } = await executions.find({
    status: act === 'redrive' ? DEAD : OPEN,
    ...listQueryOf({ ...filter, limit: size }),
    ...present({ asOf }),
    sort: 'newest',
    after: { id: before ?? id },
  });
  return { targets: ids, ...(next && { last: next.id }) };
}

async function cancelAll(
  config: EngineConfig,
  request: PageRequest,
  targets: readonly ExecutionId[],
): Promise<readonly string[]> {
  const { job, input, turn } = request;
  if (input.dryRun) return targets.map(() => 'would-cancel');
  const project = projectOf(input.filter.project);
  const body = bodyOf(request);
  return inLanes(targets, turn.limits.lanes ?? LANES, async (id) => {
    await beginIn(turn);
    const result = await config.store.executions.cancel({ id, project, body, job });
    return result.kind === 'refused' ? result.why : result.kind;
  });
}

/** Without a limit, all start at once, because some stores write requests together. */
async function redriveAll(
  config: EngineConfig,
  request: PageRequest,
  targets: readonly ExecutionId[],
): Promise<readonly string[]> {
  const { turn } = request;
  const { lanes = targets.length } = turn.limits;
  const left = new Set(targets);
  const outcomes: string[] = [];
  for await (const some of endedOf(config, targets)) {
    for (const { old } of some) left.delete(old.id);
    // The size of the histories shows only after they are read.
    await beginIn(turn, LIST_WEIGHT + weightOfBytes(charsOf(some)));
    const items = await inLanes(some, lanes, (ended) =>
      redriveItem(config, request, { target: ended.old.id, ended }),
    );
    outcomes.push(...items);
  }
  const unknown = await inLanes([...left], lanes, (target) =>
    redriveItem(config, request, { target }),
  );
  return [...outcomes, ...unknown];
}

function charsOf(some: readonly Ended[]): number {
  let chars = 0;
  for (const { history } of some) {
    if (history === 'too-large') chars += CHARS_MAX;
    else for (const event of history) chars += bodyChars(event);
  }
  return chars;
}

async function redriveItem(
  config: EngineConfig,
  request: PageRequest,
  { target, ended }: { readonly target: ExecutionId; readonly ended?: Ended },
): Promise<string> {
  const { job, input, turn } = request;
  if (input.act !== 'redrive') return 'no-change';
  await beginIn(turn);
  const { executions } = config.store;
  const operation = redriveBody(target, bodyOf(request));
  const project = projectOf(input.filter.project);
  try {
    const item = { id: target, project, mode: input.mode, operation, job };
    const planned = redriveOf(config, item, ended);
    if (input.dryRun) return 'would-submit';
    const result = await executions.redrive(planned);
    return result.kind === 'refused' ? result.why : result.kind;
  } catch (error) {
    if (!(error instanceof OperationRefused) && !(error instanceof RedriveImpossible)) throw error;
    const outcome = error.code;
    if (!input.dryRun) await executions.noteJobItem({ job, target, outcome });
    return outcome;
  }
}

function bodyOf({ job, input: { by, reason } }: PageRequest): Payload {
  return JSON.stringify({ by, reason, job }) as Payload;
}

// Re-drives an ended execution as a new one that reuses the finished steps (Y-20 … Y-22).

export function modeOf(mode: unknown): RedriveMode {
  if (mode === undefined || mode === 'forward') return 'forward';
  if (mode === 'compensate') return mode;
  throw new InvalidInput(`mode must be "forward" or "compensate"; got ${shown(mode)}.`);
}

interface RedriveRequest extends Audited {
  readonly id: ExecutionId;
  readonly project: ProjectName;
  readonly mode: RedriveMode;
  readonly from?: string;
  /** The release of the new execution. Default: the rollout decides. */
  readonly release?: string;
  /** The actor and the reason, for the new execution's `submitted` event. */
  readonly operation: Payload;
  readonly job?: ExecutionId;
}

/** The execution's history does not allow this re-drive. Nothing was written. */
export class RedriveImpossible extends Fault {
  override readonly name = 'RedriveImpossible';

  constructor(id: ExecutionId, why: string) {
    super('redrive-impossible', `Execution ${id} cannot be re-driven. Nothing was written. ${why}`);
  }
}

/** The execution to re-drive, and its history. */
interface Ended {
  readonly old: ExecutionRecord;
  readonly history: readonly HistoryEvent[] | 'too-large';
}

/** With an `input`, the new execution gets that one in place of the old execution's. */
export async function redriveEnded(
  config: EngineConfig,
  request: RedriveRequest,
  input: unknown,
): Promise<RedriveResult> {
  const { executions } = config.store;
  const old = await executions.read(request.id);
  const ended = old && { old, history: await fullHistory(config, old.id) };
  const redrive = redriveOf(config, request, ended);
  if (old === undefined || input === undefined) return executions.redrive(redrive);
  return executions.redrive({ ...redrive, submit: await edited(config, redrive.submit, input) });
}

/**
 * The template stays with the old execution: it does not describe the edited input. The lineage owns
 * the input as it owns the reused results (Y-26).
 */
async function edited(
  config: EngineConfig,
  { template: _, ...submit }: Redrive['submit'],
  input: unknown,
): Promise<Redrive['submit']> {
  const { project, pipeline: name, lineage, redriveOf: of } = submit;
  if (name.startsWith(OWN_PREFIX) && of !== undefined) {
    const why = `Its pipeline "${name}" belongs to the engine, so its input cannot be edited. Leave out the input.`;
    throw new RedriveImpossible(of, why);
  }
  const target = { project, pipeline: name, ...present({ release: submit.release }) };
  await requireInput(config.store.executions, target, input);
  const payloads = config.payloads.of(project);
  const payload = await payloads.encode(`The input of "${name}"`, input, inputOf(lineage));
  return { ...submit, input: payload };
}

/** Builds the request to the store; throws if a re-drive is impossible. */
function redriveOf(
  config: EngineConfig,
  request: RedriveRequest,
  ended: Ended | undefined,
): Redrive {
  const { id, project, mode, from, operation, job, audit, release } = request;
  if (ended === undefined || ended.old.project !== project) {
    throw new OperationRefused({ why: 'execution-unknown', id });
  }
  const { old, history } = ended;
  // The history of an open execution can grow until the store checks that it has ended.
  if (!isTerminal(old.status)) {
    throw new OperationRefused({ why: 'not-ended', id, status: old.status });
  }
  if (old.erased !== undefined) {
    const { at, by } = old.erased;
    throw new OperationRefused({ why: 'execution-erased', id, at, by });
  }
  if (history === 'too-large') {
    const why = `Its history has more than ${CHARS_MAX} characters. Submit the work again instead.`;
    throw new RedriveImpossible(id, why);
  }
  const plan = planRedrive(history, { id, mode, ...present({ from }) });
  if (plan.kind === 'impossible') throw new RedriveImpossible(id, plan.why);
  return {
    of: id,
    project,
    submit: {
      ...submitAgain(old, config.ids.next(), operation),
      ...present({ release, attributes: plan.attributes }),
    },
    events: plan.events,
    compensating: mode === 'compensate',
    compensable: plan.compensable,
    ...present({ job, audit }),
  };
}

/** The old submission without its key and its parent, which the old execution keeps. */
function submitAgain(old: ExecutionRecord, id: ExecutionId, operation: Payload): Redrive['submit'] {
  const { project, pipeline, lane, input, lineage, tags, attributes } = old;
  const { deadlineMs, concurrency, rate, template, submittedBy, scheduled, traceparent } = old;
  return {
    ...{ id, project, pipeline, lane, input, lineage, tags, attributes },
    redriveOf: old.id,
    body: operation,
    ...present({ lineageKey: old.key ?? old.lineageKey }),
    ...present({ deadlineMs, concurrency, rate, template, submittedBy, scheduled, traceparent }),
  };
}

/** Bounds the histories in memory, because they can be long. */
const EVENTS_MAX = 5_000;
const BYTES_MAX = 16 * 1024 * 1024;
/** The limit for a single history, which is read in pages. */
const CHARS_MAX = 64 * 1024 * 1024;

/** Reads many histories with few queries, in batches that fit into memory. */
async function* endedOf(
  config: EngineConfig,
  ids: readonly ExecutionId[],
): AsyncGenerator<readonly Ended[], void, void> {
  for (let left = await config.store.executions.readMany(ids); left.length > 0; ) {
    const some = await withHistories(config, fewOf(left));
    yield some;
    left = left.slice(some.length);
  }
}

/** Returns at least one. */
function fewOf(left: readonly ExecutionRecord[]): readonly ExecutionRecord[] {
  let events = 0;
  const end = left.findIndex(({ seq }, nth) => {
    events += seq;
    return nth > 0 && events > EVENTS_MAX;
  });
  return end < 0 ? left : left.slice(0, end);
}

/** As many of the first as fit, at least one. */
async function withHistories(
  config: EngineConfig,
  some: readonly ExecutionRecord[],
): Promise<readonly Ended[]> {
  const query = { ids: some.map(({ id }) => id), bytesMax: BYTES_MAX };
  const found = await config.store.executions.histories(query);
  const histories = new Map(found.map(({ id, events }) => [id, events]));
  const end = some.findLastIndex(({ id }) => histories.has(id)) + 1;
  const [first] = some;
  if (first !== undefined && end === 0) {
    return [{ old: first, history: await fullHistory(config, first.id) }];
  }
  return some.slice(0, end).map((old) => ({ old, history: histories.get(old.id) ?? [] }));
}

async function fullHistory(config: EngineConfig, id: ExecutionId): Promise<Ended['history']> {
  const { executions } = config.store;
  const events: HistoryEvent[] = [];
  let chars = 0;
  for await (const page of historyPages(executions, { id })) {
    for (const event of page) {
      chars += bodyChars(event);
      events.push(event);
    }
    if (chars > CHARS_MAX) return 'too-large';
  }
  return events;
}

function bodyChars({ body = '' }: { readonly body?: string }): number {
  return body.length;
}

/** The body of a re-drive's `submitted` event. */
export function redriveBody(of: ExecutionId, operation: Payload, more: object = {}): Payload {
  return JSON.stringify({
    ...{ redriveOf: of, ...(JSON.parse(operation) as object) },
    ...more,
  }) as Payload;
}

// Checks a filter of dead letters and turns it into a query.

/** Selects dead letters. All filters must match. */
export interface DeadLetterFilter {
  /** The project. Default `default`. */
  readonly project?: string;
  /** The name of the pipeline. */
  readonly pipeline?: string;
  /** The code of the failure. */
  readonly code?: string;
  /** The call that failed. */
  readonly step?: string;
  /** True: only those that were not re-driven. False: only those that were. By default both. */
  readonly open?: boolean;
}

/** A filter of dead letters, or of executions that failed or were quarantined. */
export type RedriveFilter = DeadLetterFilter | ExecutionFilter;

export const LETTER_FILTERS: readonly string[] = ['project', 'pipeline', 'code', 'step', 'open'];

export function isOfDeadLetters(filter: RedriveFilter): filter is DeadLetterFilter {
  return Object.keys(filter).every((name) => LETTER_FILTERS.includes(name));
}

export function filterOf(filter: DeadLetterFilter): Omit<ListDeadLetters, 'limit' | 'before'> {
  const { project, pipeline, code, step, open } = filter;
  return {
    project: projectOf(project),
    ...(pipeline === undefined ? {} : { pipeline: parsePipelineName(pipeline) }),
    ...(code === undefined ? {} : { code: boundedText('code', code, 256) }),
    ...(step === undefined ? {} : { step: boundedText('step', step, 512) }),
    ...(open === undefined ? {} : { open }),
  };
}
