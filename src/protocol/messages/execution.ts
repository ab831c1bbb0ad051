// Executions, as callers see them.

import { type Static, Type } from 'typebox';
import { HOLDS } from '../../execution/execution.ts';
import { DOWNLOAD, NO_EXECUTION, type Operations, READERS } from './operation.ts';
import { label, submitBody, submitted, tags } from './submission.ts';
import {
  closed,
  count,
  documented,
  executionId,
  fence,
  instant,
  lane,
  limit,
  name,
  pageOf,
  paging,
  pipelineName,
  sealed,
  seq,
  status,
  waitMs,
} from './words.ts';

const hold = Type.Enum([...HOLDS], {
  title: 'Hold',
  description:
    'Why workers do not get a ready execution: an operator paused it, drift blocked it, or its concurrency limit is reached.',
});

const location = Type.String({
  description: 'File and line of the code that threw.',
  examples: ['order.ts:16'],
});

const EXECUTION_EXAMPLE = {
  id: '01890a5d-ac96-774b-bcce-b302099a8057',
  project: 'default',
  pipeline: 'order',
  lane: 'interactive',
  status: 'running',
  holds: [],
  compensating: false,
  submittedAt: '2026-11-17T09:30:00.000Z',
  submittedBy: 'shop (a2b3c4d5e6f7a2b3)',
  claimedAt: '2026-11-17T09:30:00.012Z',
  key: 'order/17',
  release: 'v2',
  lineage: '01890a5d-ac96-774b-bcce-b302099a8057',
  fence: 1_099_511_627_777,
  session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
  tags: ['eu'],
  attributes: { customer: 'c-81', amount: 4200 },
  seq: 3,
};

export const execution = closed(
  {
    id: executionId,
    project: documented(name, 'Project that it belongs to.'),
    pipeline: pipelineName,
    lane,
    status,
    holds: Type.Array(hold, {
      description: 'Holds that keep it from workers. Empty if there are none.',
    }),
    compensating: Type.Boolean({ description: 'True while it undoes its steps.' }),
    submittedAt: documented(instant, 'When it was submitted.'),
    submittedBy: Type.Optional(
      Type.String({ description: 'Name and id of the key that submitted it, or the schedule.' }),
    ),
    readyAt: Type.Optional(documented(instant, 'When a worker may claim it.')),
    claimedAt: Type.Optional(documented(instant, 'When a worker claimed it last.')),
    endedAt: Type.Optional(documented(instant, 'When it ended.')),
    deadlineAt: Type.Optional(documented(instant, 'When it fails unless it has ended.')),
    key: Type.Optional(Type.String({ description: 'Idempotency key of its submit.' })),
    lineageKey: Type.Optional(
      Type.String({
        description:
          'For a re-drive: key of the first execution of its chain, which keeps the key. Filters by key find that one.',
      }),
    ),
    release: Type.Optional(Type.String({ description: 'Release that it is pinned to.' })),
    template: Type.Optional(
      Type.Object(
        {
          id: Type.String({ description: 'Id of the template.' }),
          version: Type.Integer({ description: 'Version of the template.' }),
        },
        { description: 'Template that it was submitted from.' },
      ),
    ),
    parent: Type.Optional(documented(executionId, 'Execution that spawned it.')),
    redriveOf: Type.Optional(documented(executionId, 'Execution that it re-drives.')),
    lineage: documented(
      executionId,
      'First execution of its chain of re-drives. Idempotency keys of its steps begin with this id.',
    ),
    fence: Type.Optional(documented(fence, 'Fence of its newest claim.')),
    session: Type.Optional(Type.String({ description: 'Session of the worker that runs it.' })),
    tags,
    attributes: Type.Record(Type.String(), label, {
      description: 'Searchable values by name.',
    }),
    seq: documented(count, 'Number of events in its history.'),
    failure: Type.Optional(
      closed(
        {
          code: Type.String({ description: 'Stable code of the failure.' }),
          message: Type.String({ description: 'Message of the error, at most 200 characters.' }),
          location: Type.Optional(location),
        },
        { description: 'In lists: the failure of an execution that ended badly.' },
      ),
    ),
  },
  { title: 'Execution', examples: [EXECUTION_EXAMPLE] },
);

