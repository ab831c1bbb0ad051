// Builds the parts that a coordinator's handlers use, from its options.

import { requireCoordinatorStore } from '../engine/config.ts';
import { Holdfast } from '../engine/holdfast.ts';
import { DEFAULT_PROJECT, type ProjectName } from '../execution/names.ts';
import type { ExecutionObserver } from '../execution/report.ts';
import { newKey, ROLES, writeKey } from '../features/access/model.ts';
import type { AccessStore } from '../features/access/port.ts';
import { LeaseHints } from '../features/leases/hints-routes.ts';
import { InputContracts } from '../features/releases/input-api.ts';
import type { JobLimits } from '../features/repair/job-limits-api.ts';
import { AnnouncedPipelines } from '../protocol/rest/announced-pipelines.ts';
import { HeartbeatHistory } from '../protocol/rest/heartbeat-history.ts';
import { HistorySizes } from '../protocol/rest/history-sizes.ts';
import { type Coordinator, projectShare } from '../protocol/rest/route.ts';
import { FairWakeups, readinessOf, WaitingHints } from '../protocol/rest/wakeups.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import { requireFewValues, valuesIn } from '../support/json-size.ts';
import { systemRandom } from '../support/random.ts';
import { systemTimers } from '../support/timer.ts';
import { FairShares, LARGE_BYTES, Turns, weightOfParsing } from '../support/turns.ts';
import { Advisor } from './advisor.ts';
import { countedStore, openMetrics, type ServerMetrics } from './metrics.ts';
import { ProjectQuotas, quotaStore } from './project-quotas.ts';
import {
  DEFAULT_HTTP_LIMITS,
  faultLogOf,
  type ServerLog,
  type ServerOptions,
} from './server-options.ts';

/** The most claims of one project in progress, because a claim takes hundreds of executions. */
const CLAIMS_MAX = 2;
/**
 * The most claims, and the most searches, of all projects in progress. Both can take long, and the
 * other requests must find a free connection: the store has 10 by default.
 */
const TOGETHER_MAX = 4;
/** Requests of one project that may begin in one turn of the event loop. */
const SHARES = { alone: 64, beside: 8 } as const;

/** The most items of one project's bulk jobs in progress; each is a transaction of its own. */
const JOB_LANES = 2;

/** Bulk jobs and archiving take the shares of their project, as its requests do. */
function jobLimitsOf(shares: FairShares): JobLimits {
  const turns = new Turns(1);
  return {
    lanes: JOB_LANES,
    page: (project, work) => turns.take(project, work),
    begin: (project, weight) => shares.begin(projectShare(project), weight),
  };
}

export interface OpenedCoordinator {
  readonly coordinator: Coordinator;
  readonly metrics: ServerMetrics | undefined;
}

/** Logs the coordinator's shared duties for its operator. */
export function observerFor(log: ServerLog): ExecutionObserver {
  return {
    report(report) {
      if (report.kind === 'stale') {
        const { kind: _, ...finding } = report;
        log.info('found data that breaks an invariant', finding);
      }
      if (report.kind === 'removed') log.info('removed ended executions', { ...report });
      if (report.kind === 'trouble') {
        log.fault(report.what, report.cause, { code: report.code });
      }
    },
  };
}

export async function coordinatorOf(options: ServerOptions): Promise<OpenedCoordinator> {
  requireCoordinatorStore(options.store);
  const metrics = await openMetrics();
  return { coordinator: buildCoordinator(options, metrics), metrics };
}

/** Synchronous, so that the simulator can restart a coordinator at any moment. */
export function buildCoordinator(
  options: ServerOptions,
  metrics: ServerMetrics | undefined,
): Coordinator {
  const { links, retention, log, demo, admin, auth = 'keys' } = options;
  const advisor = new Advisor();
  const timed = advisor.watch(options.store);
  const counted = metrics === undefined ? timed : countedStore(timed, metrics.countsOf);
  const { clock = systemClock, timers = systemTimers, random = systemRandom } = options;
  const shares = new FairShares(SHARES, { clock, timers });
  const charged = chargedStore(counted, shares, clock);
  const store = quotaStore(charged, new ProjectQuotas(counted.access, clock, options.quotas));
  metrics?.readFrom(counted.executions, clock);
  const limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
  const { relayAnswersMs } = limits;
  const { jsonValuesMax } = limits;
  const holdfast = new Holdfast({
    ...{ clock, timers, random, relayAnswersMs },
    store: decodingStore(store, shares, jsonValuesMax),
    jobLimits: jobLimitsOf(shares),
    ...(links === undefined ? {} : { links }),
    ...(retention === undefined ? {} : { retention }),
    ...(log === undefined ? {} : { observer: observerFor(log) }),
  });
  return {
    ...{ holdfast, store, clock, timers, random, auth, shares, jsonValuesMax },
    // Before the wakeup port, because a woken client reads the hints.
    hints: new WaitingHints(store.executions, random.uuid()),
    leaseHints: new LeaseHints(store),
    wakeups: new FairWakeups(store.executions, timers),
    readiness: new FairWakeups(readinessOf(store.executions), timers),
    claimTurns: new Turns(CLAIMS_MAX, TOGETHER_MAX),
    announced: new AnnouncedPipelines(store.executions, clock),
    inputs: new InputContracts(store.executions, clock),
    heartbeats: new HeartbeatHistory(store.sessions, clock),
    histories: new HistorySizes(store.executions, limits),
    hasLinks: links !== undefined,
    hasArchive: retention !== undefined,
    hasAdmin: admin === 'main',
    advise: (request) => advisor.advise(request),
    ...(demo && { demo }),
    ...(metrics && { metrics: metrics.read }),
    ...(log && { onFault: faultLogOf(log) }),
  };
}

