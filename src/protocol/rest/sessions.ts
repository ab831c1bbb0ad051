// Routes for workers and sessions.

import {
  NO_WORKER,
  WORKER_KIND,
  WORKER_PIPELINES,
  type WorkerKind,
} from '../../engine/worker/worker-session.ts';
import { LANES } from '../../execution/execution.ts';
import type { ProjectName } from '../../execution/names.ts';
import type { RefusedWrite } from '../../features/audit/model.ts';
import { recordOperation } from '../../features/audit/routes.ts';
import type { WorkerInfo } from '../../features/releases/api.ts';
import { refusedAmong } from '../../features/releases/routes.ts';
import { parseSessionId, parseText, type SessionId } from '../../lease/names.ts';
import type { SessionInspection } from '../../lease/port.ts';
import { PROJECT_METADATA, type SessionMetadata } from '../../lease/session.ts';
import type { Depth, InFlight } from '../../store/contract/census-store.ts';
import { formatInstant, toInstant } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import {
  type HeartbeatsMessage,
  loadOperations,
  type RefusedWorkerMessage,
  type SessionMessage,
  sessionOperations,
  type WorkerMessage,
} from '../messages/sessions.ts';
import { SharedReads, writtenTimes } from './handling.ts';
import { refusedByKernel } from './problems.ts';
import { actorOf, type Caller, type Coordinator, type Route, routesOf } from './route.ts';

const LIMIT = 100;
/** The most leases of a session that one response has. */
const LEASES_MAX = 1_000;
/** A session may have much metadata, and a page of them is in memory at once. */
const SCANNED = 100;
/** The most pages that one response reads. It then has a cursor, and few items or none. */
const PAGES_MAX = 100;

interface Scan {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
  readonly all?: boolean | undefined;
}

export const sessionRoutes: readonly Route[] = routesOf(sessionOperations, {
  async listWorkers(coordinator, { query, caller }) {
    const { items, cursor } = await scannedSessions({ coordinator, caller }, query, (each) =>
      isWorkerFor(caller, each),
    );
    const sessions = items.map(({ session }) => session.id);
    const scope = caller.isOfAll ? {} : { project: caller.project };
    const [inFlight, announced, refused] = await Promise.all([
      coordinator.store.executions.inFlight({ sessions, ...scope }),
      coordinator.holdfast.releases.workers(scope),
      refusedAmong(coordinator.store, items.map(whoseSession)),
    ]);
    const body = {
      items: items.map((each) => workerMessage(each, { inFlight, announced, refused })),
    };
    return { status: 200, body: { ...body, ...(cursor === undefined ? {} : { cursor }) } };
  },

  async listSessions(coordinator, { query, caller }) {
    const { items, ...next } = await scannedSessions({ coordinator, caller }, query, (each) =>
      maySee(caller, each),
    );
    return { status: 200, body: { items: items.map(sessionMessage), ...next } };
  },

  async readSession(coordinator, { params, caller }) {
    const found = await sessionFor(coordinator, caller, params.id);
    const carried = await coordinator.search(caller.project, () =>
      coordinator.store.sessions.leases(found.session.id, { limit: LEASES_MAX }),
    );
    const leases = carried.map(({ key, fence, drain, deadlineInMs }) => ({
      ...{ key, fence, drained: drain !== undefined },
      ...(deadlineInMs === undefined ? {} : { deadlineInMs: Math.trunc(deadlineInMs) }),
    }));
    return { status: 200, body: { ...sessionMessage(found), leases } };
  },

  async forceSessionEnd(coordinator, { params, body, caller }) {
    const { session } = await sessionFor(coordinator, caller, params.id);
    const reason = parseText('reason', body.reason);
    const by = { kind: 'operator', actor: actorOf(caller), reason } as const;
    await recordOperation(coordinator, caller, {
      ...{ action: 'end-session', target: { kind: 'session', id: session.id }, reason },
      about: { asked: 'end', owner: session.owner },
    });
    const result = await coordinator.store.sessions.end({ id: session.id, by });
    if (result.kind === 'refused') throw refusedByKernel(result);
    return { status: 200, body: { kind: result.kind } };
  },
});

interface Scanned {
  readonly items: readonly SessionInspection[];
  readonly cursor?: string;
}

interface Calling {
  readonly coordinator: Coordinator;
  readonly caller: Caller;
}