export type ExecutionMessage = Static<typeof execution>;

const shownHeartbeat = closed(
  {
    key: Type.String({
      description: 'The step, as its call is named in the history.',
      examples: ['step:import#1'],
    }),
    attempt: documented(count, 'Number of the attempt.', 1),
    at: documented(
      instant,
      'When the step sent it, by the worker’s estimate of the store’s clock.',
    ),
    details: Type.Optional(Type.Unknown({ description: 'Its details: any JSON value.' })),
    sealed: Type.Optional(sealed),
  },
  {
    title: 'ShownHeartbeat',
    description: 'The last heartbeat of a step that has not ended.',
    examples: [
      { key: 'step:import#1', attempt: 1, at: '2026-11-17T09:30:05.000Z', details: { row: 4200 } },
    ],
  },
);

/** One execution, with the values that a list leaves out. */
export const executionInFull = closed(
  {
    ...execution.properties,
    input: Type.Optional(Type.Unknown({ description: 'Its input: any JSON value.' })),
    progress: Type.Optional(
      Type.Unknown({ description: 'Progress that its code reported last: any JSON value.' }),
    ),
    heartbeats: Type.Optional(
      Type.Array(shownHeartbeat, {
        description: 'Last heartbeats of its steps that have not ended.',
      }),
    ),
    sealed: Type.Optional(sealed),
  },
  {
    title: 'ExecutionInFull',
    examples: [{ ...EXECUTION_EXAMPLE, input: { id: 17, amount: 4200 }, progress: { charged: 1 } }],
  },
);

export type ExecutionInFull = Static<typeof executionInFull>;

export const executionFilter = {
  status: Type.Optional(
    Type.Array(status, {
      maxItems: 8,
      description: 'Only these states. Repeat the parameter to pass several. Default: all.',
      examples: [['failed', 'quarantined']],
    }),
  ),
  pipeline: Type.Optional(documented(pipelineName, 'Only this pipeline.')),
  tag: Type.Optional(documented(name, 'Only executions with this tag.', 'eu')),
  hold: Type.Optional(documented(hold, 'Only executions with this hold.')),
  where: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 600 }), {
      maxItems: 10,
      description:
        'Only executions whose attributes match all of these: `name`, `name=value`, `name>=number` or `name<=number`. Quote text that looks like a number. Repeat the parameter to pass several.',
      examples: [['amount>=100', 'region=eu']],
    }),
  ),
  attribute: Type.Optional(
    documented(
      name,
      'One more attribute, which `equals`, `min` and `max` compare. Its name may contain `=`, `<` and `>`.',
      'amount',
    ),
  ),
  equals: Type.Optional(
    Type.String({
      maxLength: 256,
      description:
        'Only executions whose attribute has this value: a number, `true`, `false` or text. Quote text that looks like a number.',
      examples: ['4200'],
    }),
  ),
  min: Type.Optional(
    Type.Number({
      description: 'Only executions whose attribute is at least this.',
      examples: [100],
    }),
  ),
  max: Type.Optional(
    Type.Number({
      description: 'Only executions whose attribute is at most this.',
      examples: [5000],
    }),
  ),
  key: Type.Optional(documented(name, 'Only the execution with this key.', 'order/17')),
  keyPrefix: Type.Optional(
    documented(name, 'Only executions whose key begins with this. Not with `key`.', 'order/'),
  ),
  idPrefix: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f-]{1,36}$',
      description: 'Only executions whose id begins with this.',
      examples: ['01890a5d'],
    }),
  ),
  q: Type.Optional(
    documented(
      name,
      'Text of a search box: an id prefix if it has eight or more hexadecimal digits and dashes only, otherwise a key prefix.',
      'order/17',
    ),
  ),
  parent: Type.Optional(documented(executionId, 'Only children of this execution.')),
  topLevel: Type.Optional(
    Type.Boolean({
      description: 'True: only executions without a parent. Default: false.',
    }),
  ),
  code: Type.Optional(
    documented(name, 'Only executions that failed for good with this code.', 'card-declined'),
  ),
  redriven: Type.Optional(
    Type.Boolean({
      description:
        'Only executions that ended with a dead letter: false without a re-drive, true with one. Default: all executions.',
      examples: [false],
    }),
  ),
  release: Type.Optional(
    documented(name, 'Only executions that are pinned to this release, of any pipeline.', 'v2'),
  ),
  worker: Type.Optional(
    documented(
      name,
      'Only executions that this worker runs now: the owner or the id of its session.',
      'order-worker-1',
    ),
  ),
  submittedFrom: Type.Optional(
    documented(
      instant,
      "Only executions submitted at or after this time, by the submitter's clock.",
    ),
  ),
  submittedTo: Type.Optional(
    documented(instant, "Only executions submitted before this time, by the submitter's clock."),
  ),
};

