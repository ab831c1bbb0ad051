// Sessions, workers and leases, as operators see them.

import { type Static, Type } from 'typebox';
import { LANES } from '../../execution/execution.ts';
import { adviceQuery, advised } from './advice.ts';
import { storeProblem } from './execution.ts';
import { ADMIN, type Operations, READERS } from './operation.ts';
import {
  closed,
  count,
  durationMs,
  fence,
  instant,
  lane,
  name,
  pageOf,
  paging,
  uuid,
} from './words.ts';

const STATES = ['alive', 'lapsed', 'overdue', 'ended'];
const text = Type.String({ minLength: 1, maxLength: 2_048 });
const key = Type.String({ minLength: 1, maxLength: 512 });
const ms = Type.Integer({ description: 'Milliseconds; below zero when that has passed.' });

const session = closed({
  id: uuid,
  owner: Type.String(),
  state: Type.Enum(STATES),
  project: Type.Optional(Type.String({ description: 'Of a worker that came by this API.' })),
  pipelines: Type.Optional(Type.Array(Type.String())),
  ttlMs: count,
  graceMs: count,
  slackMs: Type.Integer({ description: 'How long it may act without another heartbeat.' }),
  remainingMs: ms,
  openedAt: instant,
  beatAt: instant,
  end: Type.Optional(
    closed({
      at: instant,
      exit: Type.String(),
      cause: Type.Optional(Type.String()),
      actor: Type.Optional(Type.String()),
    }),
  ),
});

export type SessionMessage = Static<typeof session>;

const refusedWorker = closed(
  {
    release: Type.String(),
    digest: Type.String(),
    pipeline: Type.String(),
    why: Type.Enum(['release-unknown', 'release-retired', 'release-differs']),
    differs: Type.Optional(
      closed({
        part: Type.Enum(['digest', 'contract']),
        announced: Type.String(),
        registered: Type.String(),
      }),
    ),
    detail: Type.String(),
  },
  {
    description:
      'What it said that it is, and is not: it gets nothing that is pinned. Known to the coordinator that it said it to.',
  },
);

export type RefusedWorkerMessage = Static<typeof refusedWorker>;

const worker = closed({
  ...session.properties,
  kind: Type.Enum(['remote', 'embedded', 'coordinator'], {
    description: 'By this API; in a process with the store; what a coordinator does for all.',
  }),
  work: Type.Optional(
    Type.Enum(['starting', 'ready', 'draining', 'stuck', 'gone'], {
      description: 'Whether it takes work, as the loop that takes it says.',
    }),
  ),
  release: Type.Optional(Type.String()),
  refused: Type.Optional(refusedWorker),
  inFlight: closed(Object.fromEntries(LANES.map((lane) => [lane, count])), {
    description: 'What it runs now, by lane: of the project, or of all for keys of all projects.',
  }),
});

export type WorkerMessage = Static<typeof worker>;

const sessionInFull = closed({
  ...session.properties,
  leases: Type.Array(
    closed({ key: Type.String(), fence, deadlineInMs: Type.Optional(ms), drained: Type.Boolean() }),
  ),
});

const ended = closed({ kind: Type.Literal('ended') });

const leaseState = Type.Enum(['free', 'held', 'draining', 'lapsed', 'expired', 'retired']);

const listedLease = closed({
  key: Type.String(),
  state: leaseState,
  fence,
  session: uuid,
  owner: Type.String(),
  since: instant,
  freeInMs: count,
  exit: Type.Optional(Type.String()),
});

export type ListedLeaseMessage = Static<typeof listedLease>;

const leaseParams = closed({ key });

export const lease = closed({
  key: Type.String(),
  state: leaseState,
  freeInMs: count,
  waiting: count,
  fence: Type.Optional(fence),
  session: Type.Optional(uuid),
  owner: Type.Optional(Type.String()),
  grantedAt: Type.Optional(instant),
  hardDeadlineAt: Type.Optional(instant),
  drain: Type.Optional(
    closed({
      by: Type.String(),
      reason: Type.String(),
      deadlineAt: instant,
      successor: Type.Optional(Type.String()),
    }),
  ),
  end: Type.Optional(
    closed({ at: instant, exit: Type.String(), cause: Type.Optional(Type.String()) }),
  ),
  checkpoint: Type.Optional(closed({ seq: count, bytes: count, at: instant })),
  intents: Type.Optional(Type.Array(closed({ effect: Type.String(), begunAt: instant }))),
});

