// What workers do through a coordinator. The fence in the store's predicate decides, as for workers inside
// the process; what is checked here is that nobody reaches another project: a session is of the project of
// the key that opened it, claims are of that project, and so is whatever an owner's write submits.

import type { InteractionId, PipelineName } from '../../execution/names.ts';
import type { Owner, SessionId } from '../../lease/names.ts';
import { digestOf } from '../../support/digest.ts';
import { idParams } from '../messages/execution.ts';
import {
  bellQuery,
  claimBody,
  digestParams,
  endSessionBody,
  heartbeatBody,
  inboxQuery,
  interactionParams,
  openSessionBody,
  sessionParams,
  writesBody,
} from '../messages/work.ts';
import { executionFor } from './found.ts';
import { noteIssued } from './issued-fences.ts';
import { notFound } from './problems.ts';
import { ProblemReply, type Route, route } from './route.ts';
import { withinMs } from './waiting.ts';
import { claimFor } from './work-claim.ts';
import { metadataOf, requireOwnSession } from './work-session.ts';
import { perform, toWrite } from './work-writes.ts';

const WORK = ['work'] as const;
const ANSWER = { 200: { what: 'What the store answered, refusals too.' } } as const;

const hello = route({
  method: 'GET',
  path: '/v1/work',
  name: 'greet',
  summary: 'What a worker must know of this coordinator before it opens its session.',
  allows: WORK,
  answers: { 200: { what: 'Project, store and lease policy.' } },
  async handle({ store }, { caller }) {
    const { kind, durability, policy } = store;
    return { status: 200, body: { project: caller.project, store: kind, durability, policy } };
  },
});

const openSession = route({
  method: 'POST',
  path: '/v1/work/sessions',
  name: 'openSession',
  summary: 'A worker process begins: one session, one heartbeat for all that it claims.',
  allows: WORK,
  body: openSessionBody,
  answers: ANSWER,
  async handle({ store }, { body, caller }) {
    const { id, owner, ttlMs, graceMs, pipelines } = body;
    const answer = await store.sessions.open({
      id: id as SessionId,
      owner: owner as Owner,
      ttlMs,
      graceMs,
      metadata: metadataOf(caller, pipelines),
    });
    return { status: 200, body: answer };
  },
});

const heartbeat = route({
  method: 'POST',
  path: '/v1/work/sessions/:id/heartbeat',
  name: 'heartbeat',
  summary: 'The worker lives. Refused and without effect when it comes too late.',
  allows: WORK,
  params: sessionParams,
  body: heartbeatBody,
  answers: ANSWER,
  async handle(coordinator, { params, body, caller }) {
    const id = await requireOwnSession(coordinator, caller, params.id);
    const { owner, ttlMs } = body;
    const request = { id, owner: owner as Owner, ...(ttlMs === undefined ? {} : { ttlMs }) };
    return { status: 200, body: await coordinator.store.sessions.heartbeat(request) };
  },
});

const endSession = route({
  method: 'POST',
  path: '/v1/work/sessions/:id/end',
  name: 'endSession',
  summary: 'The worker leaves; what it still had is claimed by others at once.',
  allows: WORK,
  params: sessionParams,
  body: endSessionBody,
  answers: ANSWER,
  async handle(coordinator, { params, body, caller }) {
    const id = await requireOwnSession(coordinator, caller, params.id);
    const by = { kind: 'owner', owner: body.owner as Owner, exit: body.exit } as const;
    return { status: 200, body: await coordinator.store.sessions.end({ id, by }) };
  },
});

const bell = route({
  method: 'GET',
  path: '/v1/work/bell',
  name: 'waitForBell',
  summary:
    'Answered when something may have become ready, or after `waitMs`. A hint: claim, then ask again.',
  allows: WORK,
  isLong: true,
  query: bellQuery,
  answers: { 200: { what: 'Whether it rang.' } },
  async handle({ store, timers }, { query, signal }) {
    const rang = await withinMs(timers, { ms: query.waitMs ?? 0, signal }, (until) => {
      return new Promise<true>((resolve, reject) => {
        const unlisten = store.executions.onRing(() => {
          unlisten();
          resolve(true);
        });
        until.addEventListener('abort', () => {
          unlisten();
          reject(until.reason);
        });
      });
    });
    return { status: 200, body: { rang: rang === true } };
  },
});

const claim = route({
  method: 'POST',
  path: '/v1/work/claims',
  name: 'claimExecutions',
  summary: 'Takes what is ready for these pipelines, each under a fence of its own.',
  allows: WORK,
  body: claimBody,
  answers: ANSWER,
  async handle(coordinator, { body, caller }) {
    const session = await requireOwnSession(coordinator, caller, body.session);
    const answer = await claimFor(coordinator, {
      session,
      pipelines: body.pipelines as PipelineName[],
      shares: body.shares,
      project: caller.project,
      ...(body.dice === undefined ? {} : { dice: body.dice }),
    });
    const claims = answer.kind === 'claimed' ? answer.claims : [];
    for (const { fence } of claims) noteIssued(coordinator.store, fence);
    return { status: 200, body: answer };
  },
});