const ALL_MATCH =
  'All filters must match. A page examines at most 10,000 rows, so it may be empty and have a cursor.';

export const listQuery = closed(
  {
    ...executionFilter,
    sort: Type.Optional(
      Type.Enum(['newest', 'oldest', 'ended'], {
        description:
          'Order: by submission, or by end, the last one first and without open executions. Default: `newest`.',
      }),
    ),
    ...paging(
      Type.String({
        pattern: '^([0-9]{1,15}\\.)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
        examples: ['01890a5d-ac96-774b-bcce-b302099a8057'],
      }),
    ),
  },
  { description: ALL_MATCH },
);

export const countQuery = closed(executionFilter, {
  description: 'All filters must match. A count examines at most 50,000 rows.',
});

const result = closed(
  {
    id: documented(
      executionId,
      'The execution that ended: the last one of a chain of continuations.',
    ),
    status,
    output: Type.Optional(
      Type.Unknown({
        description: 'Return value of the pipeline, if it completed: any JSON value.',
      }),
    ),
    failure: Type.Optional(
      Type.Object(
        {
          category: Type.Enum(['retryable', 'permanent', 'denied', 'unknown'], {
            description: 'Kind of failure. `retryable`: a retry may help.',
          }),
          code: Type.String({ description: 'Stable code of the failure.' }),
          message: Type.String({ description: 'Message of the error.' }),
          at: Type.Optional(Type.String({ description: 'Call that failed.' })),
          location: Type.Optional(location),
        },
        { description: 'The failure.' },
      ),
    ),
    sealed: Type.Optional(sealed),
  },
  {
    title: 'Result',
    examples: [
      {
        id: '01890a5d-ac96-774b-bcce-b302099a8057',
        status: 'completed',
        output: { receipt: 'r-17' },
      },
    ],
  },
);

export type ResultMessage = Static<typeof result>;

const historyEvent = closed(
  {
    seq: documented(count, 'Position in the history, from 1.'),
    at: documented(instant, 'When the store wrote it.'),
    kind: Type.String({ description: 'Kind of the event, such as `step-completed`.' }),
    name: Type.Optional(
      Type.String({ description: 'Name of the step, timer, child, signal or document.' }),
    ),
    fence: Type.Optional(
      documented(fence, 'Fence of the claim that wrote it. Absent if no worker did.'),
    ),
    body: Type.Optional(
      Type.Unknown({ description: 'Details, by kind. `out` is a value of your code.' }),
    ),
  },
  {
    title: 'HistoryEvent',
    examples: [
      {
        seq: 3,
        at: '2026-11-17T09:30:00.120Z',
        kind: 'step-completed',
        name: 'charge',
        fence: 1_099_511_627_777,
        body: { key: 'step:charge#1', out: { receipt: 'r-17' }, attempt: 1 },
      },
    ],
  },
);

