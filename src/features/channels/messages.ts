// Channels: webhooks and queues that announce what happens in a project.

import { type Static, Type } from 'typebox';
import { operationsOf } from '../../protocol/messages/operation.ts';
import {
  choice,
  closed,
  count,
  documented,
  durationMs,
  flag,
  instant,
  integerWithin,
  json,
  listOf,
  optional,
  pageOf,
  paging,
  text,
  textWithin,
  titled,
} from '../../protocol/messages/words.ts';
import { wordsIn } from '../../support/options.ts';
import { answered } from '../awaits/messages.ts';
import { ALERT_WINDOW_MS, DEFAULT_ALERTS } from './alerts-model.ts';
import { CHANNEL_EVENTS, CHANNEL_KINDS, DELIVERY_STATES, TEST_EVENT } from './model.ts';

const channelId = Type.String({
  pattern: '^[a-z0-9][a-z0-9-]*$',
  maxLength: 64,
  description: 'Id of the channel.',
  examples: ['orders'],
});

const messageId = textWithin(
  1,
  2_048,
  'Id of the message: the same for each attempt and each replay.',
  'execution-ended_01890a5d-ac96-774b-bcce-b302099a8057',
);

const URL_MAX = 2_048;

const CONTENT = {
  kind: choice(
    [...CHANNEL_KINDS],
    '`webhook`: an HTTPS endpoint that gets signed requests. `sqs`: an Amazon SQS queue.',
  ),
  url: textWithin(
    1,
    URL_MAX,
    'URL of the endpoint or the queue.',
    'https://example.com/hooks/holdfast',
  ),
  events: Type.Array(choice([...CHANNEL_EVENTS], 'An event to announce.'), {
    minItems: 1,
    maxItems: CHANNEL_EVENTS.length,
    description: 'The events to announce.',
  }),
};

const DAY_MS = 86_400_000;

const alertMs = (what: string, example: number) =>
  optional(integerWithin(1_000, 30 * DAY_MS, what, example));

const alerts = closed(
  {
    deadLetters: optional(
      integerWithin(
        1,
        1_000_000,
        'Raises `dead-letter-rate` when so many executions of one pipeline failed or were quarantined within `windowMs`.',
        10,
      ),
    ),
    windowMs: optional(
      integerWithin(
        60_000,
        DAY_MS,
        `Window of \`deadLetters\`, in milliseconds. Default: ${ALERT_WINDOW_MS}.`,
        ALERT_WINDOW_MS,
      ),
    ),
    queueAgeMs: alertMs(
      'Raises `queue-age` when an execution has been ready for so many milliseconds and no worker has taken it.',
      900_000,
    ),
    noWorkersMs: alertMs(
      'Raises `no-workers` when an execution has been ready for so many milliseconds and no live worker serves its pipeline.',
      60_000,
    ),
  },
  titled('AlertLimits', { ...DEFAULT_ALERTS }),
);

const ALERTS =
  'Limits of its alerts. A rule without a limit is off. Default: 10 dead letters in 15 minutes, 15 minutes, and one minute without workers.';

const paused = flag('True: messages are written and wait. Default: false.');

const EXAMPLE = {
  kind: 'webhook',
  url: 'https://example.com/hooks/holdfast',
  events: ['execution-ended', 'dead-letter-created'],
};

const answersFlag = flag(
  'True: its secret also signs answers to questions of the project. Default: false.',
);

const channelBody = closed(
  {
    ...{ ...CONTENT, paused: optional(paused), alerts: optional(alerts, ALERTS) },
    answers: optional(answersFlag),
  },
  titled('ChannelBody', EXAMPLE),
);

export type ChannelBody = Static<typeof channelBody>;

const channel = closed(
  {
    id: channelId,
    ...CONTENT,
    paused,
    alerts: optional(
      alerts,
      'Limits of its alerts. Absent: it asks for neither `alert-raised` nor `alert-cleared`.',
    ),
    answers: optional(answersFlag),
    failures: documented(count, 'Failed attempts in a row.', 0),
    openUntil: optional(
      instant,
      'The circuit is open until then: the last attempts failed, and nothing is sent.',
    ),
    createdAt: documented(instant, 'When it was created.'),
    changedAt: documented(instant, 'When its content or secret changed last.'),
    putBy: optional(text('The actor that wrote it last.')),
  },
  titled('Channel', {
    ...{ id: 'orders', ...EXAMPLE, paused: false, failures: 0 },
    createdAt: '2026-11-17T09:30:00.000Z',
    changedAt: '2026-11-17T09:30:00.000Z',
    putBy: 'ann (a2b3c4d5e6f7a2b3)',
  }),
);

export type ChannelMessage = Static<typeof channel>;

const SECRET_EXAMPLE = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD8NdRBqAGKhs=';

