// What a worker says to a coordinator: its session, its claims, what it writes as owner. The verbs are those
// of the port of executions (store/contract), in batches, with payloads as they are stored: a coordinator
// that does not have the codec's keys can pass on what it cannot read.

import { type Static, Type } from 'typebox';
import { EVENT_KINDS, SEQ_MAX } from '../../execution/history.ts';
import { releaseName } from '../../features/releases/messages.ts';
import { DECLARED_EXITS } from '../../lease/exit.ts';
import { CLOSED, count, durationMs, executionId, fence, lane, name, seq, waitMs } from './words.ts';

const uuid = Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' });
const TEXT_MAX = 8_192;
const text = Type.String({ maxLength: TEXT_MAX });

/** Of a worker elsewhere: what it holds, and a move of the store, wait that long when it is gone. */
const HELD_MS_MAX = 600_000;
const ttlMs = Type.Integer({ minimum: 1, maximum: HELD_MS_MAX });

/** JSON, as text. */
export const payload = Type.String({ minLength: 1, contentMediaType: 'application/json' });

export const greetQuery = Type.Object(
  {
    version: Type.Optional(
      Type.Integer({ minimum: 1, description: 'The newest that the worker speaks. Default 1.' }),
    ),
  },
  CLOSED,
);

export const openSessionBody = Type.Object(
  {
    id: uuid,
    owner: name,
    ttlMs,
    graceMs: Type.Integer({ minimum: 0, maximum: HELD_MS_MAX }),
    pipelines: Type.Optional(Type.Array(name, { maxItems: 1_000 })),
  },
  CLOSED,
);

export const heartbeatBody = Type.Object({ owner: name, ttlMs: Type.Optional(ttlMs) }, CLOSED);

export const endSessionBody = Type.Object(
  { owner: name, exit: Type.Enum([...DECLARED_EXITS]) },
  CLOSED,
);

export const claimBody = Type.Object(
  {
    session: uuid,
    pipelines: Type.Array(name, { minItems: 1, maxItems: 1_000 }),
    shares: Type.Array(
      Type.Object({ lane, limit: Type.Integer({ minimum: 0, maximum: 1_000 }) }, CLOSED),
      { maxItems: 2 },
    ),
    release: Type.Optional(releaseName),
    dice: Type.Optional(Type.Number({ minimum: 0, exclusiveMaximum: 1 })),
  },
  CLOSED,
);

export type ClaimBody = Static<typeof claimBody>;

export const bellQuery = Type.Object({ waitMs: Type.Optional(waitMs) }, CLOSED);

const keyed = { key: name, limit: Type.Integer({ minimum: 1, maximum: 1_000_000 }) };

export const submission = Type.Object(
  {
    id: executionId,
    project: name,
    pipeline: name,
    lane,
    input: payload,
    lineage: executionId,
    key: Type.Optional(name),
    intent: Type.Optional(text),
    parent: Type.Optional(Type.Object({ id: executionId, call: text }, CLOSED)),
    template: Type.Optional(
      Type.Object({ id: name, version: Type.Integer({ minimum: 1, maximum: SEQ_MAX }) }, CLOSED),
    ),
    submittedBy: Type.Optional(text),
    scheduled: Type.Optional(Type.Object({ id: name, at: count }, CLOSED)),
    concurrency: Type.Optional(Type.Object(keyed, CLOSED)),
    rate: Type.Optional(Type.Object({ ...keyed, perMs: durationMs }, CLOSED)),
    deadlineMs: Type.Optional(durationMs),
    delayMs: Type.Optional(durationMs),
    tags: Type.Array(name, { maxItems: 100 }),
    attributes: Type.Record(
      Type.String(),
      Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
      { maxProperties: 100 },
    ),
    traceparent: Type.Optional(text),
    body: Type.Optional(payload),
  },
  CLOSED,
);

const newEvent = Type.Object(
  { kind: Type.Enum([...EVENT_KINDS]), name: Type.Optional(text), body: Type.Optional(payload) },
  CLOSED,
);