export type HistoryMessage = Static<typeof historyEvent>;

export const storeProblem = closed(
  {
    sentence: Type.String({ description: 'The problem, for people.' }),
    advice: Type.String({ description: 'The remedy.' }),
  },
  {
    title: 'StoreProblem',
    description:
      'A problem of the store that delays claims or timers: a long database transaction, or a clock that was ahead. Only keys for all projects see it.',
  },
);

export type StoreProblemMessage = Static<typeof storeProblem>;

export const idParams = closed({ id: executionId });

const attachments = closed({
  items: Type.Array(
    closed({
      name: Type.String({ description: 'Name of the document.', examples: ['invoice.pdf'] }),
      type: Type.String({
        description: 'Media type, as the code declared it.',
        examples: ['application/pdf'],
      }),
      bytes: documented(count, 'Size in bytes.', 18_204),
      at: documented(instant, 'When the code attached it.'),
    }),
    { description: 'All documents, without their content.' },
  ),
});

const explanation = closed(
  {
    code: Type.String({ description: 'Stable code of the state, such as `waiting-for-answer`.' }),
    sentence: Type.String({ description: 'The cause of the wait, for people.' }),
    advice: Type.Optional(Type.String({ description: 'A remedy, if there is one.' })),
    until: Type.Optional(documented(instant, 'When it continues by itself, if known.')),
    storeProblem: Type.Optional(storeProblem),
  },
  {
    examples: [
      {
        code: 'waiting-for-answer',
        sentence:
          'Waiting for an answer to "approval" from finance, until 2026-11-18T09:30:00.000Z.',
        advice: 'Answer it: holdfast answer.',
        until: '2026-11-18T09:30:00.000Z',
      },
    ],
  },
);

const NOT_HERE = {
  ...NO_EXECUTION,
  410: {
    what: 'The execution was archived. Read it with `GET /v1/archive/{id}`.',
    codes: ['execution-archived'],
  },
} as const;