/** A project that searches all the time leaves half of the event loop to the others. */
const WEIGHT_PER_MS = SHARES.beside;

/** The most searches of one project in progress, because PostgreSQL runs them side by side. */
const SEARCHES_MAX = 2;

/** The cost of a search or a fire depends on the project's rows, so it shows only afterwards. */
function chargedStore(
  store: CoordinatorStore,
  shares: FairShares,
  clock: Pick<Clock, 'monotonicMs'>,
): CoordinatorStore {
  const turns = new Turns(SEARCHES_MAX, TOGETHER_MAX);
  type Read<Query, Found> = (query: Query) => Promise<Found>;
  type OfProject = { readonly project?: ProjectName };
  const timed =
    <Query extends OfProject, Found>(read: Read<Query, Found>): Read<Query, Found> =>
    async (query) => {
      const beganMs = clock.monotonicMs();
      try {
        return await read(query);
      } finally {
        const weight = Math.floor((clock.monotonicMs() - beganMs) * WEIGHT_PER_MS);
        if (query.project && weight > 0) shares.charge(projectShare(query.project), weight);
      }
    };
  const charged = <Query extends OfProject, Found>(
    search: Read<Query, Found>,
  ): Read<Query, Found> => {
    const read = timed(search);
    return (query) =>
      query.project === undefined ? read(query) : turns.take(query.project, () => read(query));
  };
  const { executions } = store;
  return {
    ...store,
    executions: {
      ...executions,
      list: charged(executions.list),
      find: charged(executions.find),
      count: charged(executions.count),
      depth: charged(executions.depth),
      figures: charged(executions.figures),
      endedSize: charged(executions.endedSize),
      endedCounts: charged(executions.endedCounts),
      audit: charged(executions.audit),
      deadLetters: charged(executions.deadLetters),
      deadLetterGroups: charged(executions.deadLetterGroups),
      interactions: charged(executions.interactions),
      listArchived: charged(executions.listArchived),
      // Submits read workers too, so they do not wait for searches.
      workers: timed(executions.workers),
      fireSchedule: charged(executions.fireSchedule),
    },
  };
}

/** Decoding this many names and values, and writing them again, costs as much as a small request. */
const VALUES_PER_WEIGHT = 50;

/**
 * For code that decodes values. Parsing a large value blocks the event loop, so it takes a share of
 * its project, and a value with too many names and values is not decoded.
 */
function decodingStore(
  store: CoordinatorStore,
  shares: FairShares,
  jsonValuesMax: number,
): CoordinatorStore {
  const getBlob: typeof store.executions.getBlob = async (key) => {
    const bytes = await store.executions.getBlob(key);
    if (bytes === undefined || bytes.length <= LARGE_BYTES) return bytes;
    const text = Buffer.from(bytes).toString('latin1');
    const values = valuesIn(text, jsonValuesMax);
    const weight = Math.max(weightOfParsing(bytes.length), Math.floor(values / VALUES_PER_WEIGHT));
    await shares.begin(projectShare(key.project), weight);
    requireFewValues('A stored value', [text], jsonValuesMax);
    return bytes;
  };
  return { ...store, executions: { ...store.executions, getBlob } };
}

// The first start of a store creates the project `default` and one key with all roles. The
// coordinator shows it once. If several coordinators start together, one of them creates it.

/** Undefined if the store has keys already. */
export async function firstKey(access: AccessStore): Promise<string | undefined> {
  if ((await access.keys({ limit: 1, all: true })).length > 0) return undefined;
  if ((await access.project(DEFAULT_PROJECT)) === undefined) {
    await access.putProject({ name: DEFAULT_PROJECT, settings: {} });
  }
  const { id, secret, digest } = newKey();
  const result = await access.createKey({
    id,
    digest,
    name: 'first key',
    roles: ROLES,
    first: true,
  });
  return result.kind === 'created' ? writeKey({ id, secret }) : undefined;
}
