// Builds the parts that a coordinator's handlers use, from its options.

import { requireCoordinatorStore } from '../engine/config.ts';
import { Holdfast } from '../engine/holdfast.ts';
import { DEFAULT_PROJECT, type ExecutionId, type ProjectName } from '../execution/names.ts';
import type { ExecutionObserver } from '../execution/report.ts';
import { newKey, ROLES, writeKey } from '../features/access/model.ts';
import type { AccessStore } from '../features/access/port.ts';
import { type AlertParts, Alerts } from '../features/channels/alerts-duty.ts';
import { Deliveries, type DeliveryParts } from '../features/channels/delivery-duty.ts';
import { channelSender } from '../features/channels/sender-api.ts';
import { type ChannelSettings, channelSettingsOf } from '../features/channels/signing-api.ts';
import { LeaseHints } from '../features/leases/hints-routes.ts';
import { InputContracts } from '../features/releases/input-api.ts';
import type { JobLimits } from '../features/repair/job-limits-api.ts';
import { AnnouncedPipelines } from '../protocol/rest/announced-pipelines.ts';
import { HeartbeatHistory } from '../protocol/rest/heartbeat-history.ts';
import { HistorySizes } from '../protocol/rest/history-sizes.ts';
import {
  type Coordinator,
  callerGone,
  type Download,
  type PaidRead,
  projectShare,
} from '../protocol/rest/route.ts';
import { ClaimsBehind, joiningStore } from '../protocol/rest/waiting-claims.ts';
import { FairWakeups, readinessOf, WaitingHints } from '../protocol/rest/wakeups.ts';
import type { CoordinatorStore } from '../store/contract/execution-store.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import { requireFewValues, valuesIn } from '../support/json-size.ts';
import { present } from '../support/options.ts';
import { systemRandom } from '../support/random.ts';
import { systemTimers } from '../support/timer.ts';
import {
  ByteTurns,
  FairShares,
  LARGE_BYTES,
  Turns,
  weightOfBytes,
  weightOfParsing,
} from '../support/turns.ts';
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
 * The most claims, and the most searches, of all projects in progress. Both can take long, and
 * other requests must find a free connection: a store has 10 by default.
 */
const TOGETHER_MAX = 4;
/**
 * The most reads of one project in progress for sessions that the coordinator does not know. Each
 * takes a connection of the store.
 */
const SESSION_READS_MAX = 4;
/** The same, for calls of leases. */
const LEASE_CALLS_MAX = 4;
/** The most lookups of one project's names in progress, of about two in the whole process. */
const LOOKUPS_MAX = 1;
/** The responses of the largest size that one project's callers may leave unread. */
const UNREAD_VALUES = 4;
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
  const { links, retention, channels, log, demo, admin, auth = 'keys' } = options;
  const advisor = new Advisor();
  const { clock = systemClock, timers = systemTimers, random = systemRandom } = options;
  const claimsBehind = new ClaimsBehind(timers);
  const timed = advisor.watch(joiningStore(options.store, claimsBehind));
  const counted = metrics === undefined ? timed : countedStore(timed, metrics.countsOf);
  const shares = new FairShares(SHARES, { clock, timers });
  const download = downloadOf(shares);
  const paid = paidReads(shares, clock);
  const search = searchOf(paid);
  const charged = chargedStore(counted, { paid, search, shares });
  const store = quotaStore(charged, new ProjectQuotas(counted.access, clock, options.quotas));
  metrics?.readFrom(counted.executions, clock);
  const limits = { ...DEFAULT_HTTP_LIMITS, ...options.limits };
  const { relayAnswersMs } = limits;
  const { jsonValuesMax, bodyBytesMax } = limits;
  const holdfast = new Holdfast({
    ...{ clock, timers, random, relayAnswersMs },
    store: decodingStore(store, { shares, download, jsonValuesMax }),
    jobLimits: jobLimitsOf(shares),
    ...present({ links, retention }),
    ...(log === undefined ? {} : { observer: observerFor(log) }),
  });
  return {
    ...{
      holdfast,
      store,
      clock,
      timers,
      random,
      auth,
      shares,
      paid,
      search,
      download,
      jsonValuesMax,
    },
    // Before the wakeup port, because a woken client reads the hints.
    hints: new WaitingHints(store.executions, random.uuid()),
    leaseHints: new LeaseHints(store),
    wakeups: new FairWakeups(store.executions, timers),
    readiness: new FairWakeups(readinessOf(store.executions), timers),
    claimTurns: new Turns(CLAIMS_MAX, TOGETHER_MAX),
    sessionTurns: new Turns(SESSION_READS_MAX),
    leaseTurns: new Turns(LEASE_CALLS_MAX),
    unread: new ByteTurns(UNREAD_VALUES * bodyBytesMax),
    downloadBytesMax: bodyBytesMax,
    claimsBehind,
    announced: new AnnouncedPipelines(store.executions, clock),
    inputs: new InputContracts(store.executions, clock),
    heartbeats: new HeartbeatHistory(store.sessions, clock),
    histories: new HistorySizes(store.executions, limits),
    hasLinks: links !== undefined,
    hasArchive: retention !== undefined,
    ...(channels && {
      channels: withDuties(channelSettingsOf(channels), {
        ...{ clock, timers, random, store: store.access, figures: store.executions },
        workers: (project) => holdfast.releases.workers({ project }),
        onWakeup: (listener) => store.executions.onWakeup(() => listener()),
        shares: {
          begin: (project) => shares.begin(projectShare(project)),
          charge: (project, weight) => shares.charge(projectShare(project), weight),
        },
        ...(log && { onFault: faultLogOf(log) }),
      }),
    }),
    hasAdmin: admin === 'main',
    advise: (request) => advisor.advise(request),
    ...(demo && { demo }),
    ...(metrics && { metrics: metrics.read }),
    ...(log && { onFault: faultLogOf(log) }),
  };
}