export const executionOperations = {
  submitExecution: {
    at: 'POST /v1/executions',
    tag: 'Executions',
    summary: 'Submit an execution',
    description:
      'Writes one execution and its first history event in one transaction. Once the response arrives, the execution is durable and a worker will run it. To make retries safe, send a `key`: the same key with the same content returns the first execution and writes nothing.',
    allows: ['submit'],
    body: submitBody,
    takesValues: true,
    responses: {
      202: { what: 'The execution is stored.', schema: submitted },
      404: {
        what: 'The template or the release does not exist in this project.',
        codes: ['template-unknown', 'release-unknown'],
      },
      409: {
        what: 'The key belongs to an execution with other content, or the release is retired. Nothing was written.',
        codes: ['key-conflict', 'release-retired'],
      },
      503: {
        what: 'You passed `ifNoWorker: "refuse"` and no live worker runs the pipeline, or the store is unavailable. Nothing was written.',
        codes: ['no-worker-for', 'store-unavailable'],
      },
    },
  },
  listExecutions: {
    at: 'GET /v1/executions',
    tag: 'Executions',
    summary: 'List executions',
    description:
      "Returns the project's executions that match all filters, newest first, without their inputs. The response has an `ETag` for `If-None-Match`.",
    allows: READERS,
    query: listQuery,
    responses: { 200: { what: 'One page of executions.', schema: pageOf(execution) } },
  },
  countExecutions: {
    at: 'GET /v1/executions/count',
    tag: 'Executions',
    summary: 'Count executions',
    description:
      "Counts the project's executions that match all filters, as the list does. The count stops after 10,000 executions, or after the pages that one request may read; `capped` then says that there may be more.",
    allows: READERS,
    isSearch: true,
    query: countQuery,
    responses: {
      200: {
        what: 'The count.',
        schema: closed(
          {
            count: documented(count, 'Executions that match.', 19),
            capped: Type.Boolean({ description: 'True if there may be more.' }),
          },
          { examples: [{ count: 19, capped: false }] },
        ),
      },
    },
  },
  readExecution: {
    at: 'GET /v1/executions/:id',
    tag: 'Executions',
    summary: 'Read an execution',
    description:
      'Returns the current state of one execution with its input and progress. The response has an `ETag` for `If-None-Match`.',
    allows: READERS,
    params: idParams,
    responses: {
      200: { what: 'The execution.', schema: executionInFull },
      ...NOT_HERE,
    },
  },
  readHistory: {
    at: 'GET /v1/executions/:id/history',
    tag: 'Executions',
    summary: 'Read the history of an execution',
    description:
      'Returns the events of one execution in the order in which the store wrote them. To continue, pass the `seq` of the last event as `after`.',
    allows: READERS,
    params: idParams,
    query: closed({
      after: Type.Optional(
        documented(seq, 'Return events after this `seq`. Default: 0, the start.', 3),
      ),
      limit: Type.Optional(limit),
    }),
    responses: {
      200: {
        what: 'One page of events.',
        schema: closed({
          items: Type.Array(historyEvent, { description: 'The events of this page.' }),
          more: Type.Optional(
            Type.Literal(true, {
              description:
                'The page reached its size limit before `limit`. Ask again after its last event.',
            }),
          ),
        }),
      },
      ...NOT_HERE,
    },
  },
  explainExecution: {
    at: 'GET /v1/executions/:id/explain',
    tag: 'Executions',
    summary: 'Explain why an execution does not progress',
    description:
      'Returns what the execution waits for, in one sentence, and what you can do about it.',
    allows: READERS,
    isSearch: true,
    params: idParams,
    responses: {
      200: { what: 'The explanation.', schema: explanation },
      ...NOT_HERE,
    },
  },
  listChildren: {
    at: 'GET /v1/executions/:id/children',
    tag: 'Executions',
    summary: 'List the children of an execution',
    description:
      'Returns the executions that this one spawned, oldest first, at most 1,000. To continue, pass the last `id` as `after`.',
    allows: READERS,
    params: idParams,
    query: closed({
      after: Type.Optional(
        documented(executionId, 'Return children after this id. Default: the first ones.'),
      ),
    }),
    responses: {
      200: {
        what: 'One page of children.',
        schema: Type.Object({
          items: Type.Array(Type.Pick(execution, ['id', 'pipeline', 'status']), {
            description: 'The children of this page.',
          }),
        }),
      },
      ...NOT_HERE,
    },
  },
  listAttachments: {
    at: 'GET /v1/executions/:id/attachments',
    tag: 'Executions',
    summary: 'List the documents of an execution',
    description:
      'Returns name, media type and size of every document that the code attached, without the content.',
    allows: READERS,
    params: idParams,
    responses: {
      200: { what: 'All documents.', schema: attachments },
      ...NOT_HERE,
    },
  },
  readAttachment: {
    at: 'GET /v1/executions/:id/attachments/:name',
    tag: 'Executions',
    summary: 'Download a document of an execution',
    description:
      'Returns the content of one document as a download of type `application/octet-stream`, whatever type the code declared.',
    allows: READERS,
    params: closed({
      id: executionId,
      name: documented(name, 'Name of the document.', 'invoice.pdf'),
    }),
    responses: {
      200: { what: 'The bytes of the document.', text: DOWNLOAD },
      ...NOT_HERE,
      404: {
        what: 'The project has no such execution, or the execution has no such document.',
        codes: ['execution-unknown', 'not-found'],
      },
    },
  },
  readResult: {
    at: 'GET /v1/executions/:id/result',
    tag: 'Executions',
    summary: 'Wait for the result of an execution',
    description:
      'Returns status, output or failure once the execution has ended. Holds the request open for up to `waitMs`. If the execution continued as a new one, follows it to the last one.',
    allows: READERS,
    isLong: true,
    params: idParams,
    query: closed({ waitMs: Type.Optional(waitMs) }),
    responses: {
      200: { what: 'The execution has ended.', schema: result },
      202: {
        what: 'The execution is still open. Ask again.',
        schema: documented(result, 'Only `id` and `status`.', {
          id: '01890a5d-ac96-774b-bcce-b302099a8057',
          status: 'running',
        }),
      },
      ...NOT_HERE,
      409: {
        what: 'The chain of continuations leads back to itself.',
        codes: ['continued-in-circle'],
      },
    },
  },
} as const satisfies Operations;

