// Updates of executions and the values that they publish.

import { refParams } from '../../protocol/messages/execution.ts';
import { NO_EXECUTION, operationsOf, READERS } from '../../protocol/messages/operation.ts';
import {
  choice,
  closed,
  documented,
  executionRef,
  flag,
  json,
  name,
  optional,
  status,
  tagged,
  text,
  textWithin,
  titled,
  waitMs,
  withExample,
} from '../../protocol/messages/words.ts';
import { UPDATE_NAME_BYTES_MAX } from './model.ts';

const updateName = textWithin(1, UPDATE_NAME_BYTES_MAX, 'Name that the code receives.', 'add');

const updateResult = closed(
  {
    kind: choice(
      ['replied', 'rejected', 'pending', 'unanswered'],
      '`rejected`: by the code or its schema. `pending`: stored, without a reply yet. `unanswered`: the execution ended without a reply.',
    ),
    key: documented(name, 'Key of the update. The same request with it waits again.', 'add/1'),
    value: optional(json('The reply, if it is not encrypted.', { items: 1 })),
    sealed: optional(flag('True if the reply is encrypted and cannot be shown.')),
    reason: optional(text('Reason of the rejection.')),
    status: optional(status),
  },
  titled('UpdateResult', { kind: 'replied', key: 'add/1', value: { items: 1 } }),
);

const publishedValue = closed(
  {
    value: optional(json('The value, if it is not encrypted.', { packed: 3 })),
    sealed: optional(flag('True if the value is encrypted and cannot be shown.')),
  },
  titled('PublishedValue', { value: { packed: 3 } }),
);

export const updateOperations = operationsOf('Control', {
  updateExecution: {
    at: 'POST /v1/executions/:id/updates',
    summary: 'Send an update to an execution and wait for the reply',
    description:
      'Appends a named message to the inbox of the execution. Its code replies to it or rejects it, once, and the reply is kept. Holds the request open for up to `waitMs`. With a `key`, a repeated request adds no message and gets the same reply.',
    allows: READERS,
    isLong: 'with-wait',
    params: refParams,
    body: closed(
      {
        name: updateName,
        value: optional(json('Value of the update: any JSON value. Default: none.')),
        tagged,
        key: optional(
          documented(name, 'Key of the update. Default: a new one, which the reply has.', 'add/1'),
        ),
        waitMs: optional(waitMs),
      },
      withExample({ name: 'add', value: { item: 'tent' }, key: 'add/1', waitMs: 25_000 }),
    ),
    takesValues: true,
    responses: {
      200: { what: 'There is a reply, or there will be none.', schema: updateResult },
      202: {
        what: 'The update is stored, and there is no reply yet. Send the same again.',
        schema: documented(updateResult, 'Only `kind` and `key`.', { kind: 'pending', key: 'a' }),
      },
      ...NO_EXECUTION,
      409: {
        what: 'The execution has ended, or its deadline has passed. Nothing was written.',
        codes: ['already-ended', 'deadline-passed'],
      },
    },
  },
  queryExecution: {
    at: 'POST /v1/executions/:id/queries',
    summary: 'Ask the code of an execution',
    description:
      'A worker replays the history of the execution and returns what the code answers. Nothing of the execution is written. Waits for a worker for as long as `relayAnswersMs` of the coordinator.',
    allows: READERS,
    isLong: true,
    params: refParams,
    body: closed(
      {
        name: documented(name, 'Name of the query.', 'status'),
        value: optional(json('Value that the handler gets: any JSON value. Default: none.')),
        tagged,
      },
      withExample({ name: 'status' }),
    ),
    takesValues: true,
    responses: {
      200: { what: 'The answer.', schema: publishedValue },
      ...NO_EXECUTION,
      409: {
        what: 'The code has no such query, or it failed.',
        codes: ['query-unknown', 'query-failed'],
      },
      503: { what: 'No worker answered in time.', codes: ['no-worker'] },
    },
  },
  readPublished: {
    at: 'GET /v1/executions/:id/published/:name',
    summary: 'Read a value that an execution published',
    description:
      'Returns the last value that the code published under this name. Without one, holds the request open for up to `waitMs`, or until the execution ends. If the execution continued as a new one, its value counts too.',
    allows: READERS,
    isLong: true,
    params: closed({
      id: executionRef,
      name: textWithin(1, UPDATE_NAME_BYTES_MAX, 'Name of the value.', 'status'),
    }),
    query: closed({ waitMs: optional(waitMs) }),
    responses: {
      200: { what: 'The value.', schema: publishedValue },
      404: {
        what: 'The project has no such execution, or the execution has not published the value.',
        codes: ['execution-unknown', 'not-found'],
      },
    },
  },
});
