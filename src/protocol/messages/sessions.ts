// Sessions, workers and leases, as operators see them.

import { type Static, Type } from 'typebox';
import { LANES } from '../../execution/execution.ts';
import { adviceQuery, advised } from './advice.ts';
import { storeProblem } from './execution.ts';
import { ADMIN, type Operations, READERS } from './operation.ts';
import {
  closed,
  count,
  documented,
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
const text = Type.String({
  minLength: 1,
  maxLength: 2_048,
  description: 'Reason of the caller. Stored in the audit record.',
  examples: ['Host is being replaced.'],
});
const key = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'Key of a lease.',
  examples: ['reports/nightly'],
});
const ms = Type.Integer({ description: 'Milliseconds; below zero when that time has passed.' });

const SESSION_EXAMPLE = {
  id: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
  owner: 'worker-1',
  state: 'alive',
  project: 'default',
  pipelines: ['order'],
  ttlMs: 15_000,
  graceMs: 5_000,
  slackMs: 8_200,
  remainingMs: 13_200,
  openedAt: '2026-11-17T09:00:00.000Z',
  beatAt: '2026-11-17T09:30:00.000Z',
};

const session = closed(
  {
    id: documented(uuid, 'Id of the session.'),
    owner: Type.String({ description: 'Name that the process gave itself.' }),
    state: Type.Enum(STATES, {
      description:
        '`lapsed`: it may not act, but can rejoin. `overdue`: its time is over and the end is not stored yet.',
    }),
    project: Type.Optional(
      Type.String({ description: 'Project of a worker that connects through this API.' }),
    ),
    pipelines: Type.Optional(Type.Array(Type.String(), { description: 'Pipelines that it runs.' })),
    ttlMs: documented(count, 'Lifetime after a heartbeat, in milliseconds.'),
    graceMs: documented(count, 'Last part of `ttlMs`, in which it may rejoin but not act.'),
    slackMs: Type.Integer({
      description: 'How long it may act without another heartbeat, in milliseconds.',
    }),
    remainingMs: documented(
      ms,
      'Time until it is overdue, in milliseconds; below zero afterwards.',
    ),
    openedAt: documented(instant, 'When it was opened.'),
    beatAt: documented(instant, 'When its last heartbeat arrived.'),
    end: Type.Optional(
      closed(
        {
          at: documented(instant, 'When it ended.'),
          exit: Type.String({ description: 'How it ended, such as `finished` or `expired`.' }),
          cause: Type.Optional(
            Type.String({ description: 'The reason, if an operator ended it.' }),
          ),
          actor: Type.Optional(Type.String({ description: 'The actor that ended it.' })),
        },
        { description: 'Its end. Absent while it lives.' },
      ),
    ),
  },
  { title: 'Session', examples: [SESSION_EXAMPLE] },
);

export type SessionMessage = Static<typeof session>;

const refusedWorker = closed(
  {
    release: Type.String({ description: 'Release that it announced.' }),
    digest: Type.String({ description: 'Digest that it announced.' }),
    pipeline: Type.String({ description: 'Pipeline that it was refused for.' }),
    why: Type.Enum(['release-unknown', 'release-retired', 'release-differs'], {
      description: 'Code of the refusal.',
    }),
    differs: Type.Optional(
      closed(
        {
          part: Type.Enum(['digest', 'contract'], { description: 'The part that differs.' }),
          announced: Type.String({ description: 'Value of the worker.' }),
          registered: Type.String({ description: 'Value of the registered release.' }),
        },
        { description: 'The difference, for `release-differs`.' },
      ),
    ),
    detail: Type.String({ description: 'Cause and fix, for people.' }),
  },
  {
    title: 'RefusedWorker',
    description:
      'Why its announced release was refused. Such a worker gets no pinned executions. Only the coordinator that received the announcement knows it.',
  },
);

export type RefusedWorkerMessage = Static<typeof refusedWorker>;

