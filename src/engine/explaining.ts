// Reads everything that the store knows about an execution and explains why it does not progress.

import type { ExecutionRecord, Status } from '../execution/execution.ts';
import { isTerminal } from '../execution/execution.ts';
import {
  cancelEvent,
  type ExplainCode,
  type ExplainFacts,
  type Explanation,
  explain,
} from '../execution/explain.ts';
import { type HistoryEventKind, parseBody } from '../execution/history.ts';
import type { ExecutionId } from '../execution/names.ts';
import { leaseWaitOf } from '../features/leases/waits-api.ts';
import { eventsBefore, messagesBefore } from '../store/contract/body-pages.ts';
import { present } from '../support/options.ts';
import type { EngineConfig } from './config.ts';
import { possibleWorkers } from './possible-workers.ts';

const EVENTS = 50;
const PAGE = 1_000;
/** The most bytes of contracts, which are read with the releases. */
const RELEASES_BYTES = 4 * 1_024 * 1_024;

/** The most reads, if the execution changes while it is being explained. */
const READS_MAX = 3;

/** Undefined when the store does not know the execution. */
export async function explainExecution(
  config: EngineConfig,
  id: ExecutionId,
): Promise<Explanation | undefined> {
  let execution = await config.store.executions.read(id);
  for (let reads = 1; execution !== undefined; reads += 1) {
    const explained = await withProblem(config, await explainRecord(config, execution));
    if (explained.code !== 'waiting-for-message' || reads >= READS_MAX) return explained;
    // The event that the execution waits for may have arrived between the reads.
    const seen: ExecutionRecord = execution;
    execution = await config.store.executions.read(id);
    if (execution?.seq === seen.seq && execution.inboxCount === seen.inboxCount) return explained;
  }
  return undefined;
}

/**
 * A problem of the store delays only executions in these states: they wait for a claim or for a
 * time.
 */
const SUFFERING: ReadonlySet<ExplainCode> = new Set(['ready', 'delayed', 'waiting-for-time']);

async function withProblem(config: EngineConfig, explained: Explanation): Promise<Explanation> {
  if (!SUFFERING.has(explained.code)) return explained;
  const storeProblem = await config.store.executions.findProblem?.();
  return storeProblem === undefined ? explained : { ...explained, storeProblem };
}

async function explainRecord(
  config: EngineConfig,
  execution: ExecutionRecord,
): Promise<Explanation> {
  const { id } = execution;
  const isOpen = !isTerminal(execution.status);
  const { executions } = config.store;
  const [last, owner, awaits, children, workers, lease, { now }] = await Promise.all([
    lastEvents(config, execution),
    ownerOf(config, execution),
    isOpen ? openAwaits(config, execution) : { awaits: [] },
    isOpen ? openChildrenOf(config, id) : { openChildren: 0 },
    isOpen && execution.release !== undefined ? workersAround(config, execution) : undefined,
    isOpen ? leaseWaitOf(config, execution) : undefined,
    // Only its `now` is used: the store's time, because the clock of this host may differ.
    executions.dueSchedules({ limit: 1 }),
  ]);
  const pause = execution.holds.includes('paused') ? await pauseOf(config, id, last) : undefined;
  const cancel = await cancelOf(config, execution, last);
  const found = { execution, now, last, ...awaits, ...children };
  const commands = { ...(pause && { pause }), ...(cancel && { cancel }) };
  const facts = { ...found, ...(owner && { owner }), ...(lease && { lease }), ...commands };
  if (workers === undefined) return explain(facts);
  const isTaken = workers.workers.length > 0;
  const [misfit, elsewhere] = await Promise.all([
    isTaken ? undefined : misfitOf(config, execution),
    isTaken && !execution.holds.includes('blocked')
      ? undefined
      : otherRelease(config, execution, { last, running: workers.running }),
  ]);
  const { running: _, ...around } = workers;
  return explain({
    ...{ ...facts, ...around },
    ...(misfit && { misfit }),
    ...(elsewhere === undefined ? {} : { elsewhere }),
  });
}

