// The operations of executions, and of live updates.

import { Type } from 'typebox';
import { wordsIn } from '../../support/options.ts';
import {
  attachments,
  countQuery,
  execution,
  executionInFull,
  explanation,
  listQuery,
  refParams,
  result,
  savedHistory,
  shownEvent,
  stored,
} from './execution.ts';
import { DOWNLOAD, NO_EXECUTION, operationsOf, READERS } from './operation.ts';
import { submitBody } from './submission.ts';
import {
  closed,
  count,
  documented,
  executionId,
  executionRef,
  flag,
  limit,
  listOf,
  name,
  optional,
  pageOf,
  seq,
  textWithin,
  waitMs,
  withExample,
} from './words.ts';

const NOT_HERE = {
  ...NO_EXECUTION,
  410: {
    what: 'The execution was archived. Read it with `GET /v1/archive/{id}`.',
    codes: ['execution-archived'],
  },
} as const;

const NO_CONTENT = {
  ...NOT_HERE,
  410: {
    what: 'The execution was archived, or its values were erased.',
    codes: ['execution-archived', 'value-erased'],
  },
} as const;

export const executionOperations = operationsOf('Executions', {
  submitExecution: {
    at: 'POST /v1/executions',
    summary: 'Submit an execution',
    description:
      'Writes one execution and its first history event in one transaction. Once the response arrives, the execution is durable and a worker will run it. To make retries safe, send a `key`: the same key with the same content returns the first execution and writes nothing. With `waitMs`, the response waits for the end of the execution and has its result.',
    allows: ['submit'],
    isLong: 'with-wait',
    body: submitBody,
    takesValues: true,
    responses: {
      202: { what: 'The execution is stored.', schema: stored },
      404: {
        what: 'The template or the release does not exist in this project.',
        codes: ['template-unknown', 'release-unknown'],
      },
      409: {
        what: 'The key belongs to an execution with other content, the execution that would get `signal` has ended or passed its deadline, or the release is retired. Nothing was written.',
        codes: wordsIn('key-conflict key-in-use release-retired already-ended deadline-passed'),
      },
      503: {
        what: 'You passed `ifNoWorker: "refuse"` and no live worker runs the pipeline, or the store is unavailable. Nothing was written.',
        codes: ['no-worker-for', 'store-unavailable'],
      },
    },
  },
  listExecutions: {
    at: 'GET /v1/executions',
    summary: 'List executions',
    description:
      "Returns the project's executions that match all filters, newest first, without their inputs. The response has an `ETag` for `If-None-Match`.",
    allows: READERS,
    query: listQuery,
    responses: { 200: { what: 'One page of executions.', schema: pageOf(execution) } },
  },
  countExecutions: {
    at: 'GET /v1/executions/count',
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
            capped: flag('True if there may be more.'),
          },
          withExample({ count: 19, capped: false }),
        ),
      },
    },
  },
  readExecution: {
    at: 'GET /v1/executions/:id',
    summary: 'Read an execution',
    description:
      'Returns the current state of one execution with its input and progress. The response has an `ETag` for `If-None-Match`.',
    allows: READERS,
    params: refParams,
    responses: { 200: { what: 'The execution.', schema: executionInFull }, ...NOT_HERE },
  },
  readHistory: {
    at: 'GET /v1/executions/:id/history',
    summary: 'Read the history of an execution',
    description:
      'Returns the events of one execution in the order in which the store wrote them. To continue, pass the `seq` of the last event as `after`.',
    allows: READERS,
    params: refParams,
    query: closed({
      after: optional(seq, 'Return events after this `seq`. Default: 0, the start.', 3),
      limit: optional(limit),
    }),
    responses: {
      200: {
        what: 'One page of events.',
        schema: closed({
          items: listOf(shownEvent, 'The events of this page.'),
          more: optional(
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
    summary: 'Explain why an execution does not progress',
    description:
      'Returns what the execution waits for, in one sentence, and what you can do about it.',
    allows: READERS,
    isSearch: true,
    params: refParams,
    responses: { 200: { what: 'The explanation.', schema: explanation }, ...NOT_HERE },
  },
  listChildren: {
    at: 'GET /v1/executions/:id/children',
    summary: 'List the children of an execution',
    description:
      'Returns the executions that this one spawned, oldest first, at most 1,000. To continue, pass the last `id` as `after`.',
    allows: READERS,
    params: refParams,
    query: closed({
      after: optional(executionId, 'Return children after this id. Default: the first ones.'),
    }),
    responses: {
      200: {
        what: 'One page of children.',
        schema: Type.Object({
          items: listOf(
            Type.Pick(execution, ['id', 'pipeline', 'status']),
            'The children of this page.',
          ),
        }),
      },
      ...NOT_HERE,
    },
  },
  listAttachments: {
    at: 'GET /v1/executions/:id/attachments',
    summary: 'List the documents of an execution',
    description:
      'Returns name, media type and size of the documents that the code attached, without the content: the first 10,000 by name.',
    allows: READERS,
    params: refParams,
    responses: { 200: { what: 'The documents.', schema: attachments }, ...NOT_HERE },
  },
  readAttachment: {
    at: 'GET /v1/executions/:id/attachments/:name',
    summary: 'Download a document of an execution',
    description:
      'Returns the content of one document as a download of type `application/octet-stream`, whatever type the code declared.',
    allows: READERS,
    params: closed({
      id: executionRef,
      name: documented(name, 'Name of the document.', 'invoice.pdf'),
    }),
    responses: {
      200: { what: 'The bytes of the document.', text: DOWNLOAD },
      ...NO_CONTENT,
      404: {
        what: 'The project has no such execution, or the execution has no such document.',
        codes: ['execution-unknown', 'not-found'],
      },
    },
  },
  saveHistory: {
    at: 'GET /v1/executions/:id/saved-history',
    summary: 'Save the history of an execution for tests',
    description:
      'Returns the execution, its events and its large values as they are stored, for `replayHistory` of `holdfast/testing`. Encrypted values stay encrypted. The limits are 10,000 events and 16 MiB.',
    allows: READERS,
    isSearch: true,
    params: refParams,
    responses: {
      200: { what: 'The execution and its history.', schema: savedHistory },
      ...NOT_HERE,
      413: { what: 'The history is too long.', codes: ['payload-too-large'] },
    },
  },
  readResult: {
    at: 'GET /v1/executions/:id/result',
    summary: 'Wait for the result of an execution',
    description:
      'Returns status, output or failure once the execution has ended. Holds the request open for up to `waitMs`. If the execution continued as a new one, follows it to the last one.',
    allows: READERS,
    isLong: true,
    params: refParams,
    query: closed({ waitMs: optional(waitMs) }),
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
});

const SSE = 'text/event-stream';

export const eventOperations = operationsOf('Live updates', {
  streamExecution: {
    at: 'GET /v1/executions/:id/events',
    summary: 'Stream the history of an execution',
    description:
      'Sends each history event as a server-sent event: `event` is its kind, `id` its `seq`, `data` the event as JSON. Sends `end` last, and a comment every 15 s. To resume, send `Last-Event-ID` or `after`.',
    allows: READERS,
    isLong: true,
    params: refParams,
    query: closed({
      after: optional(
        seq,
        'Send events after this `seq`. The header `Last-Event-ID` wins. Default: 0.',
        3,
      ),
      progress: optional(
        flag(
          'Also send `progress` events, without an id, when progress changes. Default: false.',
          true,
        ),
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
    summary: 'Stream hints that lists changed',
    description:
      'Sends `changed` when a list may have changed, and `reset` when the coordinator cannot know what you missed. Read your lists again after either. Hints carry no data and can come for changes in other projects. Sends `ping` first, and whenever it has sent nothing else for `everyMs` of that event. If you receive nothing for three times as long, the coordinator is gone or frozen.',
    allows: READERS,
    isLong: true,
    query: closed({
      after: optional(
        textWithin(
          1,
          128,
          'Id of the last hint that you received. The header `Last-Event-ID` wins. Default: now.',
          'x7Qp.9f2c41d0',
        ),
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
});