const worker = closed(
  {
    ...session.properties,
    kind: Type.Enum(['remote', 'embedded', 'coordinator'], {
      description:
        '`remote`: connects through this API. `embedded`: has the store in its process. `coordinator`: does maintenance for all projects.',
    }),
    work: Type.Optional(
      Type.Enum(['starting', 'ready', 'draining', 'stuck', 'gone'], {
        description:
          'State of its claim loop. `stuck`: the process lives, but the loop does not run.',
      }),
    ),
    release: Type.Optional(Type.String({ description: 'Release that it runs.' })),
    refused: Type.Optional(refusedWorker),
    inFlight: closed(
      Object.fromEntries(
        LANES.map((lane) => [lane, documented(count, `Number of ${lane} executions.`)]),
      ),
      {
        description:
          'Executions that it runs now, by lane: of the project, or of all projects for keys for all projects.',
      },
    ),
  },
  {
    title: 'Worker',
    examples: [
      {
        ...{ ...SESSION_EXAMPLE, kind: 'remote', work: 'ready', release: 'v2' },
        inFlight: { interactive: 3, batch: 1 },
      },
    ],
  },
);

export type WorkerMessage = Static<typeof worker>;

const sessionInFull = closed(
  {
    ...session.properties,
    leases: Type.Array(
      closed({
        key: Type.String({ description: 'Key of the lease.' }),
        fence,
        deadlineInMs: Type.Optional(
          documented(ms, 'Time until its hard deadline or drain deadline, in milliseconds.'),
        ),
        drained: Type.Boolean({ description: 'True if its holder was asked to stop.' }),
      }),
      { description: 'Leases that the session carries.' },
    ),
  },
  {
    title: 'SessionInFull',
    examples: [
      {
        ...SESSION_EXAMPLE,
        leases: [{ key: 'reports/nightly', fence: 1_099_511_627_777, drained: false }],
      },
    ],
  },
);

const ended = closed({ kind: Type.Literal('ended', { description: 'Always `ended`.' }) });

const leaseState = Type.Enum(['free', 'held', 'draining', 'lapsed', 'expired', 'retired'], {
  title: 'LeaseState',
  description:
    '`lapsed`: the holder may not act, but can rejoin. `retired`: its work is done for good.',
});

const freeInMs = documented(
  count,
  'Time after which another session can acquire it if the holder stops renewing, in milliseconds.',
);

const listedLease = closed(
  {
    key: Type.String({ description: 'Key of the lease.' }),
    state: leaseState,
    fence: documented(fence, 'Fence of its newest term.'),
    session: documented(uuid, 'Session of the newest term.'),
    owner: Type.String({ description: 'Name of the holder.' }),
    since: documented(instant, 'When the newest term began.'),
    freeInMs,
    exit: Type.Optional(Type.String({ description: 'How the newest term ended.' })),
  },
  {
    title: 'ListedLease',
    examples: [
      {
        key: 'reports/nightly',
        state: 'held',
        fence: 1_099_511_627_777,
        session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
        owner: 'worker-1',
        since: '2026-11-17T09:00:00.000Z',
        freeInMs: 13_200,
      },
    ],
  },
);

export type ListedLeaseMessage = Static<typeof listedLease>;

const leaseParams = closed({ key });

export const lease = closed(
  {
    key: Type.String({ description: 'Key of the lease.' }),
    state: leaseState,
    freeInMs,
    waiting: documented(count, 'Number of sessions in its queue.'),
    fence: Type.Optional(documented(fence, 'Fence of its newest term.')),
    session: Type.Optional(documented(uuid, 'Session of the newest term.')),
    owner: Type.Optional(Type.String({ description: 'Name of the holder.' })),
    grantedAt: Type.Optional(documented(instant, 'When the newest term began.')),
    hardDeadlineAt: Type.Optional(
      documented(instant, 'When the term ends whatever the holder does.'),
    ),
    drain: Type.Optional(
      closed(
        {
          actor: Type.String({ description: 'The actor.' }),
          reason: Type.String({ description: 'The reason.' }),
          deadlineAt: documented(instant, 'When the holder must have stopped.'),
          successor: Type.Optional(
            Type.String({ description: 'Owner that the key is reserved for afterwards.' }),
          ),
        },
        { description: 'Request to the holder to stop.' },
      ),
    ),
    end: Type.Optional(
      closed(
        {
          at: documented(instant, 'When the term ended.'),
          exit: Type.String({ description: 'How it ended.' }),
          cause: Type.Optional(Type.String({ description: 'The reason, if it was revoked.' })),
        },
        { description: 'End of the newest term. Absent while it is held.' },
      ),
    ),
    checkpoint: Type.Optional(
      closed(
        {
          seq: documented(count, 'Number of the checkpoint.'),
          bytes: documented(count, 'Size in bytes.'),
          at: documented(instant, 'When it was saved.'),
        },
        { description: 'Last checkpoint, without its content.' },
      ),
    ),
    intents: Type.Optional(
      Type.Array(
        closed({
          effect: Type.String({ description: 'Name of the external effect.' }),
          begunAt: documented(instant, 'When the holder announced it.'),
        }),
        { description: 'External effects that were announced and not settled.' },
      ),
    ),
  },
  {
    title: 'Lease',
    examples: [
      {
        key: 'reports/nightly',
        state: 'held',
        freeInMs: 13_200,
        waiting: 1,
        fence: 1_099_511_627_777,
        session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
        owner: 'worker-1',
        grantedAt: '2026-11-17T09:00:00.000Z',
        checkpoint: { seq: 4, bytes: 128, at: '2026-11-17T09:29:00.000Z' },
        intents: [],
      },
    ],
  },
);