export async function scannedSessions(
  { coordinator: { store, search }, caller: { project, isOfAll } }: Calling,
  { cursor, limit = LIMIT, all = false }: Scan,
  matches: (inspection: SessionInspection) => boolean,
): Promise<Scanned> {
  const items: SessionInspection[] = [];
  let after = cursor;
  let bytes = 0;
  for (let page = 0; page < PAGES_MAX || !(stopAt(items, after) > (cursor ?? '')); page += 1) {
    const query = {
      ...{ limit: SCANNED, all },
      ...(isOfAll || all ? {} : { project }),
      ...(after === undefined ? {} : { after: parseSessionId(after) }),
    };
    const found = await search(project, () => store.sessions.list(query));
    for (const each of found) {
      after = each.session.id;
      if (!matches(each)) continue;
      items.push(each);
      bytes += bytesOf(each.session.metadata);
      if (items.length === limit || bytes >= METADATA_BYTES_MAX) return { items, cursor: after };
    }
    if (found.length < SCANNED) return { items };
  }
  return { items, cursor: stopAt(items, after) };
}

/** The metadata of one response. The rest is on its next page. */
const METADATA_BYTES_MAX = 4 * 1024 * 1024;

function bytesOf(metadata: SessionMetadata): number {
  return Object.values(metadata).reduce((sum, { length }) => sum + length, 0);
}

/**
 * Hides the id of a session that the caller may not see. Returns a position at or below it, and
 * above everything listed.
 */
function stopAt(items: readonly SessionInspection[], after: string = ''): string {
  const below = `${after.slice(0, 13)}-0000-0000-000000000000`;
  const listed = items.at(-1)?.session.id ?? '';
  return listed > below ? listed : below;
}

async function sessionFor(
  { store }: Coordinator,
  caller: Caller,
  id: string,
): Promise<SessionInspection> {
  const session = parseSessionId(id);
  const found = await store.sessions.inspect(session);
  if (found === undefined || !maySee(caller, found)) {
    throw refusedByKernel({ why: 'session-unknown', session });
  }
  return found;
}

// Turns sessions into messages, and finds their projects.

/** Sessions outside every project need a key for all projects. */
function maySee({ project, isOfAll }: Caller, { session }: SessionInspection): boolean {
  return isOfAll || session.metadata[PROJECT_METADATA] === project;
}

function sessionMessage(inspection: SessionInspection): SessionMessage {
  const { session, state, authorityMs, remainingMs } = inspection;
  const { id, owner, ttlMs, graceMs, metadata, end } = session;
  const { [PROJECT_METADATA]: project, [WORKER_PIPELINES]: pipelines, host, version } = metadata;
  return {
    ...{ id, owner, state, ttlMs, graceMs, remainingMs: truncated(remainingMs) },
    slackMs: truncated(authorityMs),
    ...writtenTimes(session, 'openedAt', 'beatAt'),
    ...present({ project, pipelines: pipelines?.split(' '), host, version }),
    ...(end && { end: { ...end, ...writtenTimes(end, 'at') } }),
  };
}

/** Hides workers of other projects. Workers without a project serve all. */
function isWorkerFor({ project, isOfAll }: Caller, { session }: SessionInspection): boolean {
  const { [PROJECT_METADATA]: of, [WORKER_KIND]: kind } = session.metadata;
  if (kind === NO_WORKER) return false;
  return of === undefined ? isOfAll && kind !== undefined : of === project;
}

/** A session without a project has direct access to the store. */
function whoseSession({ session: { id, metadata } }: SessionInspection): {
  readonly id: SessionId;
  readonly project: ProjectName | undefined;
} {
  return { id, project: metadata[PROJECT_METADATA] as ProjectName | undefined };
}

interface OfWorkers {
  readonly inFlight: readonly InFlight[];
  /** The announcements of workers. */
  readonly announced: readonly WorkerInfo[];
  /** Workers whose announced release was refused. */
  readonly refused: ReadonlyMap<SessionId, RefusedWorkerMessage>;
}

