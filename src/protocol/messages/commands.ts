// Cancel, pause, resume and signal: what callers send to an execution, and its reply.

import { Type } from 'typebox';
import { idParams } from './execution.ts';
import { NO_EXECUTION, type Operations, READERS } from './operation.ts';
import { closed, documented, name, reason, status, tagged } from './words.ts';

export const operationBody = closed(
  { reason: Type.Optional(reason) },
  { examples: [{ reason: 'The customer asked for it.' }] },
);

export const commandResult = closed(
  {
    kind: Type.Enum(['done', 'forwarded', 'no-change'], {
      description:
        '`done`: the execution changed. `forwarded`: its worker gets the message. `no-change`: it was so already.',
    }),
    status,
  },
  { title: 'CommandResult', examples: [{ kind: 'forwarded', status: 'running' }] },
);

const OPERATORS = ['operate'] as const;

const RESPONSES = {
  200: {
    what: 'The execution changed, its worker gets the message, or nothing had to change.',
    schema: commandResult,
  },
  ...NO_EXECUTION,
  409: {
    what: 'The execution has ended. Nothing was written.',
    codes: ['already-ended'],
  },
} as const;

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
    ...{ ...rest, params: idParams, body: operationBody, responses: RESPONSES },
  } as const;
}

export const commandOperations = {
  cancelExecution: command({
    verb: 'cancel',
    allows: READERS,
    summary: 'Cancel an execution',
    description:
      'Cancels a queued or waiting execution at once. A running one gets a message and ends when its worker reads it. Writes a history event and an audit record. Repeating it changes nothing.',
  }),
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
      'Appends a named message to the inbox of the execution. It stays there until the code reads it. Each request adds a message: repeating it sends the signal twice.',
    allows: READERS,
    params: idParams,
    body: closed(
      {
        name: documented(name, 'Name of the signal that the code waits for.', 'payment-received'),
        value: Type.Optional(
          Type.Unknown({ description: 'Value of the signal: any JSON value. Default: none.' }),
        ),
        tagged,
      },
      { examples: [{ name: 'payment-received', value: { amount: 4200 } }] },
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
} as const satisfies Operations;