type DutyParts = Omit<DeliveryParts, 'send' | 'timeoutMs' | 'keepDays'> &
  Omit<AlertParts, 'everyMs'>;

function withDuties(
  settings: ChannelSettings,
  parts: DutyParts,
): NonNullable<Coordinator['channels']> {
  const { clock, timers } = parts;
  const send = channelSender({ ...settings, clock, timers, lookups: new Turns(LOOKUPS_MAX) });
  const { timeoutMs, keepDays, alertsEveryMs: everyMs } = settings;
  return {
    ...settings,
    deliveries: new Deliveries({ ...parts, send, timeoutMs, keepDays }),
    alerts: new Alerts({ ...parts, everyMs }),
  };
}

/**
 * What a millisecond of a search counts: a project that searches all the time then leaves half of
 * the event loop to the others.
 */
const WEIGHT_PER_MS = SHARES.beside;

/** The most searches of one project in progress, because PostgreSQL runs them side by side. */
const SEARCHES_MAX = 2;

/** The cost of a search or a fire depends on the project's rows, so it shows only afterwards. */
function paidReads(shares: FairShares, clock: Pick<Clock, 'monotonicMs'>): PaidRead {
  return async (project, read) => {
    const beganMs = clock.monotonicMs();
    try {
      return await read();
    } finally {
      const weight = Math.floor((clock.monotonicMs() - beganMs) * WEIGHT_PER_MS);
      if (weight > 0) shares.charge(projectShare(project), weight);
    }
  };
}

function searchOf(paid: PaidRead): PaidRead {
  const turns = new Turns(SEARCHES_MAX, TOGETHER_MAX);
  return (project, read) => turns.take(project, () => paid(project, read));
}

function chargedStore(
  store: CoordinatorStore,
  { paid, search, shares }: Pick<Coordinator, 'paid' | 'search' | 'shares'>,
): CoordinatorStore {
  type Read<Query, Found> = (query: Query) => Promise<Found>;
  type OfProject = { readonly project?: ProjectName };
  const charged =
    <Query extends OfProject, Found>(
      read: Read<Query, Found>,
      by: PaidRead = search,
    ): Read<Query, Found> =>
    (query) =>
      query.project === undefined ? read(query) : by(query.project, () => read(query));
  const { executions, access } = store;
  /** Large pages wait until their project may send that many bytes. */
  const bodies =
    <Query extends { readonly id: ExecutionId }, Row extends { readonly body?: string }>(
      read: Read<Query, readonly Row[]>,
    ): Read<Query, readonly Row[]> =>
    async (query) => {
      const rows = await read(query);
      const bytes = rows.reduce((sum, { body = '' }) => sum + body.length, 0);
      const owner = bytes > LARGE_BYTES ? await executions.read(query.id) : undefined;
      if (owner !== undefined)
        await shares.begin(projectShare(owner.project), weightOfBytes(bytes));
      return rows;
    };
  return {
    ...store,
    access: { ...access, deliveries: charged(access.deliveries) },
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
      workers: charged(executions.workers, paid),
      fireSchedule: charged(executions.fireSchedule),
      triggerSchedule: charged(executions.triggerSchedule),
      history: bodies(executions.history),
      inbox: bodies(executions.inbox),
    },
  };
}

/**
 * The size of a value shows only when it was read. So a project reads one at a time, and pays for it
 * before it reads the next one.
 */
function downloadOf(shares: FairShares): Download {
  const turns = new Turns(1);
  return ({ project, signal }, read) =>
    turns.take(project, async () => {
      const share = projectShare(project);
      if (signal?.aborted !== true) await shares.begin(share);
      if (signal?.aborted === true) throw callerGone();
      const bytes = await read();
      shares.charge(share, weightOfBytes(bytes?.length ?? 0));
      return bytes;
    });
}

/** Decoding this many names and values, and writing them again, costs as much as a small request. */
const VALUES_PER_WEIGHT = 50;

/**
 * For code that decodes values. Parsing a large value blocks the event loop, so it takes a share of
 * its project, and a value with too many names and values is not decoded.
 */
function decodingStore(
  store: CoordinatorStore,
  { shares, download, jsonValuesMax }: Pick<Coordinator, 'shares' | 'download' | 'jsonValuesMax'>,
): CoordinatorStore {
  const getBlob: typeof store.executions.getBlob = async (key) => {
    const bytes = await download(key, () => store.executions.getBlob(key));
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
