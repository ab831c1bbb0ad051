// Questions of executions to people and other systems, and their answers.

import { type Static, Type } from 'typebox';
import { type Operations, READERS } from '../../protocol/messages/operation.ts';
import {
  closed,
  count,
  executionId,
  instant,
  name,
  pageOf,
  paging,
  sealed,
  seq,
  tagged,
  value,
} from '../../protocol/messages/words.ts';
import { TEN_YEARS_MS } from '../../support/options.ts';

const laterMs = Type.Integer({ minimum: 1, maximum: TEN_YEARS_MS });

const UNIT_STATUSES = ['open', 'answered', 'timed-out', 'cancelled'];
const STATUSES = ['open', 'early', 'answered', 'closed'];

const interactionId = Type.String({
  pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
  description: 'Of one item of one await of one execution.',
});

const answerSchema = Type.Unknown({
  description:
    'What an answer is like, as JSON Schema, where the code can say it; not in lists. For forms.',
});

const answer = closed({
  value: Type.Optional(value),
  sealed: Type.Optional(sealed),
  by: Type.Optional(Type.String()),
  at: instant,
});

const unit = closed({
  name: Type.String(),
  pipeline: Type.String(),
  status: Type.Enum(UNIT_STATUSES),
  items: count,
  needed: count,
  answered: count,
  signed: Type.Boolean({ description: 'It takes answers by signed link only.' }),
  checked: Type.Boolean({ description: 'A worker that has the pipeline checks its answers.' }),
  openedAt: instant,
  dueAt: Type.Optional(instant),
  settledAt: Type.Optional(instant),
});

export const interaction = closed({
  id: interactionId,
  execution: executionId,
  call: Type.String(),
  item: count,
  status: Type.Enum(STATUSES),
  request: Type.Optional(value),
  sealed: Type.Optional(sealed),
  assignee: Type.Optional(Type.String()),
  answer: Type.Optional(answer),
  late: Type.Integer({ minimum: 0, description: 'How many answers came too late.' }),
  answerSchema: Type.Optional(answerSchema),
  unit: Type.Optional(unit),
});

export type InteractionMessage = Static<typeof interaction>;

const interactionQuery = closed({
  open: Type.Optional(
    Type.Boolean({ default: true, description: 'Those that can be answered, or those not.' }),
  ),
  execution: Type.Optional(executionId),
  name: Type.Optional(name),
  assignee: Type.Optional(name),
  ...paging(interactionId),
});

const interactionParams = closed({ id: interactionId });

const answerBody = closed({ value: Type.Optional(value), tagged });

export const answered = closed({
  kind: Type.Enum(['answered', 'kept', 'existing']),
  settled: Type.Boolean({ description: 'The await goes on with it.' }),
});

export const link = closed({
  token: Type.String(),
  path: Type.String({ description: 'Where it is answered, without any key.' }),
  page: Type.String({ description: 'The same, for people.' }),
});

const linkParams = closed({ link: Type.String({ minLength: 1, maxLength: 4_096 }) });

/** The view for the holder of a link. */
const linkedInteraction = closed({
  status: Type.Enum(STATUSES),
  answerSchema: Type.Optional(answerSchema),
  name: Type.Optional(Type.String()),
  request: Type.Optional(value),
  sealed: Type.Optional(sealed),
  dueAt: Type.Optional(instant),
});

/** Without the submit role: a caller must not approve its own request. */
const ANSWERERS = ['operate'] as const;

const ANSWERS = {
  200: {
    what: 'It won, or the same was there, or it is kept until it is asked.',
    schema: answered,
  },
  409: { what: 'Somebody else was first, or it is too late.' },
  503: { what: 'No worker could check it.' },
} as const;

const DONE = {
  200: { what: 'Done.', schema: closed({ kind: Type.Literal('done') }) },
  409: { what: 'It has settled.' },
} as const;

export const awaitOperations = {
  listAwaits: {
    at: 'GET /v1/awaits',
    summary: 'What can be answered, of the newest executions first.',
    allows: READERS,
    query: interactionQuery,
    answers: { 200: { what: 'A page.', schema: pageOf(interaction) } },
  },
  readAwait: {
    at: 'GET /v1/awaits/:id',
    summary: 'One interaction: what is asked, of whom, until when, and its answer.',
    allows: READERS,
    params: interactionParams,
    answers: { 200: { what: 'As it is now.', schema: interaction } },
  },
  answerAwait: {
    at: 'POST /v1/awaits/:id/answer',
    summary: 'Answers it. The first answer wins; the same again is fine.',
    allows: ANSWERERS,
    params: interactionParams,
    body: answerBody,
    takesValues: true,
    answers: ANSWERS,
  },
  answerPlace: {
    at: 'POST /v1/executions/:id/awaits/:name/answer',
    summary: 'As answerAwait, by where it stands: also before it is asked.',
    allows: ANSWERERS,
    params: closed({ id: executionId, name }),
    body: closed({
      value: Type.Optional(value),
      tagged,
      occurrence: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
      item: Type.Optional(seq),
    }),
    takesValues: true,
    answers: ANSWERS,
  },
  extendAwait: {
    at: 'POST /v1/awaits/:id/extend',
    summary: 'Gives it another time.',
    allows: ['operate'],
    params: interactionParams,
    body: closed({
      timeoutMs: Type.Union([laterMs, Type.Null()], {
        description: 'From now; null: for as long as it takes.',
      }),
    }),
    answers: DONE,
  },
  assignAwait: {
    at: 'POST /v1/awaits/:id/assign',
    summary: 'Says who is to answer it.',
    allows: ['operate'],
    params: interactionParams,
    body: closed({ assignee: Type.Union([name, Type.Null()], { description: 'null: nobody.' }) }),
    answers: DONE,
  },
  cancelAwait: {
    at: 'POST /v1/awaits/:id/cancel',
    summary: 'Nobody will answer it: the code is told so, and goes on.',
    allows: ['operate'],
    params: interactionParams,
    answers: DONE,
  },
  linkAwait: {
    at: 'POST /v1/awaits/:id/link',
    summary: 'A link that answers this interaction, once, without any other right.',
    allows: ['operate'],
    params: interactionParams,
    body: closed({ expiresInMs: laterMs }),
    answers: {
      200: { what: 'To be sent to whoever answers.', schema: link },
      404: { what: 'There is no such await, or this coordinator has no link keys.' },
    },
  },
  readLink: {
    at: 'GET /v1/answers/:link',
    summary: 'What is asked of whoever has this link.',
    allows: 'public',
    params: linkParams,
    answers: {
      200: { what: 'The question.', schema: linkedInteraction },
      403: { what: 'It was not made here.' },
      410: { what: 'It has expired.' },
    },
  },
  answerByLink: {
    at: 'POST /v1/answers/:link',
    summary: 'Answers what the link is for.',
    allows: 'public',
    params: linkParams,
    body: answerBody,
    answers: {
      200: { what: 'It won, or the same was there.', schema: answered },
      403: { what: 'It was not made here.' },
      409: { what: 'Somebody else was first, or it is too late.' },
      410: { what: 'It has expired.' },
      429: { what: 'This link was tried too often within a minute.' },
    },
  },
} as const satisfies Operations;
