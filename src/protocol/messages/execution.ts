// Executions, as callers see them.

import { type Static, Type } from 'typebox';
import { HOLDS } from '../../execution/execution.ts';
import { type Operations, READERS } from './operation.ts';
import {
  closed,
  count,
  durationMs,
  executionId,
  fence,
  instant,
  lane,
  limit,
  name,
  pageOf,
  paging,
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

export const concurrency = closed({
  key: name,
  limit: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
});

export const rate = closed({
  key: name,
  limit: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
  perMs: Type.Integer({ minimum: 1, maximum: 86_400_000 }),
});

const submitBody = closed(
  {
    pipeline: Type.Optional(name),
    template: Type.Optional(
      closed({ id: name, version: Type.Optional(Type.Integer({ minimum: 1 })) }),
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
  { description: 'One of `pipeline` and `template`.' },
);

export type SubmitBody = Static<typeof submitBody>;

const submitted = closed({
  id: executionId,
  existing: Type.Boolean({ description: 'It was submitted before, with the same intent.' }),
  warning: Type.Optional(
    closed(
      { code: Type.Enum(['pipeline-unknown']), detail: Type.String() },
      { description: 'It was submitted, and no worker has announced its pipeline.' },
    ),
  ),
});

export type SubmitWarning = NonNullable<Static<typeof submitted>['warning']>;

const hold = Type.Enum([...HOLDS]);

const location = Type.String({
  description: 'File and line of the code that threw, such as order.ts:16.',
});

export const execution = closed({
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
    closed(
      { code: Type.String(), message: Type.String(), location: Type.Optional(location) },
      { description: 'In lists: why it ended badly, in short.' },
    ),
  ),
});

export type ExecutionMessage = Static<typeof execution>;

/** One execution, with the values that a list leaves out. */
export const executionInFull = closed({
  ...execution.properties,
  input: Type.Optional(value),
  progress: Type.Optional(value),
  sealed: Type.Optional(
    Type.Boolean({
      description: 'Values went through a codec that this coordinator does not have.',
    }),
  ),
});

export type ExecutionInFull = Static<typeof executionInFull>;

export const listQuery = closed({
  status: Type.Optional(Type.Array(status, { maxItems: 8 })),
  pipeline: Type.Optional(name),
  tag: Type.Optional(name),
  hold: Type.Optional(hold),
  attribute: Type.Optional(name),
  equals: Type.Optional(Type.String({ maxLength: 256 })),
  min: Type.Optional(Type.Number()),
  max: Type.Optional(Type.Number()),
  ...paging(executionId),
});

const result = closed({
  id: executionId,
  status,
  output: Type.Optional(value),
  failure: Type.Optional(
    Type.Object({
      category: Type.Enum(['retryable', 'permanent', 'denied', 'unknown']),
      code: Type.String(),
      message: Type.String(),
      at: Type.Optional(Type.String()),
      location: Type.Optional(location),
    }),
  ),
  sealed: Type.Optional(Type.Boolean()),
});

export type ResultMessage = Static<typeof result>;

const historyEvent = closed({
  seq: count,
  at: instant,
  kind: Type.String(),
  name: Type.Optional(Type.String()),
  fence: Type.Optional(fence),
  body: Type.Optional(value),
});

export type HistoryMessage = Static<typeof historyEvent>;

export const storeProblem = closed(
  { sentence: Type.String(), advice: Type.String() },
  {
    description:
      'What claims or times suffer from: a database transaction that stays open, or a clock that was ahead. Only keys of all projects see it.',
  },
);

export type StoreProblemMessage = Static<typeof storeProblem>;

export const actBody = closed({ reason: Type.Optional(reason) });

export const commandAnswer = closed({
  kind: Type.Enum(['done', 'passed-on', 'no-change']),
  status,
});

export const idParams = closed({ id: executionId });

export const executionOperations = {
  submitExecution: {
    at: 'POST /v1/executions',
    summary: 'Submits an execution; done when it is answered, whatever happens afterwards.',
    allows: ['submit'],
    body: submitBody,
    takesValues: true,
    answers: {
      202: { what: 'It will run.', schema: submitted },
      409: { what: 'The key was used with another intent.' },
    },
  },
  listExecutions: {
    at: 'GET /v1/executions',
    summary: 'Executions, newest first.',
    allows: READERS,
    query: listQuery,
    answers: { 200: { what: 'A page.', schema: pageOf(execution) } },
  },
  readExecution: {
    at: 'GET /v1/executions/:id',
    summary: 'One execution, with its input and progress.',
    allows: READERS,
    params: idParams,
    answers: {
      200: { what: 'As it is now.', schema: executionInFull },
      410: { what: 'It was archived: look there.' },
    },
  },
  readHistory: {
    at: 'GET /v1/executions/:id/history',
    summary: 'What happened, in order; goes on after `after`.',
    allows: READERS,
    params: idParams,
    query: closed({ after: Type.Optional(seq), limit: Type.Optional(limit) }),
    answers: {
      200: {
        what: 'A page of events; `more` when it ended early.',
        schema: closed({
          items: Type.Array(historyEvent),
          more: Type.Optional(
            Type.Literal(true, {
              description: 'It has fewer than `limit` for their size: ask again, after the last.',
            }),
          ),
        }),
      },
    },
  },
  explainExecution: {
    at: 'GET /v1/executions/:id/explain',
    summary: 'Why it is not moving, and what can be done.',
    allows: READERS,
    params: idParams,
    answers: {
      200: {
        what: 'In words.',
        schema: closed({
          code: Type.String(),
          sentence: Type.String(),
          advice: Type.Optional(Type.String()),
          until: Type.Optional(instant),
          storeProblem: Type.Optional(storeProblem),
        }),
      },
    },
  },
  listChildren: {
    at: 'GET /v1/executions/:id/children',
    summary: 'What it spawned, oldest first; goes on after `after`.',
    allows: READERS,
    params: idParams,
    query: closed({ after: Type.Optional(executionId) }),
    answers: {
      200: {
        what: 'A page of at most 1,000.',
        schema: Type.Object({
          items: Type.Array(Type.Pick(execution, ['id', 'pipeline', 'status'])),
        }),
      },
    },
  },
  listAttachments: {
    at: 'GET /v1/executions/:id/attachments',
    summary: 'The documents of an execution.',
    allows: READERS,
    params: idParams,
    answers: {
      200: {
        what: 'All of them, without their content.',
        schema: closed({
          items: Type.Array(
            closed({ name: Type.String(), type: Type.String(), bytes: count, at: instant }),
          ),
        }),
      },
    },
  },
  readAttachment: {
    at: 'GET /v1/executions/:id/attachments/:name',
    summary: 'The content of one document, as a download.',
    allows: READERS,
    params: closed({ id: executionId, name }),
    answers: { 200: { what: 'Its bytes.' } },
  },
  readResult: {
    at: 'GET /v1/executions/:id/result',
    summary: 'How it ended, and its output; waits for it up to `waitMs`.',
    allows: READERS,
    isLong: true,
    params: idParams,
    query: closed({ waitMs: Type.Optional(waitMs) }),
    answers: {
      200: { what: 'It has ended.', schema: result },
      202: { what: 'It has not; ask again.', schema: result },
    },
  },
} as const satisfies Operations;

export const eventOperations = {
  streamExecution: {
    at: 'GET /v1/executions/:id/events',
    summary: 'Its history as it happens (SSE); goes on after `Last-Event-ID` or `after`.',
    allows: READERS,
    isLong: true,
    params: idParams,
    query: closed({
      after: Type.Optional(seq),
      progress: Type.Optional(
        Type.Boolean({ description: 'With `progress` between the events, when there is some.' }),
      ),
    }),
    answers: {
      200: {
        what: 'Events named by their kind, with their seq as id; `progress` without one, if asked for; `end` is the last.',
      },
    },
  },
  streamHints: {
    at: 'GET /v1/events',
    summary: 'Says when lists may have changed (SSE): read them again then.',
    allows: READERS,
    isLong: true,
    query: closed({ after: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })) }),
    answers: {
      200: { what: '`changed`, and `reset` when it is not known what was missed.' },
    },
  },
} as const satisfies Operations;

const OPERATORS = ['operate'] as const;

const ANSWERS = {
  200: { what: 'Done, passed on to its owner, or nothing to change.', schema: commandAnswer },
  409: { what: 'It has ended.' },
} as const;

function act<Verb extends string, Who>(verb: Verb, allows: Who, summary: string) {
  return {
    at: `POST /v1/executions/:id/${verb}`,
    ...{ summary, allows, params: idParams, body: actBody, answers: ANSWERS },
  } as const;
}

export const commandOperations = {
  cancelExecution: act(
    'cancel',
    READERS,
    'Cancels it; a running one stops when its owner takes notice.',
  ),
  pauseExecution: act('pause', OPERATORS, 'Holds it back from workers until it is resumed.'),
  resumeExecution: act(
    'resume',
    OPERATORS,
    'Lets it go on: one that is paused, or that drift has blocked.',
  ),
  signalExecution: {
    at: 'POST /v1/executions/:id/signals',
    summary: 'A named message to its code; kept until the code asks for it.',
    allows: READERS,
    params: idParams,
    body: closed({ name, value: Type.Optional(value), tagged }),
    takesValues: true,
    answers: ANSWERS,
  },
} as const satisfies Operations;