interface Around extends Required<Pick<ExplainFacts, 'workers' | 'without'>> {
  /** Releases of the execution's pipeline that workers run. */
  readonly running: ReadonlySet<string>;
}

/**
 * Workers that run the execution's release, and workers that run its pipeline without a registered
 * release.
 */
async function workersAround(
  config: EngineConfig,
  { project, pipeline, release }: ExecutionRecord,
): Promise<Around> {
  const all = await possibleWorkers(config, { project, pipeline });
  const own = all.filter((each) => each.release === release);
  return {
    workers: own.map(({ name, state }) => ({ name, stuck: state === 'stuck' })),
    without: all.flatMap((each) => (each.release === undefined ? each.name : [])),
    running: new Set(all.flatMap((each) => each.release ?? [])),
  };
}

/**
 * Suggests another release: the active one, or else the newest that is not retired. A release that
 * workers run goes first. Releases older than the execution's own do not count, because older code
 * did not begin it, unless an operator repinned it. Releases whose preflight found this execution
 * broken never count.
 */
async function otherRelease(
  config: EngineConfig,
  { id, project, pipeline, release }: ExecutionRecord,
  { last, running }: Pick<ExplainFacts, 'last'> & Pick<Around, 'running'>,
): Promise<string | undefined> {
  const { executions } = config.store;
  const { active } = await executions.rollout({ project, pipeline });
  const newest = { project, pipeline, limit: PAGE, bytesMax: RELEASES_BYTES };
  const newestFirst = await executions.releases(newest);
  const own = newestFirst.findIndex(({ name }) => name === release);
  const wasRepinned = last.some(({ kind }) => kind === 'moved');
  const fit = newestFirst.filter(
    ({ name, retiredAt, preflight }, nth) =>
      name !== release &&
      retiredAt === undefined &&
      (nth < own || wasRepinned || name === active) &&
      preflight?.broken.some(({ execution }) => execution === id) !== true,
  );
  const ofWorkers = fit.filter(({ name }) => running.has(name));
  const among = ofWorkers.length > 0 ? ofWorkers : fit;
  return (among.find(({ name }) => name === active) ?? among[0])?.name;
}

/** Why the execution failed the last preflight of the active release. */
async function misfitOf(
  config: EngineConfig,
  execution: ExecutionRecord,
): Promise<ExplainFacts['misfit']> {
  const { executions } = config.store;
  const { active } = await executions.rollout(execution);
  if (active === undefined || active === execution.release) return undefined;
  const release = await executions.release({ ...execution, name: active });
  const broken = release?.preflight?.broken.find((each) => each.execution === execution.id);
  return broken === undefined ? undefined : { release: active, why: broken.why };
}

/** The message that paused the execution; its `paused` event has the message's number. */
async function pauseOf(
  config: EngineConfig,
  id: ExecutionId,
  last: ExplainFacts['last'],
): Promise<ExplainFacts['pause']> {
  const event = last.findLast(({ kind }) => kind === 'paused');
  const { taken } = parseBody<{ taken: readonly unknown[] }>(event?.body);
  const n = Array.isArray(taken) ? taken.at(-1) : undefined;
  if (!Number.isSafeInteger(n)) return undefined;
  const [message] = await config.store.executions.inbox({ id, after: n - 1, limit: 1 });
  return message?.n === n && message?.kind === 'pause' ? message?.body : undefined;
}

/**
 * The message that cancelled the execution while it ran. History then has the failure that the
 * message caused, without the actor.
 */