const secret = closed(
  {
    secret: text('Verifies the signatures of its messages. Keep it secret.', SECRET_EXAMPLE),
    previous: optional(
      closed({
        secret: text('The previous secret, which signs too.', SECRET_EXAMPLE),
        validUntil: documented(instant, 'When it stops signing.'),
      }),
      'The previous secret, for as long as it is valid.',
    ),
  },
  titled('ChannelSecret', { secret: SECRET_EXAMPLE }),
);

export type ChannelSecretMessage = Static<typeof secret>;

const attempt = closed({
  at: documented(instant, 'When it began, by the clock of the coordinator.'),
  ms: documented(durationMs, 'How long it took, in milliseconds.'),
  status: optional(Type.Integer(), 'HTTP status of the reply. Absent: there was none.', 200),
  error: optional(text('Why it failed. Absent: the endpoint has the message.')),
});

const delivery = closed(
  {
    id: messageId,
    event: choice([...CHANNEL_EVENTS, TEST_EVENT], 'The event.'),
    at: documented(instant, 'When it happened.'),
    data: json('The content of the message.', { pipeline: 'order', status: 'completed' }),
    state: choice(
      [...DELIVERY_STATES],
      '`failed`: the attempts are used up, and nothing is sent unless you replay it.',
    ),
    attempts: documented(count, 'Attempts that began.', 1),
    nextAt: optional(instant, 'When the next attempt is due.'),
    doneAt: optional(instant, 'When it was delivered, or failed.'),
    log: listOf(attempt, 'The last ten attempts, oldest first.'),
  },
  titled('Delivery', {
    id: 'execution-ended_01890a5d-ac96-774b-bcce-b302099a8057',
    event: 'execution-ended',
    at: '2026-11-17T09:30:00.000Z',
    data: {
      execution: '01890a5d-ac96-774b-bcce-b302099a8057',
      pipeline: 'order',
      status: 'completed',
    },
    state: 'delivered',
    attempts: 1,
    doneAt: '2026-11-17T09:30:00.250Z',
    log: [{ at: '2026-11-17T09:30:00.120Z', ms: 84, status: 200 }],
  }),
);

export type DeliveryMessage = Static<typeof delivery>;

const PAYLOAD_MAX = 48_000;

const answerBody = closed(
  {
    id: textWithin(1, 256, 'Id of the answer, chosen by the sender.', 'answer-17'),
    timestamp: documented(Type.Integer({ minimum: 0 }), 'Seconds since 1970.', 1_763_371_800),
    signature: textWithin(
      1,
      2_048,
      'Base64 of the HMAC-SHA256 of `id.timestamp.payload` by the secret of the channel, after `v1,`. Several have a space between them.',
      'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
    ),
    payload: textWithin(
      1,
      PAYLOAD_MAX,
      'JSON text: `type` is `answer`, `value` the answer. The question is `interaction`, or `execution` (an id, or `key:` and a key) and `name`, with `occurrence` and `item` if they are not the first.',
      '{"type":"answer","execution":"key:order-17","name":"payment","value":{"paid":true}}',
    ),
  },
  {
    ...titled('ChannelAnswerBody', {
      ...{ id: 'answer-17', timestamp: 1_763_371_800 },
      signature: 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
      payload:
        '{"type":"answer","execution":"key:order-17","name":"payment","value":{"paid":true}}',
    }),
  },
);

export type ChannelAnswerBody = Static<typeof answerBody>;

const channelParams = closed({ id: channelId });

const UNKNOWN = {
  404: { what: 'The project has no such channel.', codes: ['channel-unknown'] },
} as const;

const NO_CHANNELS = {
  404: {
    what: 'The project has no such channel, or this coordinator has no keys for channels.',
    codes: ['channel-unknown', 'channels-off'],
  },
} as const;