export type LeaseMessage = Static<typeof lease>;

const TERM = {
  fence: documented(fence, 'Fence of the term that you mean. A later term stays as it is.'),
  reason: text,
  request: Type.Optional(
    documented(
      uuid,
      'Id of this request: send the same id when you repeat it. Default: a new one.',
    ),
  ),
};

const TERM_EXAMPLE = { fence: 1_099_511_627_777, reason: 'Host is being replaced.' };

const revokeBody = closed(TERM, { title: 'RevokeBody', examples: [TERM_EXAMPLE] });

const drainBody = closed(
  {
    ...TERM,
    deadlineMs: documented(durationMs, 'Time that the holder has to stop, in milliseconds.'),
    successor: Type.Optional(
      documented(name, 'Owner that the key is reserved for afterwards. Default: none.', 'worker-2'),
    ),
  },
  { title: 'DrainBody', examples: [{ ...TERM_EXAMPLE, deadlineMs: 60_000 }] },
);

export type RevokeBody = Static<typeof revokeBody>;
export type DrainBody = Static<typeof drainBody>;

const drained = closed({
  kind: Type.Literal('draining', { description: 'Always `draining`.' }),
  deadlineInMs: documented(count, 'Time until the deadline, in milliseconds.', 60_000),
});

const depth = closed(
  {
    max: documented(
      count,
      'Largest number that is counted. A count of `max` means this many or more.',
    ),
    lanes: Type.Array(
      closed({
        lane,
        ready: documented(count, 'Number of executions that wait for a worker.'),
        running: documented(count, 'Number of executions that a worker runs.'),
      }),
      { description: 'Counts by lane.' },
    ),
    storeProblem: Type.Optional(storeProblem),
  },
  {
    examples: [
      {
        max: 10_000,
        lanes: [
          { lane: 'interactive', ready: 2, running: 3 },
          { lane: 'batch', ready: 140, running: 1 },
        ],
      },
    ],
  },
);

export type DepthMessage = Static<typeof depth>;

const sessionParams = closed({ id: documented(uuid, 'Id of the session.') });

const NO_SESSION = {
  404: {
    what: 'There is no such session, or this key may not see it.',
    codes: ['session-unknown'],
  },
} as const;

const ONLY_ALL = {
  403: {
    what: 'The caller lacks the role, or its key is not for all projects.',
    codes: ['role-missing', 'project-denied'],
  },
} as const;

export const sessionOperations = {
  listWorkers: {
    at: 'GET /v1/workers',
    tag: 'Workers and sessions',
    summary: 'List workers',
    description:
      "Returns the project's live workers: state, release, pipelines and what they run. Keys for all projects also see workers that serve all projects. Read on while there is a cursor; a page may be empty.",
    allows: READERS,
    query: closed(paging(uuid)),
    responses: { 200: { what: 'One page of workers.', schema: pageOf(worker) } },
  },
  listSessions: {
    at: 'GET /v1/sessions',
    tag: 'Workers and sessions',
    summary: 'List sessions',
    description:
      "Returns the project's sessions by id. Keys for all projects see every session. Read on while there is a cursor; a page may be empty.",
    allows: ['operate'],
    query: closed({
      all: Type.Optional(
        Type.Boolean({
          description: 'Also list ended sessions. Default: false.',
          examples: [true],
        }),
      ),
      ...paging(uuid),
    }),
    responses: { 200: { what: 'One page of sessions.', schema: pageOf(session) } },
  },
  readSession: {
    at: 'GET /v1/sessions/:id',
    tag: 'Workers and sessions',
    summary: 'Read a session',
    description: 'Returns one session and the leases that it carries.',
    allows: ['operate'],
    params: sessionParams,
    responses: { 200: { what: 'The session.', schema: sessionInFull }, ...NO_SESSION },
  },
  forceSessionEnd: {
    at: 'POST /v1/sessions/:id/end',
    tag: 'Workers and sessions',
    summary: 'End a session by force',
    description:
      'Ends the session now, so that others can take its leases and executions at once. Its later writes are refused. Writes an audit record first. Repeating it is refused with `session-ended`.',
    ...ADMIN,
    params: sessionParams,
    body: closed({ reason: text }),
    responses: {
      200: { what: 'The session has ended.', schema: ended },
      ...NO_SESSION,
      409: { what: 'The session had ended before.', codes: ['session-ended'] },
    },
  },
} as const satisfies Operations;