async function cancelOf(
  config: EngineConfig,
  { id, inboxCount }: ExecutionRecord,
  last: ExplainFacts['last'],
): Promise<ExplainFacts['cancel']> {
  const { failure } = parseBody<{ failure: unknown }>(cancelEvent(last)?.body);
  if (failure === undefined) return undefined;
  // A cancel ends the work, so few messages can follow it.
  const before = { id, until: inboxCount, limit: PAGE };
  const messages = await messagesBefore(config.store.executions, before);
  return messages.find(({ kind }) => kind === 'cancel')?.body;
}

/**
 * Reads back to the event that parked, blocked or paused the execution, or that began to undo its
 * steps, however many events came later.
 */
async function lastEvents(
  config: EngineConfig,
  { id, seq, status, holds }: ExecutionRecord,
): Promise<ExplainFacts['last']> {
  const needed: readonly HistoryEventKind[] = holds.includes('blocked')
    ? ['blocked']
    : [...(NEEDED[status] ?? []), ...holds.filter(isPaused)];
  const { executions } = config.store;
  for (let until = seq, limit = EVENTS; ; limit = PAGE) {
    const { events, after } = await eventsBefore(executions, { id, until, limit });
    const isFound = needed.every((kind) => events.some((event) => event.kind === kind));
    if (after <= 0 || isFound) return events;
    until = after;
  }
}

const NEEDED: Readonly<Partial<Record<Status, readonly HistoryEventKind[]>>> = {
  waiting: ['parked'],
  compensated: ['compensating'],
};

function isPaused(hold: string): hold is 'paused' {
  return hold === 'paused';
}

async function ownerOf(
  config: EngineConfig,
  { session }: ExecutionRecord,
): Promise<ExplainFacts['owner']> {
  if (session === undefined) return undefined;
  const found = await config.store.sessions.inspect(session);
  if (found === undefined) return { name: session, ended: true, overdue: false };
  const { state } = found;
  return {
    name: found.session.owner,
    ended: state === 'ended',
    overdue: state === 'overdue' || state === 'lapsed',
  };
}

async function openAwaits(
  config: EngineConfig,
  { id, project }: ExecutionRecord,
): Promise<Pick<ExplainFacts, 'awaits' | 'queued'>> {
  const query = { project, execution: id, limit: PAGE };
  const { executions } = config.store;
  const found = await executions.interactions({ ...query, open: true });
  const awaits = found.flatMap(({ interaction, unit }) => {
    if (unit === undefined) return [];
    const { assignee } = interaction;
    const { name, dueAt } = unit;
    return { name, ...(dueAt === undefined ? {} : { dueAt }), ...(assignee && { assignee }) };
  });
  if (awaits.length > 0) return { awaits };
  const [next] = await executions.interactions({ ...query, queued: true, limit: 1 });
  if (next?.unit?.concurrency === undefined) return { awaits };
  const { name, dueAt, concurrency } = next.unit;
  return { awaits, queued: { name, key: concurrency.key, ...present({ dueAt }) } };
}

/** An execution may have any number of children. The explanation needs a few of the open ones. */
async function openChildrenOf(
  config: EngineConfig,
  parent: ExecutionId,
): Promise<Pick<ExplainFacts, 'openChildren' | 'hasMoreChildren' | 'child'>> {
  const page = await config.store.executions.children({ parent, limit: PAGE });
  const open = page.filter(({ status }) => !isTerminal(status));
  const [openChildren, first, isCut] = [open.length, open.at(0)?.id, page.length === PAGE];
  const child = first === undefined ? undefined : await childFor(config, first);
  return { openChildren, ...(isCut && { hasMoreChildren: true }), ...(child && { child }) };
}

async function childFor(config: EngineConfig, id: ExecutionId): Promise<ExplainFacts['child']> {
  const child = await config.store.executions.read(id);
  if (child === undefined) return undefined;
  const { pipeline, release, status } = child;
  const isWorkerless = status === 'queued' && (await possibleWorkers(config, child)).length === 0;
  return { id, pipeline, ...(release === undefined ? {} : { release }), isWorkerless };
}