export type LeaseMessage = Static<typeof lease>;

const TERM = {
  fence: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Of the term that is meant; a later one is left alone.',
  }),
  reason: text,
  request: Type.Optional(uuid),
};

const revokeBody = closed(TERM);

const drainBody = closed({ ...TERM, deadlineMs: durationMs, successor: Type.Optional(name) });

export type RevokeBody = Static<typeof revokeBody>;
export type DrainBody = Static<typeof drainBody>;

const drained = closed({ kind: Type.Literal('draining'), deadlineInMs: count });

const depth = closed({
  max: count,
  lanes: Type.Array(closed({ lane, ready: count, running: count })),
  storeProblem: Type.Optional(storeProblem),
});

export type DepthMessage = Static<typeof depth>;

const sessionParams = closed({ id: uuid });

export const sessionOperations = {
  listWorkers: {
    at: 'GET /v1/workers',
    summary:
      'Workers, how they are and what they run: those of the project; for keys of all projects also those that work for all.',
    allows: READERS,
    query: closed(paging(uuid)),
    answers: { 200: { what: 'A page; go on while there is a cursor.', schema: pageOf(worker) } },
  },
  listSessions: {
    at: 'GET /v1/sessions',
    summary: 'Sessions by id: those of the project, or of everybody for keys of all projects.',
    allows: ['operate'],
    query: closed({
      all: Type.Optional(Type.Boolean({ description: 'Ended ones too.' })),
      ...paging(uuid),
    }),
    answers: { 200: { what: 'A page; go on while there is a cursor.', schema: pageOf(session) } },
  },
  readSession: {
    at: 'GET /v1/sessions/:id',
    summary: 'A session, and the leases that it carries.',
    allows: ['operate'],
    params: sessionParams,
    answers: { 200: { what: 'As it is now.', schema: sessionInFull } },
  },
  forceSessionEnd: {
    at: 'POST /v1/sessions/:id/end',
    summary: 'Ends it by force: what it holds is free for others at once.',
    ...ADMIN,
    params: sessionParams,
    body: closed({ reason: text }),
    answers: { 200: { what: 'It has ended.', schema: ended }, 409: { what: 'It had before.' } },
  },
} as const satisfies Operations;

export const leaseOperations = {
  listLeases: {
    at: 'GET /v1/leases',
    summary: 'Leases by key.',
    allows: ['operate'],
    query: closed({ prefix: Type.Optional(key), ...paging(key) }),
    answers: { 200: { what: 'A page.', schema: pageOf(listedLease) } },
  },
  readLease: {
    at: 'GET /v1/leases/:key',
    summary: 'Who holds a key, since when, and how the last term ended.',
    allows: ['operate'],
    params: leaseParams,
    answers: { 200: { what: 'As it is now; free when nobody ever had it.', schema: lease } },
  },
  drainLease: {
    at: 'POST /v1/leases/:key/drain',
    summary: 'Asks the holder to stop by a deadline.',
    ...ADMIN,
    params: leaseParams,
    body: drainBody,
    answers: {
      200: { what: 'It was asked.', schema: drained },
      409: { what: 'That term is over, or is being drained.' },
    },
  },
  revokeLease: {
    at: 'POST /v1/leases/:key/revoke',
    summary: 'Ends the term now; its holder learns of it with its next heartbeat.',
    ...ADMIN,
    params: leaseParams,
    body: revokeBody,
    answers: {
      200: { what: 'It has ended.', schema: closed({ kind: Type.Literal('revoked') }) },
      409: { what: 'That term was over.' },
    },
  },
} as const satisfies Operations;

/** The load of the queue, and advice on times. */
export const loadOperations = {
  readDepth: {
    at: 'GET /v1/depth',
    summary: 'How many executions of the project are ready for a worker and how many run, by lane.',
    allows: READERS,
    answers: { 200: { what: 'Each counted up to `max`.', schema: depth } },
  },
  readAdvice: {
    at: 'GET /v1/advice',
    summary: 'Which ttl and grace fit what is wanted, and why; with all that were looked at.',
    allows: ['operate'],
    query: adviceQuery,
    answers: {
      200: { what: 'A recommendation, or limits that contradict each other.', schema: advised },
    },
  },
} as const satisfies Operations;
