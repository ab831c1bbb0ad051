// Cancel, pause, resume and signal: what callers send to an execution, and its reply.

import { erasure, refParams } from './execution.ts';
import { ADMIN, NO_EXECUTION, type Operations, READERS } from './operation.ts';
import {
  choice,
  closed,
  documented,
  executionId,
  flag,
  json,
  name,
  optional,
  REASON_MAX,
  reason,
  status,
  tagged,
  textWithin,
  titled,
  withExample,
} from './words.ts';

export const operationBody = closed(
  { reason: optional(reason) },
  withExample({ reason: 'The customer asked for it.' }),
);

export const commandResult = closed(
  {
    kind: choice(
      ['done', 'forwarded', 'no-change'],
      '`done`: the execution changed. `forwarded`: its worker gets the message. `no-change`: it was so already.',
    ),
    status,
  },
  titled('CommandResult', { kind: 'forwarded', status: 'running' }),
);

const OPERATORS = ['operate'] as const;

const RESPONSES = {
  200: {
    what: 'The execution changed, its worker gets the message, or nothing had to change.',
    schema: commandResult,
  },
  ...NO_EXECUTION,
  409: { what: 'The execution has ended. Nothing was written.', codes: ['already-ended'] },
} as const;

const cancelBody = closed(
  {
    reason: optional(reason),
    force: optional(
      flag(
        'True: end the execution at once, also while a worker runs it, without cleanup and compensations. Default: false.',
      ),
    ),
  },
  withExample({ reason: 'The customer asked for it.' }),
);

interface Command<Verb extends string, Who> {
  readonly verb: Verb;
  readonly allows: Who;
  readonly summary: string;
  readonly description: string;
}

function command<Verb extends string, Who>({ verb, ...rest }: Command<Verb, Who>) {
  return {
    at: `POST /v1/executions/:id/${verb}`,
    tag: 'Control',
    ...{ ...rest, params: refParams, body: operationBody, responses: RESPONSES },
  } as const;
}

export const commandOperations = {
  cancelExecution: {
    ...command({
      verb: 'cancel',
      allows: READERS,
      summary: 'Cancel an execution',
      description:
        'Cancels a queued or waiting execution at once. One that is running, or in a `ctx.scope`, gets a message and ends when a worker has read it and cleaned up. Writes a history event and an audit record. Repeating it changes nothing.',
    }),
    body: cancelBody,
  },
  pauseExecution: command({
    verb: 'pause',
    allows: OPERATORS,
    summary: 'Pause an execution',
    description:
      'Keeps the execution from workers until you resume it. A running one gets a message, and its worker gives it back. Writes a history event and an audit record. Repeating it changes nothing.',
  }),
  resumeExecution: command({
    verb: 'resume',
    allows: OPERATORS,
    summary: 'Resume a paused or blocked execution',
    description:
      'Removes the holds `paused` and `blocked`, so that a worker can claim the execution. Writes a history event and an audit record. Repeating it changes nothing.',
  }),
  signalExecution: {
    at: 'POST /v1/executions/:id/signals',
    tag: 'Control',
    summary: 'Send a signal to an execution',
    description:
      'Appends a named message to the inbox of the execution. It stays there until the code reads it. With a `key`, a repeated request changes nothing. Without one, each request adds a message.',
    allows: READERS,
    params: refParams,
    body: closed(
      {
        name: documented(name, 'Name of the signal that the code waits for.', 'payment-received'),
        value: optional(json('Value of the signal: any JSON value. Default: none.')),
        tagged,
        key: optional(
          documented(
            name,
            'Key of the signal. A second one with it returns `no-change`. Default: none.',
            'payment/4711',
          ),
        ),
      },
      withExample({ name: 'payment-received', value: { amount: 4200 }, key: 'payment/4711' }),
    ),
    takesValues: true,
    responses: {
      ...RESPONSES,
      409: {
        what: 'The execution has ended, or its deadline has passed. Nothing was written.',
        codes: ['already-ended', 'deadline-passed'],
      },
    },
  },
  eraseExecution: {
    at: 'POST /v1/executions/:id/erase',
    tag: 'Control',
    summary: 'Erase the values of an execution',
    description:
      'Removes all values of an ended execution from the store and the archive: input, results, messages, answers, attachments, log lines and texts of errors. Structure and digests stay. This cannot be undone. Writes an audit record. The coordinator finishes what is `pending` later; repeat the request to finish it now. Repeating it is safe, and returns `already-erased` when nothing is left.',
    ...ADMIN,
    isLong: true,
    params: refParams,
    body: closed(
      { reason: textWithin(1, REASON_MAX, 'The reason. Required; stored in the audit record.') },
      withExample({ reason: 'Request 4711 of the customer.' }),
    ),
    responses: {
      200: {
        what: 'The values are erased, as far as `pending` does not name them.',
        schema: closed(
          {
            kind: choice(
              ['erased', 'already-erased'],
              '`already-erased`: an earlier request had removed everything.',
            ),
            id: executionId,
            ...erasure.properties,
          },
          titled('Erased', {
            kind: 'erased',
            id: '01890a5d-ac96-774b-bcce-b302099a8057',
            at: '2026-11-17T09:30:00.000Z',
            by: 'ann (a2b3c4d5e6f7a2b3)',
          }),
        ),
      },
      ...NO_EXECUTION,
      409: {
        what: 'The execution is open, or it is archived and this coordinator has no archive, or the manifest of its documents is damaged.',
        codes: ['not-ended', 'archive-missing', 'archive-damaged'],
      },
      503: {
        what: 'The coordinator cannot reach the archive or its store.',
        codes: ['archive-unavailable', 'store-unavailable'],
      },
    },
  },
} as const satisfies Operations;
