// The worker protocol: a list of messages, each a request with one reply. The transport (HTTP,
// gRPC, a queue, a call) may lose, double, delay and reorder them. Execution, fence and seq
// identify a write, an id a session, and a digest a blob. After a lost claim, the worker asks which
// executions it has. So a repeated or late message does no harm. Replies may have fields
// that are not listed here; a worker ignores them.

import { Type } from 'typebox';
import { EVENT_KINDS } from '../../execution/history.ts';
import type { Role } from '../../features/access/model.ts';
import { LEASE_MESSAGES, sessionMetadata } from '../../features/leases/messages.ts';
import { announceBody } from '../../features/releases/messages.ts';
import { DECLARED_EXITS } from '../../lease/exit.ts';
import { NO_EXECUTION } from './operation.ts';
import {
  choice,
  closed,
  count,
  decimal,
  documented,
  executionId,
  fence,
  flag,
  integer,
  integerWithin,
  lane,
  listOf,
  name,
  optional,
  pipelineName,
  releaseName,
  seq,
  status,
  text,
  titled,
  uuid,
  waitMs,
  withExample,
} from './words.ts';
import { stepHeartbeat, writeMessage } from './work.ts';
import {
  at,
  digest,
  itemsPageOf,
  message,
  NO_SESSION,
  resultOf,
  sessionId,
  type WorkMessage,
} from './work-message.ts';

/**
 * The limit for a remote worker: if it dies, its executions and an export of the store wait that
 * long.
 */
export const SESSION_MS_MAX = 600_000;
const ttlMs = integerWithin(
  1,
  SESSION_MS_MAX,
  'Lifetime after a heartbeat, in milliseconds.',
  15_000,
);

const ms = integer('Milliseconds.');
const payload = text(
  'JSON text of a stored value: `{"v":…}`, `{}` for no value, or `{"ref":digest}` for a value that `getBlob` returns.',
  '{"v":17}',
);
const object = text('JSON text of an object.', '{}');
const owner = documented(name, 'Name of the worker process.', 'worker-1');

const life = {
  ttlMs: documented(ms, 'Lifetime after a heartbeat, in milliseconds.', 15_000),
  graceMs: documented(ms, 'Last part of `ttlMs`, in which it may rejoin but not act.', 5_000),
  authorityMs: documented(
    ms,
    'How long the worker may act from when it sent this request, in milliseconds.',
    10_000,
  ),
  remainingMs: documented(ms, 'Time until the session is overdue, in milliseconds.', 15_000),
  notices: documented(
    count,
    'Number of notices to the session. If it has grown, read the inboxes of its executions.',
  ),
};

const storedExecution = Type.Object(
  {
    id: executionId,
    project: documented(name, 'Project that it belongs to.', 'default'),
    ...{ pipeline: pipelineName, lane, status },
    input: documented(payload, 'Its input, as a stored value.'),
    lineage: text(
      'First execution of its chain of re-drives. Idempotency keys begin with it.',
      '01890a5d-ac96-774b-bcce-b302099a8057',
    ),
    seq: integer('Position of the last event. The first write uses the next one.', 2),
    inboxCount: integer('Number of messages that its inbox has had.'),
    progress: optional(payload, 'Its progress, as a stored value.'),
    heartbeats: optional(
      listOf(stepHeartbeat, 'Last heartbeats of its steps that have not ended.'),
    ),
    attributes: optional(
      Type.Object({}, { description: 'Its searchable values by name.', examples: [{}] }),
    ),
    fence: optional(fence, 'Fence of its newest claim.'),
    session: optional(uuid, 'Session of its newest claim.'),
    deadlineAt: optional(at, 'When it fails unless it has ended, in milliseconds since 1970.'),
    release: optional(releaseName, 'Release that it is pinned to.'),
    parent: optional(
      Type.Object(
        {
          id: documented(executionId, 'The parent.'),
          call: text('Call of the parent.', 'child:pack#1[0]'),
        },
        { description: 'Execution that started it and gets its outcome.' },
      ),
    ),
    compensable: optional(flag('True if steps have registered compensations.')),
    compensating: optional(flag('True if its steps must be undone instead of run.')),
    claimsWithoutProgress: optional(
      count,
      'Claims in a row that were lost before they recorded anything.',
    ),
  },
  { title: 'StoredExecution', description: 'An execution as the store keeps it.' },
);

