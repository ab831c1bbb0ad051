// Workers, and sessions of any kind.

import { parseSessionId, parseText } from '../../lease/names.ts';
import type { SessionInspection } from '../../lease/port.ts';
import {
  ended,
  forcedBody,
  sessionInFull,
  sessionPage,
  sessionQuery,
  workerQuery,
} from '../messages/operations.ts';
import { sessionParams } from '../messages/work.ts';
import { refusedByKernel } from './problems.ts';
import { type Caller, type Coordinator, type Reply, type Route, route } from './route.ts';
import { maySee, sessionMessage } from './session-message.ts';
import { PROJECT } from './work-session.ts';

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
  summary: "The project's workers that are here by this API, and how they are.",
  allows: ['submit', 'operate'],
  query: workerQuery,
  answers: { 200: { what: 'A page; go on while there is a cursor.', schema: sessionPage } },
  handle: (coordinator, { query, caller }) =>
    scanned(coordinator, query, ({ session }) => session.metadata[PROJECT] === caller.project),
});

const sessions = route({
  method: 'GET',
  path: '/v1/sessions',
  name: 'listSessions',
  summary: 'Sessions by id: those of the project, or of everybody for keys of all projects.',
  allows: ['operate'],
  query: sessionQuery,
  answers: { 200: { what: 'A page; go on while there is a cursor.', schema: sessionPage } },
  handle: (coordinator, { query, caller }) =>
    scanned(coordinator, query, (each) => maySee(caller, each)),
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
    const by = {
      kind: 'operator',
      actor: caller.name,
      reason: parseText('reason', body.reason),
    } as const;
    const answer = await coordinator.store.sessions.end({ id: session.id, by });
    if (answer.kind === 'refused') throw refusedByKernel(answer);
    return { status: 200, body: { kind: answer.kind } };
  },
});

async function scanned(
  { store }: Coordinator,
  { cursor, limit = LIMIT, all }: Scan,
  isMeant: (inspection: SessionInspection) => boolean,
): Promise<Reply> {
  const items: SessionInspection[] = [];
  let after = cursor;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const found = await store.sessions.list({
      limit: SCANNED,
      ...(all === undefined ? {} : { all }),
      ...(after === undefined ? {} : { after: parseSessionId(after) }),
    });
    for (const each of found) {
      if (isMeant(each)) items.push(each);
      after = each.session.id;
      if (items.length === limit) return pageReply(items, after);
    }
    if (found.length < SCANNED) return pageReply(items);
  }
  return pageReply(items, after);
}

function pageReply(items: readonly SessionInspection[], cursor?: string): Reply {
  const body = { items: items.map(sessionMessage), ...(cursor === undefined ? {} : { cursor }) };
  return { status: 200, body };
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