const TERM_OVER = ['superseded', 'ended', 'expired', 'lapsed'] as const;

const NO_LEASE = {
  ...ONLY_ALL,
  404: { what: 'The key was never acquired in this store.', codes: ['key-unknown'] },
} as const;

export const leaseOperations = {
  listLeases: {
    at: 'GET /v1/leases',
    tag: 'Leases',
    summary: 'List leases',
    description:
      'Returns leases by key, with state and holder. Leases belong to no project, so it needs a key for all projects.',
    allows: ['operate'],
    query: closed({
      prefix: Type.Optional(documented(key, 'Only keys that begin with this.', 'reports/')),
      ...paging(key),
    }),
    responses: { 200: { what: 'One page of leases.', schema: pageOf(listedLease) }, ...ONLY_ALL },
  },
  readLease: {
    at: 'GET /v1/leases/:key',
    tag: 'Leases',
    summary: 'Read a lease',
    description:
      'Returns who holds a key, since when, its checkpoint and intents, and how the last term ended. A key that was never acquired is `free`. Needs a key for all projects.',
    allows: ['operate'],
    params: leaseParams,
    responses: { 200: { what: 'The lease.', schema: lease }, ...ONLY_ALL },
  },
  drainLease: {
    at: 'POST /v1/leases/:key/drain',
    tag: 'Leases',
    summary: 'Ask the holder of a lease to stop',
    description:
      'Sends the holder a request to stop by a deadline; the store revokes the lease then. Writes an audit record first. Repeating it with the same `request` is safe. Needs a key for all projects.',
    ...ADMIN,
    params: leaseParams,
    body: drainBody,
    responses: {
      200: { what: 'The holder will get the request.', schema: drained },
      ...NO_LEASE,
      409: {
        what: 'The term is over, or it is draining already. The lease did not change.',
        codes: [...TERM_OVER, 'already-draining'],
      },
    },
  },
  revokeLease: {
    at: 'POST /v1/leases/:key/revoke',
    tag: 'Leases',
    summary: 'Revoke a lease',
    description:
      'Ends the term now, so that another session can acquire the key. The holder learns of it with its next heartbeat, and its writes are refused. Writes an audit record first. Needs a key for all projects.',
    ...ADMIN,
    params: leaseParams,
    body: revokeBody,
    responses: {
      200: {
        what: 'The term has ended.',
        schema: closed({ kind: Type.Literal('revoked', { description: 'Always `revoked`.' }) }),
      },
      ...NO_LEASE,
      409: { what: 'The term was over before. The lease did not change.', codes: TERM_OVER },
    },
  },
} as const satisfies Operations;

/** The load of the queue, and advice on times. */
export const loadOperations = {
  readDepth: {
    at: 'GET /v1/depth',
    tag: 'Workers and sessions',
    summary: 'Read the queue depth',
    description:
      "Returns how many of the project's executions wait for a worker and how many run, by lane.",
    allows: READERS,
    isSearch: true,
    responses: { 200: { what: 'The counts.', schema: depth } },
  },
  readAdvice: {
    at: 'GET /v1/advice',
    tag: 'Workers and sessions',
    summary: 'Recommend ttl and grace for sessions',
    description:
      'Returns the ttl, grace and heartbeat interval that meet your goals, with the predicted takeover time and false losses. Values that you leave out are measured by this coordinator or assumed.',
    allows: ['operate'],
    query: adviceQuery,
    responses: {
      200: { what: 'A recommendation, or the goals that contradict each other.', schema: advised },
    },
  },
} as const satisfies Operations;
