// Executions, as callers see them.

import { type Static, Type } from 'typebox';
import { HOLDS } from '../../execution/execution.ts';
import {
  CLOSED,
  count,
  durationMs,
  executionId,
  fence,
  instant,
  lane,
  limit,
  name,
  pageOf,
  reason,
  seq,
  status,
  tagged,
  value,
  waitMs,
} from './words.ts';

const label = Type.Union([Type.String({ maxLength: 256 }), Type.Number(), Type.Boolean()]);
export const attributes = Type.Record(Type.String(), label, { maxProperties: 100 });
export const tags = Type.Array(name, { maxItems: 100 });

export const concurrency = Type.Object(
  { key: name, limit: Type.Integer({ minimum: 1, maximum: 1_000_000 }) },
  CLOSED,
);

export const rate = Type.Object(
  {
    key: name,
    limit: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
    perMs: Type.Integer({ minimum: 1, maximum: 86_400_000 }),
  },
  CLOSED,
);

export const submitBody = Type.Object(
  {
    pipeline: Type.Optional(name),
    template: Type.Optional(
      Type.Object({ id: name, version: Type.Optional(Type.Integer({ minimum: 1 })) }, CLOSED),
    ),
    input: Type.Optional(value),
    tagged,
    key: Type.Optional(name),
    lane: Type.Optional(lane),
    tags: Type.Optional(tags),
    attributes: Type.Optional(attributes),
    concurrency: Type.Optional(concurrency),
    rate: Type.Optional(rate),
    delayMs: Type.Optional(durationMs),
    deadlineMs: Type.Optional(durationMs),
    release: Type.Optional(name),
    ifNoWorker: Type.Optional(Type.Enum(['wait', 'refuse'])),
  },
  { ...CLOSED, description: 'One of `pipeline` and `template`.' },
);

export type SubmitBody = Static<typeof submitBody>;

export const submitted = Type.Object(
  {
    id: executionId,
    existing: Type.Boolean({ description: 'It was submitted before, with the same intent.' }),
    warning: Type.Optional(
      Type.Object(
        { code: Type.Enum(['pipeline-unknown']), detail: Type.String() },
        { ...CLOSED, description: 'It was submitted, and no worker has announced its pipeline.' },
      ),
    ),
  },
  CLOSED,
);

export type SubmitWarning = NonNullable<Static<typeof submitted>['warning']>;

const hold = Type.Enum([...HOLDS]);

const location = Type.String({
  description: 'File and line of the code that threw, such as order.ts:16.',
});

export const execution = Type.Object(
  {
    id: executionId,
    project: name,
    pipeline: name,
    lane,
    status,
    holds: Type.Array(hold),
    compensating: Type.Boolean(),
    submittedAt: instant,
    submittedBy: Type.Optional(Type.String()),
    readyAt: Type.Optional(instant),
    claimedAt: Type.Optional(instant),
    endedAt: Type.Optional(instant),
    deadlineAt: Type.Optional(instant),
    key: Type.Optional(Type.String()),
    release: Type.Optional(Type.String({ description: 'That it is pinned to.' })),
    template: Type.Optional(Type.Object({ id: Type.String(), version: Type.Integer() })),
    parent: Type.Optional(executionId),
    redriveOf: Type.Optional(executionId),
    lineage: executionId,
    fence: Type.Optional(fence),
    session: Type.Optional(Type.String()),
    tags,
    attributes: Type.Record(Type.String(), label),
    seq: count,
    failure: Type.Optional(
      Type.Object(
        { code: Type.String(), message: Type.String(), location: Type.Optional(location) },
        { ...CLOSED, description: 'In lists: why it ended badly, in short.' },
      ),
    ),
  },
  CLOSED,
);

export type ExecutionMessage = Static<typeof execution>;

export const executionPage = pageOf(execution);

/** One, with the values that a list leaves out. */
export const executionInFull = Type.Object(
  {
    ...execution.properties,
    input: Type.Optional(value),
    progress: Type.Optional(value),
    sealed: Type.Optional(
      Type.Boolean({
        description: 'Values went through a codec that this coordinator does not have.',
      }),
    ),
  },
  CLOSED,
);

export type ExecutionInFull = Static<typeof executionInFull>;

export const listQuery = Type.Object(
  {
    status: Type.Optional(Type.Array(status, { maxItems: 8 })),
    pipeline: Type.Optional(name),
    tag: Type.Optional(name),
    hold: Type.Optional(hold),
    attribute: Type.Optional(name),
    equals: Type.Optional(Type.String({ maxLength: 256 })),
    min: Type.Optional(Type.Number()),
    max: Type.Optional(Type.Number()),
    cursor: Type.Optional(executionId),
    limit: Type.Optional(limit),
  },
  CLOSED,
);

export const failure = Type.Object({
  category: Type.Enum(['retryable', 'permanent', 'denied', 'unknown']),
  code: Type.String(),
  message: Type.String(),
  at: Type.Optional(Type.String()),
  location: Type.Optional(location),
});

export const result = Type.Object(
  {
    id: executionId,
    status,
    output: Type.Optional(value),
    failure: Type.Optional(failure),
    sealed: Type.Optional(Type.Boolean()),
  },
  CLOSED,
);

export type ResultMessage = Static<typeof result>;

export const resultQuery = Type.Object({ waitMs: Type.Optional(waitMs) }, CLOSED);

export const historyEvent = Type.Object(
  {
    seq: count,
    at: instant,
    kind: Type.String(),
    name: Type.Optional(Type.String()),
    fence: Type.Optional(fence),
    body: Type.Optional(value),
  },
  CLOSED,
);

export type HistoryMessage = Static<typeof historyEvent>;

export const historyPage = Type.Object(
  {
    items: Type.Array(historyEvent),
    more: Type.Optional(
      Type.Literal(true, {
        description: 'It has fewer than `limit` for their size: ask again, after the last.',
      }),
    ),
  },
  CLOSED,
);

export const historyQuery = Type.Object(
  { after: Type.Optional(seq), limit: Type.Optional(limit) },
  CLOSED,
);

export const storeProblem = Type.Object(
  { sentence: Type.String(), advice: Type.String() },
  {
    ...CLOSED,
    description:
      'What claims or times suffer from: a database transaction that stays open, or a clock that was ahead. Only keys of all projects see it.',
  },
);

export type StoreProblemMessage = Static<typeof storeProblem>;

export const explanation = Type.Object(
  {
    code: Type.String(),
    sentence: Type.String(),
    advice: Type.Optional(Type.String()),
    until: Type.Optional(instant),
    storeProblem: Type.Optional(storeProblem),
  },
  CLOSED,
);

export const actBody = Type.Object({ reason: Type.Optional(reason) }, CLOSED);

export const signalBody = Type.Object({ name, value: Type.Optional(value), tagged }, CLOSED);

export const commandAnswer = Type.Object(
  {
    kind: Type.Enum(['done', 'passed-on', 'no-change']),
    status,
  },
  CLOSED,
);

export const attachmentPage = Type.Object(
  {
    items: Type.Array(
      Type.Object({ name: Type.String(), type: Type.String(), bytes: count, at: instant }, CLOSED),
    ),
  },
  CLOSED,
);

export const idParams = Type.Object({ id: executionId }, CLOSED);