const openAwait = Type.Object(
  {
    call: text,
    name,
    needed: seq,
    items: Type.Array(
      Type.Object(
        { id: text, request: Type.Optional(payload), assignee: Type.Optional(name) },
        CLOSED,
      ),
      { maxItems: 10_000 },
    ),
    timeoutMs: Type.Optional(durationMs),
    reminders: Type.Array(Type.Object({ afterMs: durationMs, start: submission }, CLOSED), {
      maxItems: 100,
    }),
    signed: Type.Boolean(),
    checked: Type.Boolean(),
    defaultAnswer: Type.Optional(payload),
  },
  CLOSED,
);

/** Bytes in JSON are base64. */
const attachment = Type.Object(
  {
    name,
    type: name,
    bytes: Type.String({ contentEncoding: 'base64' }),
    sealed: Type.Optional(Type.Object({ by: name, size: seq }, CLOSED)),
  },
  CLOSED,
);

const OWNER = {
  id: executionId,
  fence,
  session: uuid,
  seq: Type.Integer({ minimum: 1, maximum: SEQ_MAX }),
  events: Type.Array(newEvent, { maxItems: 20_000 }),
  children: Type.Optional(Type.Array(submission, { maxItems: 20_000 })),
  awaits: Type.Optional(Type.Array(openAwait, { maxItems: 10_000 })),
  attachments: Type.Optional(Type.Array(attachment, { maxItems: 100 })),
  progress: Type.Optional(payload),
};

const deadLetter = Type.Object(
  {
    category: Type.Enum(['retryable', 'permanent', 'denied', 'unknown']),
    code: text,
    reason: text,
    step: Type.Optional(text),
    attempts: seq,
  },
  CLOSED,
);

const flag = Type.Optional(Type.Boolean());

export const write = Type.Union([
  Type.Object({ verb: Type.Literal('record'), ...OWNER }, CLOSED),
  Type.Object(
    {
      verb: Type.Literal('finish'),
      ...OWNER,
      status: Type.Enum(['completed', 'failed', 'cancelled', 'quarantined', 'compensated']),
      outcome: Type.Optional(payload),
      successor: Type.Optional(submission),
      newsSeen: Type.Optional(seq),
      unread: Type.Optional(Type.Array(seq)),
      deadLetter: Type.Optional(deadLetter),
      leavesAwaits: flag,
    },
    CLOSED,
  ),
  Type.Object(
    {
      verb: Type.Literal('park'),
      ...OWNER,
      wakeInMs: Type.Optional(durationMs),
      wakeAfter: seq,
      newsSeen: seq,
      compensable: flag,
    },
    CLOSED,
  ),
  Type.Object(
    {
      verb: Type.Literal('giveBack'),
      ...OWNER,
      delayMs: Type.Optional(durationMs),
      blocked: flag,
      paused: flag,
      newsSeen: Type.Optional(seq),
      compensable: flag,
      compensating: flag,
    },
    CLOSED,
  ),
]);

export type WriteMessage = Static<typeof write>;

export const writesBody = Type.Object(
  { writes: Type.Array(write, { minItems: 1, maxItems: 1_000 }) },
  CLOSED,
);

/** One answer for each write, in order: the store's, or what kept it from answering. */
export interface WritesAnswer {
  readonly answers: readonly (
    | { readonly kind: string }
    | { readonly kind: 'fault'; readonly code: string; readonly detail: string }
  )[];
}

export const inboxQuery = Type.Object(
  {
    after: Type.Optional(seq),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  },
  CLOSED,
);

/** The fence where the page before it ended. */
export const claimsQuery = Type.Object({ after: Type.Optional(fence) }, CLOSED);

export const sessionParams = Type.Object({ id: uuid }, CLOSED);
export const digestParams = Type.Object(
  { digest: Type.String({ pattern: '^[0-9a-f]{64}$' }) },
  CLOSED,
);
export const interactionParams = Type.Object({ id: name }, CLOSED);