export const channelOperations = operationsOf('Channels', {
  putChannel: {
    at: 'PUT /v1/channels/:id',
    summary: 'Create or change a channel',
    description:
      'Creates the channel, or replaces its content, and writes an audit record. From then on, each event is announced once. Repeating the same content writes nothing. A change of content closes the circuit.',
    allows: ['operate'],
    params: channelParams,
    body: channelBody,
    responses: {
      200: {
        what: 'The channel is stored.',
        schema: closed({ changed: flag('False if it had this content already.') }),
      },
      404: { what: 'This coordinator has no keys for channels.', codes: ['channels-off'] },
    },
  },
  readChannel: {
    at: 'GET /v1/channels/:id',
    summary: 'Read a channel',
    description: 'Returns one channel. The response has an `ETag` for `If-None-Match`.',
    allows: ['operate'],
    params: channelParams,
    responses: { 200: { what: 'The channel.', schema: channel }, ...UNKNOWN },
  },
  listChannels: {
    at: 'GET /v1/channels',
    summary: 'List channels',
    description: "Returns the project's channels by id. The response has an `ETag`.",
    allows: ['operate'],
    query: closed(paging(channelId)),
    responses: { 200: { what: 'One page of channels.', schema: pageOf(channel) } },
  },
  removeChannel: {
    at: 'DELETE /v1/channels/:id',
    summary: 'Delete a channel',
    description:
      'Deletes the channel and writes an audit record. Messages that wait are never sent. Repeating it changes nothing.',
    allows: ['operate'],
    params: channelParams,
    responses: {
      200: {
        what: 'The channel does not exist any more.',
        schema: closed({
          kind: choice(['done', 'no-change'], '`no-change`: there was no such channel.'),
        }),
      },
    },
  },
  readChannelSecret: {
    at: 'GET /v1/channels/:id/secret',
    summary: 'Read the secret of a channel',
    description: 'Returns the secret that verifies the signatures of the messages.',
    allows: ['operate'],
    params: channelParams,
    responses: { 200: { what: 'The secret.', schema: secret }, ...NO_CHANNELS },
  },
  rotateChannelSecret: {
    at: 'POST /v1/channels/:id/rotate',
    summary: 'Rotate the secret of a channel',
    description:
      'Creates another secret and writes an audit record. Until `overlapMs` have passed, both secrets sign each message. A second rotation within that time is refused with `secret-overlaps`, so a repeated request never ends a secret that receivers have.',
    allows: ['operate'],
    params: channelParams,
    body: closed(
      {
        overlapMs: optional(
          integerWithin(
            0,
            30 * 86_400_000,
            'Time in which both secrets are valid, in milliseconds. Default: 86400000.',
            86_400_000,
          ),
        ),
      },
      { examples: [{ overlapMs: 86_400_000 }] },
    ),
    responses: {
      200: { what: 'The new secret.', schema: secret },
      ...NO_CHANNELS,
      409: { what: 'The previous secret is still valid.', codes: ['secret-overlaps'] },
    },
  },
  testChannel: {
    at: 'POST /v1/channels/:id/test',
    summary: 'Send a test message',
    description:
      'Writes a message with the event `test`, and an audit record. It is delivered, retried and logged as any other. Repeating it sends another message.',
    allows: ['operate'],
    params: channelParams,
    responses: {
      200: {
        what: 'The message is written.',
        schema: closed({ id: messageId }),
      },
      ...UNKNOWN,
    },
  },
  answerByChannel: {
    at: 'POST /v1/channel-answers/:project/:channel',
    summary: 'Answer a question by a signed message',
    description:
      'Stores the answer with the channel as its author. The secret of the channel must sign it, and the channel must allow answers. The first answer wins. Repeating the same answer is safe, and an answer that comes before its question is kept for it. A timestamp may differ from the time of the coordinator by five minutes.',
    allows: 'public',
    params: closed({
      project: textWithin(1, 256, 'Project of the channel.', 'default'),
      channel: channelId,
    }),
    body: answerBody,
    responses: {
      200: {
        what: 'The answer won, the same answer was stored before, or it is kept until the code asks.',
        schema: answered,
      },
      403: {
        what: 'The signature is not valid, or the question takes answers by signed link only.',
        codes: ['answer-not-signed', 'link-required'],
      },
      404: {
        what: 'The project has no such question.',
        codes: ['await-unknown', 'execution-unknown'],
      },
      409: {
        what: 'Another answer won, the await has settled, or a check failed. A late answer is kept and changes nothing.',
        codes: wordsIn(
          'answer-conflict answer-late answer-too-early answer-check-failed question-unknown',
        ),
      },
      503: {
        what: 'A worker must check the answer, and none did so in time, or the store is unavailable. Nothing was written.',
        codes: ['no-worker', 'store-unavailable'],
      },
    },
  },
  listDeliveries: {
    at: 'GET /v1/channels/:id/deliveries',
    summary: 'List the messages of a channel',
    description:
      'Returns messages with their attempts, newest first. The coordinator deletes them after `channels.keepDays`.',
    allows: ['operate'],
    params: channelParams,
    query: closed({
      state: optional(choice([...DELIVERY_STATES], 'Only messages in this state. Default: all.')),
      ...paging(
        textWithin(1, 2_100, 'Position in the list.', '1763371800000_execution-ended_01890a5d'),
      ),
    }),
    responses: { 200: { what: 'One page of messages.', schema: pageOf(delivery) }, ...UNKNOWN },
  },
  replayDeliveries: {
    at: 'POST /v1/channels/:id/replay',
    summary: 'Send messages again',
    description:
      'Makes one delivered or failed message pending again, or up to 1,000 failed ones, oldest first. The ids stay the same. Closes the circuit and writes an audit record. Call it until `count` is 0.',
    allows: ['operate'],
    params: channelParams,
    body: closed(
      { message: optional(messageId, 'Only this message. Default: the failed ones.') },
      { examples: [{}] },
    ),
    responses: {
      200: {
        what: 'The messages are pending.',
        schema: closed({ count: documented(count, 'Messages that became pending.', 12) }),
      },
      ...UNKNOWN,
    },
  },
});