/** Adds the running executions by lane, and the worker's announcement. */
function workerMessage(inspection: SessionInspection, of: OfWorkers): WorkerMessage {
  const { id, metadata } = inspection.session;
  const own = of.inFlight.filter(({ session }) => session === id);
  const counts = LANES.map((lane) => [lane, own.find((each) => each.lane === lane)?.count ?? 0]);
  // Workers of older builds have no kind. Those with a project came through the API.
  const kind = (metadata[WORKER_KIND] ?? 'remote') as WorkerKind;
  const worker = of.announced.find(({ session }) => session === id);
  const refused = of.refused.get(id);
  return {
    ...{ ...sessionMessage(inspection), kind, inFlight: Object.fromEntries(counts) },
    ...present({ work: worker?.is, release: worker?.release, room: worker?.room, refused }),
  };
}

function truncated(ms: number): number {
  return Math.trunc(ms);
}

// Routes for the number of waiting and running executions.

/** A higher count adds no information and costs time. */
const DEPTH_MAX = 10_000;

export const loadRoutes: readonly Route[] = routesOf(loadOperations, {
  async readDepth(coordinator, { caller }) {
    const { project } = caller;
    const { executions } = coordinator.store;
    const [lanes, storeProblem] = await Promise.all([
      depthOf(coordinator, project),
      caller.isOfAll ? executions.findProblem?.() : undefined,
    ]);
    const counted = { max: DEPTH_MAX, lanes: [...lanes] };
    return { status: 200, body: { ...counted, ...(storeProblem && { storeProblem }) } };
  },

  async readHeartbeats(coordinator, { query, caller }) {
    const { heartbeats, clock } = coordinator;
    const { rangeMs = HOUR_MS, to, limit = LIMIT } = query;
    const toMs = to === undefined ? clock.wallMs() : Date.parse(to);
    const { project, isOfAll } = caller;
    const seen = heartbeats.observed({ rangeMs, toMs }, (of) => isOfAll || of === project);
    const { fromMs, cellMs, sessions } = seen;
    const refused = await refusedIn(coordinator, project, { fromMs, toMs });
    const { sinceMs } = heartbeats;
    const body: HeartbeatsMessage = {
      ...{ from: formatInstant(toInstant(fromMs)), cellMs },
      ...(sinceMs === undefined ? {} : { observedSince: formatInstant(toInstant(sinceMs)) }),
      isCut: heartbeats.isCut || sessions.length > limit,
      items: sessions.slice(0, limit).map(({ id, end, ...row }) => ({
        ...{ session: id, ...row, refused: refused.get(id)?.map(refusedMark) ?? [] },
        ...(end && { end: { ...end, ...writtenTimes(end, 'at') } }),
      })),
    };
    return { status: 200, body };
  },

  async readAdvice(coordinator, { query, caller }) {
    const { items } = await scannedSessions(
      { coordinator, caller },
      { limit: SESSIONS_MAX },
      (each) => each.state === 'alive' && maySee(caller, each),
    );
    const live = items.map(({ session }) => session);
    const { isOfAll } = caller;
    return { status: 200, body: coordinator.advise({ query, live, isOfAll }) };
  },
});

const HOUR_MS = 3_600_000;
/** Enough marks for a picture. */
const REFUSED_MAX = 1_000;
const REFUSED_AGE_MS = 1_000;
const refusals = new SharedReads<readonly RefusedWrite[]>(REFUSED_AGE_MS);

/** Refused writes by session, the newest first. */
async function refusedIn(
  coordinator: Coordinator,
  project: ProjectName,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Promise<ReadonlyMap<SessionId, readonly RefusedWrite[]>> {
  const all = await refusals.found(coordinator, project, async () => {
    return (await coordinator.holdfast.refusals({ project, limit: REFUSED_MAX })).items;
  });
  const inRange = all.filter(({ lastAt }) => lastAt >= fromMs && lastAt <= toMs);
  return Map.groupBy(inRange, ({ session }) => session);
}

function refusedMark({ lastAt, execution, fence, newest, count }: RefusedWrite) {
  return { at: formatInstant(lastAt), execution, fence, count, ...present({ newest }) };
}

/** Requests within this time share one count per project. */
const DEPTH_AGE_MS = 1_000;
const depths = new SharedReads<readonly Depth[]>(DEPTH_AGE_MS);

function depthOf(coordinator: Coordinator, project: ProjectName): Promise<readonly Depth[]> {
  const { executions } = coordinator.store;
  return depths.found(coordinator, project, () => executions.depth({ max: DEPTH_MAX, project }));
}

// Advice on a ttl, from the coordinator's measurements and the caller's goals.

/** Enough sessions to learn the usual settings. */
const SESSIONS_MAX = 500;