const carried = route({
  method: 'GET',
  path: '/v1/work/sessions/:id/claims',
  name: 'listClaims',
  summary: 'All that a session carries: for a worker that has lost the answer to a claim.',
  allows: WORK,
  params: sessionParams,
  answers: ANSWER,
  async handle(coordinator, { params, caller }) {
    const session = await requireOwnSession(coordinator, caller, params.id);
    const items = await coordinator.store.executions.carried(session);
    return { status: 200, body: { items } };
  },
});

const writes = route({
  method: 'POST',
  path: '/v1/work/writes',
  name: 'writeAsOwner',
  summary: 'What owners record, finish, park and give back: each for itself, under its fence.',
  allows: WORK,
  body: writesBody,
  answers: ANSWER,
  async handle(coordinator, { body, caller }) {
    const all = body.writes.map((each) => toWrite(each, caller));
    for (const session of new Set(body.writes.map((each) => each.session))) {
      await requireOwnSession(coordinator, caller, session);
    }
    return { status: 200, body: await perform(coordinator.store, caller, all) };
  },
});

/** Pages of what belongs to an execution, as it is stored. */
function pages(what: 'inbox' | 'history', spec: Pick<Route, 'name' | 'summary'>): Route {
  return route({
    ...spec,
    method: 'GET',
    path: `/v1/work/executions/:id/${what}`,
    allows: WORK,
    params: idParams,
    query: inboxQuery,
    answers: ANSWER,
    async handle(coordinator, { params, query, caller }) {
      const { id } = await executionFor(coordinator, caller, params.id);
      const { after = 0, limit = 1_000 } = query;
      const items = await coordinator.store.executions[what]({ id, after, limit });
      return { status: 200, body: { items } };
    },
  });
}

const inbox = pages('inbox', {
  name: 'readInbox',
  summary: 'Messages for an execution, after `after`.',
});

const history = pages('history', {
  name: 'readStoredHistory',
  summary: 'What happened to an execution, as it is stored, after `after`.',
});

const record = route({
  method: 'GET',
  path: '/v1/work/executions/:id',
  name: 'readStoredExecution',
  summary:
    'What became of an execution: its status and newest fence decide what became of a claim.',
  allows: WORK,
  params: idParams,
  answers: ANSWER,
  async handle(coordinator, { params, caller }) {
    return { status: 200, body: await executionFor(coordinator, caller, params.id) };
  },
});

const interaction = route({
  method: 'GET',
  path: '/v1/work/awaits/:id',
  name: 'readStoredAwait',
  summary: 'An await of an execution, as it is stored.',
  allows: WORK,
  params: interactionParams,
  answers: ANSWER,
  async handle({ store }, { params, caller }) {
    const query = { project: caller.project, id: params.id as InteractionId };
    const found = await store.executions.interaction(query);
    if (found === undefined) throw notFound(`await with interaction ${params.id}`);
    return { status: 200, body: found };
  },
});

const expireAwaits = route({
  method: 'POST',
  path: '/v1/work/executions/:id/expire-awaits',
  name: 'expireAwaits',
  summary: 'Settles awaits of an execution that have passed their time.',
  allows: WORK,
  params: idParams,
  answers: ANSWER,
  async handle(coordinator, { params, caller }) {
    const { id: execution } = await executionFor(coordinator, caller, params.id);
    const request = { execution, limit: 1_000 };
    return { status: 200, body: await coordinator.store.executions.expireAwaits(request) };
  },
});

const putBlob = route({
  method: 'PUT',
  path: '/v1/work/blobs/:digest',
  name: 'putBlob',
  summary: 'A value that is too large for a row, under its digest; before anything refers to it.',
  allows: WORK,
  takesBytes: true,
  params: digestParams,
  answers: { 204: { what: 'It is stored.' } },
  async handle({ store }, { params, body }) {
    const bytes = body as unknown;
    if (!(bytes instanceof Uint8Array) || digestOf(bytes) !== params.digest) {
      throw new ProblemReply(400, 'invalid-input', 'The bytes do not have this SHA-256 digest.');
    }
    await store.executions.putBlob({ digest: params.digest, bytes });
    return { status: 204 };
  },
});

const getBlob = route({
  method: 'GET',
  path: '/v1/work/blobs/:digest',
  name: 'getBlob',
  summary: 'A large value, by its digest, which nobody knows who has not seen it.',
  allows: WORK,
  params: digestParams,
  answers: { 200: { what: 'Its bytes.' } },
  async handle({ store }, { params }) {
    const bytes = await store.executions.getBlob(params.digest);
    if (bytes === undefined) throw notFound(`value ${params.digest}`);
    return { status: 200, raw: { type: 'application/octet-stream', bytes } };
  },
});

export const workRoutes: readonly Route[] = [
  hello,
  openSession,
  heartbeat,
  endSession,
  bell,
  claim,
  carried,
  writes,
  inbox,
  history,
  record,
  interaction,
  expireAwaits,
  putBlob,
  getBlob,
];
