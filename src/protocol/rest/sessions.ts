// Workers, and sessions of any kind.

import { recordAct } from '../../features/audit/routes.ts';
import { refusedAmong } from '../../features/releases/refused-workers-routes.ts';
import { parseSessionId, parseText } from '../../lease/names.ts';
import type { SessionInspection } from '../../lease/port.ts';
import {
  ended,
  forcedBody,
  sessionInFull,
  sessionPage,
  sessionQuery,
  workerPage,
  workerQuery,
} from '../messages/operations.ts';
import { sessionParams } from '../messages/work.ts';
import { refusedByKernel } from './problems.ts';
import { actorOf, type Caller, type Coordinator, type Route, route } from './route.ts';
import {
  isWorkerFor,
  maySee,
  sessionMessage,
  whoseSession,
  workerMessage,
} from './session-message.ts';

const LIMIT = 100;
const SCANNED = 500;
/** Of so many pages at most is one answer made: then it has a cursor, and few items or none. */
const PAGES_MAX = 20;

interface Scan {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
  readonly all?: boolean | undefined;
}

const workers = route({
  method: 'GET',
  path: '/v1/workers',
  name: 'listWorkers',
  summary:
    'Workers, how they are and what they run: those of the project; for keys of all projects also those that work for all.',
  allows: ['submit', 'operate'],
  query: workerQuery,
  answers: { 200: { what: 'A page; go on while there is a cursor.', schema: workerPage } },
  async handle(coordinator, { query, caller }) {
    const { items, cursor } = await scanned(coordinator, query, (each) =>
      isWorkerFor(caller, each),
    );
    const sessions = items.map(({ session }) => session.id);
    const scope = caller.isOfAll ? {} : { project: caller.project };
    const [inFlight, told, refused] = await Promise.all([
      coordinator.store.executions.inFlight({ sessions, ...scope }),
      coordinator.holdfast.releases.workers(scope),
      refusedAmong(coordinator.store, items.map(whoseSession)),
    ]);
    const body = { items: items.map((each) => workerMessage(each, { inFlight, told, refused })) };
    return { status: 200, body: { ...body, ...(cursor === undefined ? {} : { cursor }) } };
  },
});

const sessions = route({
  method: 'GET',
  path: '/v1/sessions',
  name: 'listSessions',
  summary: 'Sessions by id: those of the project, or of everybody for keys of all projects.',
  allows: ['operate'],
  query: sessionQuery,
  answers: { 200: { what: 'A page; go on while there is a cursor.', schema: sessionPage } },
  async handle(coordinator, { query, caller }) {
    const { items, ...next } = await scanned(coordinator, query, (each) => maySee(caller, each));
    return { status: 200, body: { items: items.map(sessionMessage), ...next } };
  },
});

const read = route({
  method: 'GET',
  path: '/v1/sessions/:id',
  name: 'readSession',
  summary: 'A session, and the leases that it carries.',
  allows: ['operate'],
  params: sessionParams,
  answers: { 200: { what: 'As it is now.', schema: sessionInFull } },
  async handle(coordinator, { params, caller }) {
    const found = await sessionFor(coordinator, caller, params.id);
    const carried = await coordinator.store.sessions.leases(found.session.id);
    const leases = carried.map(({ key, fence, drain, deadlineInMs }) => ({
      ...{ key, fence, drained: drain !== undefined },
      ...(deadlineInMs === undefined ? {} : { deadlineInMs: Math.trunc(deadlineInMs) }),
    }));
    return { status: 200, body: { ...sessionMessage(found), leases } };
  },
});

const end = route({
  method: 'POST',
  path: '/v1/sessions/:id/end',
  name: 'forceSessionEnd',
  summary: 'Ends it by force: what it holds is free for others at once.',
  allows: ['admin'],
  listener: 'admin',
  params: sessionParams,
  body: forcedBody,
  answers: { 200: { what: 'It has ended.', schema: ended }, 409: { what: 'It had before.' } },
  async handle(coordinator, { params, body, caller }) {
    const { session } = await sessionFor(coordinator, caller, params.id);
    const reason = parseText('reason', body.reason);
    const by = { kind: 'operator', actor: actorOf(caller), reason } as const;
    await recordAct(coordinator, caller, {
      ...{ act: 'end-session', target: { kind: 'session', id: session.id }, reason },
      about: { asked: 'end', owner: session.owner },
    });
    const answer = await coordinator.store.sessions.end({ id: session.id, by });
    if (answer.kind === 'refused') throw refusedByKernel(answer);
    return { status: 200, body: { kind: answer.kind } };
  },
});

interface Scanned {
  readonly items: readonly SessionInspection[];
  readonly cursor?: string;
}

export async function scanned(
  { store }: Coordinator,
  { cursor, limit = LIMIT, all }: Scan,
  isMeant: (inspection: SessionInspection) => boolean,
): Promise<Scanned> {
  const items: SessionInspection[] = [];
  let after = cursor;
  for (let page = 0; page < PAGES_MAX || !(stopAt(items, after) > (cursor ?? '')); page += 1) {
    const found = await store.sessions.list({
      limit: SCANNED,
      ...(all === undefined ? {} : { all }),
      ...(after === undefined ? {} : { after: parseSessionId(after) }),
    });
    for (const each of found) {
      if (isMeant(each)) items.push(each);
      after = each.session.id;
      if (items.length === limit) return { items, cursor: after };
    }
    if (found.length < SCANNED) return { items };
  }
  return { items, cursor: stopAt(items, after) };
}

/** The id of one that the caller may not see is not said: what is at or below it, and above whatever was listed. */
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

export const sessionRoutes: readonly Route[] = [workers, sessions, read, end];
