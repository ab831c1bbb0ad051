// Routes for the figures of a project.

import { type ProjectName, parsePipelineName } from '../../execution/names.ts';
import { SharedReads, writtenTimes } from '../../protocol/rest/handling.ts';
import {
  type Caller,
  type Coordinator,
  ProblemReply,
  projectShare,
  type Route,
  routesOf,
} from '../../protocol/rest/route.ts';
import { LIST_ROWS_MAX } from '../../store/contract/execution-reads.ts';
import { dateFrom, formatInstant, toInstant } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import type { WorkerInfo } from '../releases/api.ts';
import { announcersOf, takesWork } from '../releases/model.ts';
import { refusedAmong } from '../releases/routes.ts';
import { type OverviewMessage, overviewOperations, type TrendsMessage } from './messages.ts';
import {
  type EndedCount,
  endedFigures,
  type Figures,
  intervalsFor,
  type TrendInterval,
} from './model.ts';
import type { ReadEnded } from './port.ts';

const HOUR_MS = 3_600_000;

/** However many browsers show the same figures, the store counts once per second. */
const AGE_MS = 1_000;
const overviews = new SharedReads<OverviewMessage>(AGE_MS);
const ranges = new SharedReads<TrendsMessage>(AGE_MS);
const rollUps = new SharedReads<void>(AGE_MS);

export const overviewRoutes: readonly Route[] = routesOf(overviewOperations, {
  async readOverview(coordinator, { caller }) {
    const body = await overviews.found(coordinator, caller.project, () =>
      overviewOf(coordinator, caller),
    );
    const { findProblem } = coordinator.store.executions;
    const storeProblem = caller.isOfAll ? await findProblem?.() : undefined;
    return { status: 200, body: { ...body, ...present({ storeProblem }) } };
  },

  async readTrends(coordinator, { query, caller }) {
    const { rangeMs = HOUR_MS, pipeline, release } = query;
    if (release !== undefined && pipeline === undefined) {
      throw new ProblemReply('invalid-input', 'release needs pipeline. Pass both.');
    }
    const now = coordinator.clock.wallMs();
    const given = query.to === undefined ? now : dateFrom(query.to).getTime();
    if (Number.isNaN(given)) {
      throw new ProblemReply(
        'invalid-input',
        `to must be a time such as ${formatInstant(toInstant(now))}.`,
      );
    }
    const about = { rangeMs, given, now, pipeline, release };
    const [shortest] = intervalsFor(rangeMs, now - given + rangeMs) as [TrendInterval];
    const to = endOf(given, shortest);
    const key = JSON.stringify([caller.project, to, rangeMs, pipeline, release]);
    const body = await ranges.found(coordinator, key, () => trendsOf(coordinator, caller, about));
    return { status: 200, body };
  },
});

async function overviewOf(
  { store, holdfast }: Coordinator,
  { project }: Caller,
): Promise<OverviewMessage> {
  const [figures, workers] = await Promise.all([
    store.executions.figures({ project }),
    holdfast.releases.workers({ project }),
  ]);
  const live = workers.filter((each) => each.is !== 'gone');
  const [inFlight, refused] = await Promise.all([
    store.executions.inFlight({ sessions: workers.map(({ session }) => session), project }),
    refusedAmong(
      store,
      live.map((each) => ({ id: each.session, project: each.project })),
    ),
  ]);
  const liveSessions = new Set<string>(live.map(({ session }) => session));
  const running = inFlight.filter(({ session }) => liveSessions.has(session));
  const left = inFlight.filter(({ session }) => !liveSessions.has(session));
  const sum = (counts: typeof inFlight): number =>
    counts.reduce((total, { count }) => total + count, 0);
  const inState = (...states: readonly WorkerInfo['is'][]): number =>
    live.filter((each) => states.includes(each.is)).length;
  return {
    ...figuresMessage(figures, workers),
    workers: {
      ready: inState('ready', 'starting'),
      draining: inState('draining'),
      stuck: inState('stuck'),
      refused: refused.size,
      lapsed: new Set(left.map(({ session }) => session)).size,
      left: sum(left),
      running: sum(running),
      room: live.reduce((sum, { room }) => sum + room, 0),
    },
  };
}

function figuresMessage(
  { at, pipelines, deadLetters, questions }: Figures,
  workers: readonly WorkerInfo[],
): Omit<OverviewMessage, 'workers'> {
  const { nextDueAt, ...counted } = questions;
  return {
    at: formatInstant(at),
    pipelines: pipelines.map((each) => {
      const { oldestReadyAt, statuses, ...rest } = each;
      const since = oldestReadyAt && { oldestReadyAt: formatInstant(oldestReadyAt) };
      const by = announcersOf(workers, each);
      const serving = by.filter(takesWork).length;
      const last = serving > 0 ? {} : present({ lastWorker: lastOf(by) });
      return { ...rest, statuses: { ...statuses }, ...since, workers: serving, ...last };
    }),
    deadLetters: {
      ...deadLetters,
      causes: deadLetters.causes.map((each) => ({
        ...each,
        ...writtenTimes(each, 'firstAt', 'lastAt'),
      })),
    },
    questions: { ...counted, ...(nextDueAt && { nextDueAt: formatInstant(nextDueAt) }) },
  };
}

