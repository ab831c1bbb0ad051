// The worker protocol: a list of messages, each a request with one reply. The transport (HTTP,
// gRPC, a queue, a call) may lose, double, delay and reorder them. Execution, fence and seq
// identify a write, an id a session, and a digest a blob. After a lost claim, the worker asks which
// executions it has. So a repeated or late message does no harm. Replies may have fields
// that are not listed here; a worker ignores them.

import { type TObject, type TProperties, type TSchema, type TUnion, Type } from 'typebox';
import { EVENT_KINDS } from '../../execution/history.ts';
import { announceBody } from '../../features/releases/messages.ts';
import { DECLARED_EXITS } from '../../lease/exit.ts';
import type { Method } from './operation.ts';
import {
  closed,
  count,
  executionId,
  fence,
  lane,
  name,
  releaseName,
  seq,
  status,
  uuid,
  waitMs,
} from './words.ts';
import { writeMessage } from './work.ts';

interface Spec {
  /**
   * The address over HTTP. Names in the path come from the body. The rest is the request body, or
   * the query of a GET.
   */
  readonly at: `${Method} /${string}`;
  readonly summary: string;
  /** All fields in one object. */
  readonly body: TObject;
  /** Absent: an empty reply, or bytes. */
  readonly reply?: TSchema;
  /** Repeating it is harmless. */
  readonly isRead?: boolean;
  /** The coordinator holds it open until there is something to send. */
  readonly isLong?: boolean;
  /** The body has users' values, which may be large. */
  readonly takesValues?: boolean;
  /** The request or the reply carries bytes. */
  readonly bytes?: 'sent' | 'answered';
}

export interface WorkMessage extends Spec {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
}

function message<const Of extends Spec>(spec: Of): Of & Pick<WorkMessage, 'method' | 'path'> {
  const [method, path = ''] = spec.at.split(' ') as [WorkMessage['method'], string];
  return { ...spec, method, path };
}

/**
 * The limit for a remote worker: if it dies, its executions and an export of the store wait that
 * long.
 */
const HELD_MS_MAX = 600_000;
const ttlMs = Type.Integer({ minimum: 1, maximum: HELD_MS_MAX });

const ms = Type.Integer({ description: 'Milliseconds.' });
const at = Type.Integer({ description: 'Store time, in milliseconds since 1970.' });
const payload = Type.String({
  description:
    'JSON text of a stored value: {"v":…}, or {} for nothing, or {"ref":digest} for one that getBlob returns.',
});
const object = Type.String({ description: 'JSON text of an object.' });
const digest = Type.String({ pattern: '^[0-9a-f]{64}$' });

const refused = Type.Object(
  { kind: Type.Literal('refused'), why: Type.String() },
  { description: 'Nothing was done. Other fields depend on `why`.' },
);

function answer(kind: string, more: TProperties): TUnion {
  return Type.Union([Type.Object({ kind: Type.Literal(kind), ...more }), refused]);
}

const life = { ttlMs: ms, graceMs: ms, authorityMs: ms, remainingMs: ms, notices: count };

const storedExecution = Type.Object({
  ...{ id: executionId, project: name, pipeline: name, lane, status, input: payload },
  lineage: Type.String({ description: 'Idempotency keys begin with it.' }),
  seq: Type.Integer({ description: 'Of the last event; the first write has the next one.' }),
  news: Type.Integer({ description: 'How many messages its inbox has had.' }),
  progress: Type.Optional(payload),
  fence: Type.Optional(fence),
  session: Type.Optional(uuid),
  deadlineAt: Type.Optional(at),
});

const claimed = Type.Object({
  execution: storedExecution,
  fence,
  previous: Type.Enum(['none', 'parked', 'given-back', 'lost']),
  claimedAt: at,
});

const event = Type.Object({
  ...{ seq, at, kind: Type.Enum([...EVENT_KINDS]) },
  fence: Type.Optional(fence),
  name: Type.Optional(Type.String()),
  body: Type.Optional(object),
});

const inboxMessage = Type.Object({
  n: Type.Integer({ description: 'From 1, without gaps.' }),
  kind: Type.Enum(['child-ended', 'signal', 'cancel', 'pause', 'resume', 'await-settled']),
  name: Type.Optional(Type.String()),
  body: Type.Optional(object),
  at,
});

const written = Type.Object(
  {
    kind: Type.Enum(['recorded', 'finished', 'parked', 'given-back', 'refused', 'fault']),
    news: Type.Optional(Type.Integer({ description: 'Read the inbox if it has grown.' })),
    at: Type.Optional(at),
    why: Type.Optional(Type.String({ description: 'Of a refusal.' })),
    code: Type.Optional(Type.String({ description: 'Of a fault.' })),
  },
  { description: '`fault`: it is not known whether it was done. Send the same again.' },
);

function pageOf(item: TSchema): TObject {
  const more = Type.Boolean({ description: 'The page ended early: ask again after it.' });
  return Type.Object({ items: Type.Array(item), more: Type.Optional(more) });
}

const page = {
  isRead: true,
  body: closed({
    id: executionId,
    after: Type.Optional(seq),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  }),
} as const;