const SSE = 'text/event-stream';

export const eventOperations = {
  streamExecution: {
    at: 'GET /v1/executions/:id/events',
    tag: 'Live updates',
    summary: 'Stream the history of an execution',
    description:
      'Sends each history event as a server-sent event: `event` is its kind, `id` its `seq`, `data` the event as JSON. Sends `end` last, and a comment every 15 s. To resume, send `Last-Event-ID` or `after`.',
    allows: READERS,
    isLong: true,
    params: idParams,
    query: closed({
      after: Type.Optional(
        documented(
          seq,
          'Send events after this `seq`. The header `Last-Event-ID` wins. Default: 0.',
          3,
        ),
      ),
      progress: Type.Optional(
        Type.Boolean({
          description:
            'Also send `progress` events, without an id, when progress changes. Default: false.',
          examples: [true],
        }),
      ),
    }),
    responses: {
      200: {
        what: 'Server-sent events until the execution ends.',
        text: {
          type: SSE,
          example:
            'id: 1\nevent: submitted\ndata: {"seq":1,"at":"2026-11-17T09:30:00.000Z","kind":"submitted"}\n\nevent: end\ndata: {"status":"completed"}\n\n',
        },
      },
      ...NOT_HERE,
    },
  },
  openStream: {
    at: 'GET /v1/stream',
    tag: 'Live updates',
    summary: 'Open a stream of messages',
    description:
      'Upgrades the connection to WebSocket. Each text frame is a JSON array of envelopes, and the coordinator sends frames of their replies, in any order. It takes the messages of the worker protocol and the operations `submitExecution` and `readResult`; the roles of the key decide about each. The key must be in the header `Authorization`. The stream ends when the key does.',
    allows: [...READERS, 'work', 'lease'],
    responses: {
      101: { what: 'The connection is a WebSocket from here on.' },
      426: { what: 'The request does not upgrade to WebSocket.', codes: ['upgrade-required'] },
    },
  },
  streamHints: {
    at: 'GET /v1/events',
    tag: 'Live updates',
    summary: 'Stream hints that lists changed',
    description:
      'Sends `changed` when a list may have changed, and `reset` when the coordinator cannot know what you missed. Read your lists again after either. Hints carry no data and can come for changes in other projects. Sends `ping` first, and whenever it has sent nothing else for `everyMs` of that event. If you receive nothing for three times as long, the coordinator is gone or frozen.',
    allows: READERS,
    isLong: true,
    query: closed({
      after: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 128,
          description:
            'Id of the last hint that you received. The header `Last-Event-ID` wins. Default: now.',
          examples: ['x7Qp.9f2c41d0'],
        }),
      ),
    }),
    responses: {
      200: {
        what: 'Server-sent events until one side closes the connection.',
        text: {
          type: SSE,
          example:
            'event: ping\ndata: {"everyMs":3000}\n\nid: x7Qp.51be77aa\nevent: changed\ndata: {}\n\n',
        },
      },
    },
  },
} as const satisfies Operations;