const claimed = Type.Object(
  {
    execution: storedExecution,
    fence: documented(fence, 'Fence of this claim. Every write carries it.'),
    previous: choice(
      ['none', 'parked', 'given-back', 'lost'],
      'How the claim before ended. `lost`: its session ended, so an unrecorded step may have run.',
    ),
    claimedAt: documented(at, 'When it was claimed, in milliseconds since 1970.'),
  },
  { title: 'Claimed', description: 'A claim: the right to write to one execution.' },
);

const event = Type.Object(
  {
    seq: documented(seq, 'Position in the history, from 1.'),
    at,
    kind: choice([...EVENT_KINDS], 'Kind of the event.'),
    fence: optional(fence, 'Fence of the claim that wrote it.'),
    name: optional(text('Name of the step, timer, child, signal or document.')),
    body: optional(object, 'Details: JSON text of an object.'),
  },
  titled('StoredEvent', {
    seq: 3,
    at: 1_794_907_800_120,
    kind: 'step-completed',
    fence: 1_099_511_627_777,
    name: 'charge',
    body: '{"key":"step:charge#1","out":{"v":{"receipt":"r-17"}},"attempt":1}',
  }),
);

const inboxMessage = Type.Object(
  {
    n: integer('Number of the message, from 1, without gaps.'),
    kind: choice(
      ['child-ended', 'signal', 'cancel', 'pause', 'resume', 'await-settled'],
      'Kind of the message.',
    ),
    name: optional(text('Name of the signal or await.')),
    body: optional(object, 'Details: JSON text of an object.'),
    at,
  },
  titled('InboxMessage', {
    n: 1,
    kind: 'signal',
    name: 'payment-received',
    body: '{"out":{"v":{"amount":4200}}}',
    at: 1_794_907_800_000,
  }),
);

const written = Type.Object(
  {
    kind: choice(
      ['recorded', 'finished', 'parked', 'given-back', 'refused', 'fault'],
      'The outcome of the write. After `fault`, it may have happened: send the same again.',
    ),
    inboxCount: optional(
      integer('Number of messages that the inbox has had. Read the inbox if it has grown.'),
    ),
    at: optional(at, 'When it was written, in milliseconds since 1970.'),
    why: optional(text('Code of a refusal.')),
    code: optional(text('Code of a fault.')),
  },
  titled('Written', { kind: 'recorded', inboxCount: 0, at: 1_794_907_800_120 }),
);

const page = {
  isRead: true,
  body: closed({
    id: executionId,
    after: optional(seq, 'Return items after this number. Default: 0.', 3),
    limit: optional(integerWithin(1, 10_000, 'Largest number of items. Default: 1,000.', 1_000)),
  }),
} as const;

const NOT_HERE = {
  ...NO_EXECUTION,
  410: { what: 'The execution was archived.', codes: ['execution-archived'] },
} as const;

/** Workers and clients of leases have sessions. */
const SESSION_ROLES = ['work', 'lease'] as const;