/** A worker whose session the store forgot has no name any more. */
function lastOf(
  workers: readonly WorkerInfo[],
): OverviewMessage['pipelines'][number]['lastWorker'] {
  const [last] = workers
    .filter(({ owner }) => owner !== '')
    .toSorted((one, other) => other.provedAt - one.provedAt);
  return last && { owner: last.owner, lastSeenAt: formatInstant(last.provedAt) };
}

interface Range {
  readonly rangeMs: number;
  /** The end of the range, as the caller gave it. */
  readonly given: number;
  readonly now: number;
  readonly pipeline: string | undefined;
  readonly release: string | undefined;
}

/** Sums of this many counts cost as much as a small request. */
const COUNTS_PER_WEIGHT = 100;
/** The most pipelines of a trend, each with its releases. */
const PIPELINES_MAX = 1_000;

function endOf(given: number, { intervalMs }: TrendInterval): number {
  return Math.ceil(given / intervalMs) * intervalMs;
}

/** Chooses the shortest intervals whose counts, and those of the range before, can be read. */
async function readRange(
  { store, shares }: Coordinator,
  project: ProjectName,
  { rangeMs, given, now, pipeline, release }: Range,
): Promise<ReadEnded & { readonly isCapped: boolean }> {
  const named = pipeline === undefined ? {} : { pipeline: parsePipelineName(pipeline) };
  const intervals = intervalsFor(rangeMs, now - given + rangeMs);
  for (const [nth, interval] of intervals.entries()) {
    const to = endOf(given, interval);
    const from = to - Math.ceil(rangeMs / interval.intervalMs) * interval.intervalMs;
    const query = { project, ...interval, ...named, ...present({ release }) };
    const both = { ...query, from: toInstant(2 * from - to), to: toInstant(to) };
    const size = await store.executions.endedSize(both);
    shares.charge(projectShare(project), Math.floor(size / COUNTS_PER_WEIGHT));
    const isCapped = size > LIST_ROWS_MAX;
    if (isCapped && nth < intervals.length - 1) continue;
    return { ...query, from: toInstant(from), to: toInstant(to), isCapped };
  }
  throw new Error('A trend has no interval.');
}

async function trendsOf(
  coordinator: Coordinator,
  { project }: Caller,
  range: Range,
): Promise<TrendsMessage> {
  await rolledUp(coordinator);
  const { store } = coordinator;
  const { isCapped, ...query } = await readRange(coordinator, project, range);
  const { from, to, intervalMs } = query;
  const points = (to - from) / intervalMs;
  const [sums, before] = await Promise.all([
    store.executions.endedCounts(query),
    store.executions.endedCounts({
      ...{ ...query, intervalMs: points * intervalMs },
      ...{ from: toInstant(2 * from - to), to: from },
    }),
  ]);
  const at = Map.groupBy(sums.byInterval, (each) => each.at);
  const byPipeline = Map.groupBy(sums.byPipeline, (each) =>
    JSON.stringify([each.pipeline, each.release]),
  );
  const capped = isCapped || byPipeline.size > PIPELINES_MAX;
  return {
    from: formatInstant(from),
    to: formatInstant(to),
    intervalMs,
    ...(capped && { capped }),
    ...writtenTimes(sums, 'until'),
    points: Array.from({ length: points }, (_, nth) => {
      const begins = toInstant(from + nth * intervalMs);
      return { at: formatInstant(begins), ...messageOf(at.get(begins) ?? []) };
    }),
    total: messageOf(sums.byInterval),
    previous: messageOf(before.byInterval),
    pipelines: [...byPipeline.values()].slice(0, PIPELINES_MAX).map((counts) => {
      const [{ pipeline: of, release: pin }] = counts as [(typeof counts)[number]];
      return { pipeline: of, ...present({ release: pin }), ...messageOf(counts) };
    }),
  };
}

/**
 * Updates the rollups. The reply has the time up to which they are complete, so a failure does no
 * harm.
 */
function rolledUp(coordinator: Coordinator): Promise<void> {
  const { executions } = coordinator.store;
  return rollUps.found(coordinator, '', () =>
    executions.rollUp().then(
      () => undefined,
      () => undefined,
    ),
  );
}

function messageOf(counts: readonly EndedCount[]): TrendsMessage['total'] {
  const { ended, duration } = endedFigures(counts);
  return { ended: { ...ended }, ...(duration && { duration: { ...duration } }) };
}
