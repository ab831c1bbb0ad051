// The writes of a worker as owner. The verbs are those of the execution port (store/contract), in
// batches, with payloads as stored. So a coordinator without the codec's keys can pass on values
// that it cannot read.

import { type Static, Type } from 'typebox';
import { EVENT_KINDS, SEQ_MAX } from '../../execution/history.ts';
import { closed, count, durationMs, executionId, fence, lane, name, seq, uuid } from './words.ts';

const TEXT_MAX = 8_192;
const text = Type.String({ maxLength: TEXT_MAX });

/** JSON, as text. */
const payload = Type.String({ minLength: 1, contentMediaType: 'application/json' });

const keyed = { key: name, limit: Type.Integer({ minimum: 1, maximum: 1_000_000 }) };

export const submission = closed({
  id: executionId,
  project: name,
  pipeline: name,
  lane,
  input: payload,
  lineage: executionId,
  key: Type.Optional(name),
  intent: Type.Optional(text),
  parent: Type.Optional(closed({ id: executionId, call: text })),
  template: Type.Optional(
    closed({ id: name, version: Type.Integer({ minimum: 1, maximum: SEQ_MAX }) }),
  ),
  submittedBy: Type.Optional(text),
  scheduled: Type.Optional(closed({ id: name, at: count })),
  concurrency: Type.Optional(closed(keyed)),
  rate: Type.Optional(closed({ ...keyed, perMs: durationMs })),
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
});

const newEvent = closed({
  kind: Type.Enum([...EVENT_KINDS]),
  name: Type.Optional(text),
  body: Type.Optional(payload),
});

const openAwait = closed({
  call: text,
  name,
  needed: seq,
  items: Type.Array(
    closed({ id: text, request: Type.Optional(payload), assignee: Type.Optional(name) }),
    { maxItems: 10_000 },
  ),
  timeoutMs: Type.Optional(durationMs),
  reminders: Type.Array(closed({ afterMs: durationMs, start: submission }), {
    maxItems: 100,
  }),
  signed: Type.Boolean(),
  checked: Type.Boolean(),
  defaultAnswer: Type.Optional(payload),
});

/** Bytes in JSON are base64. */
const attachment = closed({
  name,
  type: name,
  bytes: Type.String({ contentEncoding: 'base64' }),
  sealed: Type.Optional(closed({ by: name, size: seq })),
});

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

const deadLetter = closed({
  category: Type.Enum(['retryable', 'permanent', 'denied', 'unknown']),
  code: text,
  reason: text,
  step: Type.Optional(text),
  attempts: seq,
});

const flag = Type.Optional(Type.Boolean());

export const writeMessage = Type.Union([
  closed({ verb: Type.Literal('record'), ...OWNER }),
  closed({
    verb: Type.Literal('finish'),
    ...OWNER,
    status: Type.Enum(['completed', 'failed', 'cancelled', 'quarantined', 'compensated']),
    outcome: Type.Optional(payload),
    successor: Type.Optional(submission),
    newsSeen: Type.Optional(seq),
    unread: Type.Optional(Type.Array(seq)),
    deadLetter: Type.Optional(deadLetter),
    leavesAwaits: flag,
  }),
  closed({
    verb: Type.Literal('park'),
    ...OWNER,
    wakeInMs: Type.Optional(durationMs),
    wakeAfter: seq,
    newsSeen: seq,
    compensable: flag,
  }),
  closed({
    verb: Type.Literal('giveBack'),
    ...OWNER,
    delayMs: Type.Optional(durationMs),
    blocked: flag,
    paused: flag,
    newsSeen: Type.Optional(seq),
    compensable: flag,
    compensating: flag,
  }),
]);

export type WriteMessage = Static<typeof writeMessage>;

/** One answer per write, in order: the store's, or the fault that prevented one. */
export interface WritesAnswer {
  readonly answers: readonly (
    | { readonly kind: string }
    | { readonly kind: 'fault'; readonly code: string; readonly detail: string }
  )[];
}