export const WORK_MESSAGES = {
  greet: message({
    at: 'GET /v1/work',
    summary: 'What a worker must know of this coordinator before it opens its session.',
    isRead: true,
    body: closed({
      version: Type.Optional(
        Type.Integer({ minimum: 1, description: 'The newest that the worker speaks. Default 1.' }),
      ),
    }),
    reply: Type.Object({
      ...{ project: name, store: Type.String(), durability: Type.String() },
      policy: Type.Object({}),
      version: Type.Integer({ description: 'Of the protocol, as both sides know it.' }),
    }),
  }),
  openSession: message({
    at: 'POST /v1/work/sessions',
    summary: 'A worker process begins: one session, one heartbeat for all that it claims.',
    body: closed({
      id: uuid,
      owner: name,
      ttlMs,
      graceMs: Type.Integer({ minimum: 0, maximum: HELD_MS_MAX }),
      pipelines: Type.Optional(Type.Array(name, { maxItems: 1_000 })),
    }),
    reply: answer('opened', { replayed: Type.Boolean(), ...life }),
  }),
  heartbeat: message({
    at: 'POST /v1/work/sessions/:id/heartbeat',
    summary: 'The worker lives. Refused and without effect when it comes too late.',
    body: closed({ id: uuid, owner: name, ttlMs: Type.Optional(ttlMs) }),
    reply: answer('alive', { rejoined: Type.Boolean(), ...life }),
  }),
  endSession: message({
    at: 'POST /v1/work/sessions/:id/end',
    summary: 'The worker leaves; what it still had is claimed by others at once.',
    body: closed({ id: uuid, owner: name, exit: Type.Enum([...DECLARED_EXITS]) }),
    reply: answer('ended', { replayed: Type.Boolean() }),
  }),
  waitForBell: message({
    at: 'GET /v1/work/bell',
    summary:
      'Answered when something may have become ready, or after `waitMs`. A hint: claim, then ask again.',
    isRead: true,
    isLong: true,
    body: closed({ waitMs: Type.Optional(waitMs) }),
    reply: Type.Object({ rang: Type.Boolean() }),
  }),
  claimExecutions: message({
    at: 'POST /v1/work/claims',
    summary: 'Takes what is ready for these pipelines, each under a fence of its own.',
    body: closed({
      session: uuid,
      pipelines: Type.Array(name, { minItems: 1, maxItems: 1_000 }),
      shares: Type.Array(closed({ lane, limit: Type.Integer({ minimum: 0, maximum: 1_000 }) }), {
        maxItems: 2,
      }),
      release: Type.Optional(releaseName),
      dice: Type.Optional(Type.Number({ minimum: 0, exclusiveMaximum: 1 })),
    }),
    reply: answer('claimed', {
      claims: Type.Array(claimed),
      more: Type.Boolean({ description: 'Claim again at once.' }),
      overdue: Type.Boolean(),
      nextReadyInMs: Type.Optional(Type.Number()),
    }),
  }),
  announceWorker: message({
    at: 'POST /v1/work/announcements',
    summary: 'What a worker has and that it takes work, said by the loop that takes it.',
    body: announceBody,
    reply: answer('announced', {}),
  }),
  listClaims: message({
    at: 'GET /v1/work/sessions/:id/claims',
    summary:
      'What a session carries, by fence, after `after`: for a worker that has lost the answer to a claim.',
    isRead: true,
    /** `after` is the last fence of the previous page. */
    body: closed({ id: uuid, after: Type.Optional(fence) }),
    reply: pageOf(claimed),
  }),
  writeAsOwner: message({
    at: 'POST /v1/work/writes',
    summary: 'What owners record, finish, park and give back: each for itself, under its fence.',
    takesValues: true,
    body: closed({ writes: Type.Array(writeMessage, { minItems: 1, maxItems: 1_000 }) }),
    reply: Type.Object({
      answers: Type.Array(written, { description: 'One for each write, in order.' }),
    }),
  }),
  readInbox: message({
    at: 'GET /v1/work/executions/:id/inbox',
    summary: 'Messages for an execution, after `after`.',
    ...page,
    reply: pageOf(inboxMessage),
  }),
  readStoredHistory: message({
    at: 'GET /v1/work/executions/:id/history',
    summary: 'What happened to an execution, as it is stored, after `after`.',
    ...page,
    reply: pageOf(event),
  }),
  readStoredExecution: message({
    at: 'GET /v1/work/executions/:id',
    summary:
      'What became of an execution: its status and newest fence decide what became of a claim.',
    isRead: true,
    body: closed({ id: executionId }),
    reply: storedExecution,
  }),
  readStoredAwait: message({
    at: 'GET /v1/work/awaits/:id',
    summary: 'An await of an execution, as it is stored.',
    isRead: true,
    body: closed({ id: name }),
    reply: Type.Object({ interaction: Type.Object({ id: Type.String() }) }),
  }),
  expireAwaits: message({
    at: 'POST /v1/work/executions/:id/expire-awaits',
    summary: 'Settles awaits of an execution that have passed their time.',
    body: closed({ id: executionId }),
    reply: Type.Object({ settled: count, started: count, more: Type.Boolean() }),
  }),
  putBlob: message({
    at: 'PUT /v1/work/blobs/:digest',
    summary: 'A value that is too large for a row, under its digest; before anything refers to it.',
    bytes: 'sent',
    body: closed({ digest }),
  }),
  getBlob: message({
    at: 'GET /v1/work/blobs/:digest',
    summary: 'A large value, by its digest, which nobody knows who has not seen it.',
    isRead: true,
    bytes: 'answered',
    body: closed({ digest }),
  }),
} as const;

export type WorkKind = keyof typeof WORK_MESSAGES;

export const WORK_KINDS: readonly WorkKind[] = Object.keys(WORK_MESSAGES) as WorkKind[];

export function workMessage(kind: WorkKind): WorkMessage {
  return WORK_MESSAGES[kind];
}

export function isWorkKind(kind: string): kind is WorkKind {
  return Object.hasOwn(WORK_MESSAGES, kind);
}