export const WORK_MESSAGES = {
  greet: message({
    at: 'GET /v1/work',
    allows: SESSION_ROLES,
    summary: 'Read what a worker must know of this coordinator',
    description:
      'Returns project, store, limits of the store and protocol version. Send it before you open a session.',
    isRead: true,
    body: closed({
      version: optional(
        Type.Integer({
          minimum: 1,
          description:
            'Newest protocol version that the worker supports. Default: the newest of the coordinator.',
        }),
      ),
    }),
    reply: Type.Object(
      {
        project: documented(name, 'Project of the key.'),
        store: text('Kind of the store.'),
        durability: text('Failures that an acknowledged write survives.'),
        policy: Type.Object({}, { description: 'Limits and times of the store.' }),
        version: integer('Protocol version that both sides support.'),
        stream: flag('True if the coordinator has `GET /v1/stream`.'),
        claimsWait: flag('True if `claimExecutions` takes `waitMs`.'),
        heartbeats: flag('True if writes may contain `heartbeats` of steps.'),
        leases: flag('True if the coordinator has the lease protocol.'),
        leaseBlocks: flag('True if workers may hold leases and write `lease-ended` events.'),
        childMessages: flag('True if the coordinator has `messageChild`.'),
        attributes: flag('True if writes may contain `attributes`.'),
      },
      withExample({
        project: 'default',
        store: 'sqlite',
        durability: 'process',
        policy: {},
        version: 2,
        stream: true,
        claimsWait: true,
        heartbeats: true,
        leases: true,
        leaseBlocks: true,
        childMessages: true,
        attributes: true,
      }),
    ),
    problems: {
      400: { what: 'The coordinator does not support this version.', codes: ['version-unknown'] },
    },
  }),
  openSession: message({
    at: 'POST /v1/work/sessions',
    allows: SESSION_ROLES,
    summary: 'Open the session of a worker',
    description:
      'Writes a session that belongs to this key. A process needs one session, whose heartbeat covers everything that it claims. Repeating it with the same content is safe; other content under the same id is refused with `session-duplicate`.',
    body: closed(
      {
        id: documented(uuid, 'Id of the session: a UUID that the worker makes.'),
        owner,
        ttlMs,
        graceMs: integerWithin(
          0,
          SESSION_MS_MAX,
          'Last part of `ttlMs`, in which it may rejoin but not act.',
        ),
        pipelines: optional(
          Type.Array(name, {
            maxItems: 1_000,
            description: 'Pipelines that the worker runs. Default: none.',
          }),
        ),
        parent: optional(uuid, 'Session of this key that it ends with. Default: none.'),
        metadata: optional(sessionMetadata),
      },
      withExample({
        id: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
        owner: 'worker-1',
        ttlMs: 15_000,
        graceMs: 5_000,
        pipelines: ['order'],
      }),
    ),
    reply: resultOf('opened', {
      replayed: flag('True if an earlier request had opened it.'),
      ...life,
    }),
    problems: NO_SESSION,
  }),
  heartbeat: message({
    at: 'POST /v1/work/sessions/:id/heartbeat',
    allows: SESSION_ROLES,
    summary: 'Extend the session of a worker',
    description:
      'Extends the session by its ttl. Send it every third of the ttl. If it is refused, stop all work and open another session: other workers may run your executions. Repeating it is safe.',
    body: closed({
      id: sessionId,
      owner,
      ttlMs: optional(ttlMs, 'New ttl, in milliseconds. Default: the ttl stays as it is.'),
    }),
    reply: resultOf('alive', {
      rejoined: flag('True if the session had lapsed and came back.'),
      ...life,
    }),
    problems: NO_SESSION,
  }),
  endSession: message({
    at: 'POST /v1/work/sessions/:id/end',
    allows: SESSION_ROLES,
    summary: 'End the session of a worker',
    description:
      'Ends the session. Other workers can claim its executions at once. Send it when the process stops. Repeating it is safe.',
    body: closed({
      id: sessionId,
      owner,
      exit: choice([...DECLARED_EXITS], 'How the worker ends.'),
    }),
    reply: resultOf('ended', { replayed: flag('True if an earlier request had ended it.') }),
    problems: NO_SESSION,
  }),
  waitForWakeup: message({
    at: 'GET /v1/work/wakeup',
    summary: 'Wait for a hint that work is ready',
    description:
      'Holds the request open until an execution may have become ready, or until `waitMs` is over. The wakeup is a hint: claim, then wait again.',
    isRead: true,
    isLong: true,
    body: closed({ waitMs: optional(waitMs) }),
    reply: Type.Object({ notified: flag('False if only the time was over.', true) }),
  }),
  claimExecutions: message({
    at: 'POST /v1/work/claims',
    summary: 'Claim executions that are ready',
    description:
      'Claims ready executions of these pipelines for the session, each under a new fence. Each claim lets the worker write until it ends the claim or the session ends. With `waitMs`, the coordinator holds the request until it can claim one, the session announces that it drains or ends, or the time is over. If the response is lost, read the claims with `listClaims`.',
    isLong: 'with-wait',
    body: closed(
      {
        session: sessionId,
        pipelines: Type.Array(name, {
          minItems: 1,
          maxItems: 1_000,
          description: 'Pipelines to claim for.',
        }),
        shares: Type.Array(
          closed({
            lane,
            limit: integerWithin(
              0,
              1_000,
              'Most claims of this lane. One response has at most 250.',
            ),
          }),
          { maxItems: 2, description: 'How many executions to claim, by lane.' },
        ),
        release: optional(
          releaseName,
          'Release that the worker announced. Default: only executions without a pin.',
        ),
        dice: optional(
          Type.Number({
            minimum: 0,
            exclusiveMaximum: 1,
            description:
              'Random number that decides which project comes first. Default: the longest ready.',
          }),
        ),
        waitMs: optional(waitMs),
      },
      withExample({
        session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
        pipelines: ['order'],
        shares: [{ lane: 'interactive', limit: 4 }],
      }),
    ),
    reply: resultOf('claimed', {
      claims: listOf(claimed, 'The claims.'),
      more: flag('True if more may be ready: claim again at once.'),
      overdue: flag('True if sessions of other workers are overdue.'),
      nextReadyInMs: optional(
        decimal('Time until the next execution becomes ready, in milliseconds, if known.'),
      ),
    }),
    problems: NO_SESSION,
  }),
  announceWorker: message({
    at: 'POST /v1/work/announcements',
    summary: 'Announce what a worker runs',
    description:
      'Writes pipelines, release and state of the worker. The loop that claims sends it at the start and then every `everyMs`, so a silent loop shows as `stuck`. A release that is unknown, retired or different is refused. Repeating it is safe.',
    body: announceBody,
    reply: resultOf('announced', {}),
    problems: NO_SESSION,
  }),
  listClaims: message({
    at: 'GET /v1/work/sessions/:id/claims',
    summary: 'List the claims of a session',
    description:
      'Returns the claims that a session carries, by fence. Use it when the response to a claim was lost.',
    isRead: true,
    body: closed({
      id: sessionId,
      after: optional(fence, 'Return claims after this fence. Default: all.'),
    }),
    reply: itemsPageOf(claimed),
    problems: NO_SESSION,
  }),
  writeAsOwner: message({
    at: 'POST /v1/work/writes',
    summary: 'Write to claimed executions',
    description:
      'Records events, finishes, parks or gives back executions. Each write is checked against its fence and done on its own; the response has one result for each. The same write again is done once. `superseded` and `claim-ended` mean that another worker has the execution.',
    takesValues: true,
    body: closed({
      writes: Type.Array(writeMessage, {
        minItems: 1,
        maxItems: 1_000,
        description: 'The writes.',
      }),
    }),
    reply: Type.Object({ results: listOf(written, 'One for each write, in order.') }),
    problems: {
      403: {
        what: 'A write reaches into another project or execution. Nothing was written.',
        codes: ['project-denied', 'name-reserved', 'role-missing'],
      },
      ...NO_SESSION,
    },
  }),
  messageChild: message({
    at: 'POST /v1/work/children/:child',
    summary: 'Signal or cancel a child',
    description:
      'Sends a signal to a child of a claimed execution, or cancels the child. `claim-ended` means that the worker no longer owns the parent, or that it has no such child. Repeating it with the same key changes nothing.',
    takesValues: true,
    body: closed({
      child: documented(executionId, 'Id of the child.'),
      id: documented(executionId, 'Id of the parent.'),
      fence: documented(fence, 'Fence of the claim of the parent.'),
      session: documented(uuid, 'Session of that claim.'),
      message: Type.Union(
        [
          closed({
            kind: Type.Literal('cancel', { description: 'Cancel the child.' }),
            reason: optional(text('Why.')),
          }),
          closed({
            kind: Type.Literal('signal', { description: 'Send a signal.' }),
            name: documented(name, 'Name of the signal.', 'paid'),
            key: documented(name, 'Key of the signal. A second one with it changes nothing.'),
            out: documented(payload, 'Its value, as a stored value.'),
          }),
        ],
        { description: 'The message.' },
      ),
    }),
    reply: Type.Object(
      {
        kind: choice(
          ['done', 'forwarded', 'no-change', 'refused'],
          '`forwarded`: the worker of the child gets it. `no-change`: it was so already.',
        ),
        status: optional(status),
        why: optional(text('Code of a refusal.')),
      },
      withExample({ kind: 'done', status: 'waiting' }),
    ),
    problems: NO_SESSION,
  }),
  readInbox: message({
    at: 'GET /v1/work/executions/:id/inbox',
    summary: 'Read the inbox of an execution',
    description:
      'Returns messages to an execution in order: signals, ended children, settled awaits, and commands of operators.',
    ...page,
    reply: itemsPageOf(inboxMessage),
    problems: NOT_HERE,
  }),
  readStoredHistory: message({
    at: 'GET /v1/work/executions/:id/history',
    summary: 'Read the stored history of an execution',
    description: 'Returns the events of an execution with their bodies as stored, for replay.',
    ...page,
    reply: itemsPageOf(event),
    problems: NOT_HERE,
  }),
  readStoredExecution: message({
    at: 'GET /v1/work/executions/:id',
    summary: 'Read a stored execution',
    description:
      'Returns an execution as stored. Its status and newest fence show whether a claim still holds.',
    isRead: true,
    body: closed({ id: executionId }),
    reply: storedExecution,
    problems: NOT_HERE,
  }),
  readStoredAwait: message({
    at: 'GET /v1/work/awaits/:id',
    summary: 'Read a stored await',
    description: 'Returns one question of an execution and its await as stored.',
    isRead: true,
    body: closed({
      id: documented(name, 'Id of the question.', '01890a5d-c3d4-7a5b-9c6d-7e8f90a1b2c3'),
    }),
    reply: Type.Object({
      interaction: Type.Object(
        { id: text('Id of the question.', '01890a5d-c3d4-7a5b-9c6d-7e8f90a1b2c3') },
        { description: 'The question, with all its stored fields.' },
      ),
    }),
  }),
  expireAwaits: message({
    at: 'POST /v1/work/executions/:id/expire-awaits',
    summary: 'Settle awaits that have timed out',
    description:
      'Settles due awaits of an execution as timed out, starts due reminders, and sends messages to the execution. At most 1,000 at a time. Repeating it is safe.',
    body: closed({ id: executionId }),
    reply: Type.Object({
      settled: documented(count, 'Number of awaits that were settled.', 1),
      started: documented(count, 'Number of reminders that were started.'),
      more: flag('True if more are due: send it again.'),
    }),
    problems: NOT_HERE,
  }),
  putBlob: message({
    at: 'PUT /v1/work/blobs/:digest',
    summary: 'Store a large value',
    description:
      'Stores bytes under their SHA-256 digest, for values that are too large for a row. Send them before a write refers to them. Repeating it is safe.',
    bytes: 'sent',
    body: closed({ digest }),
  }),
  getBlob: message({
    at: 'GET /v1/work/blobs/:digest',
    summary: 'Read a large value',
    description:
      'Returns the bytes under a digest. A project can read only values that it stored or that its executions refer to.',
    isRead: true,
    bytes: 'answered',
    body: closed({ digest }),
  }),
  ...LEASE_MESSAGES,
} as const;

export type WorkKind = keyof typeof WORK_MESSAGES;

export const WORK_KINDS: readonly WorkKind[] = Object.keys(WORK_MESSAGES) as WorkKind[];

export function workMessage(kind: WorkKind): WorkMessage {
  return WORK_MESSAGES[kind];
}

/** The roles that may send a message. */
export function rolesFor(kind: WorkKind): readonly Role[] {
  return workMessage(kind).allows ?? WORKERS;
}

const WORKERS = ['work'] as const;

/** Every role that may send some message. */
export const WORK_ROLES: readonly Role[] = [...new Set(WORK_KINDS.flatMap(rolesFor))];

export function isWorkKind(kind: string): kind is WorkKind {
  return Object.hasOwn(WORK_MESSAGES, kind);
}
