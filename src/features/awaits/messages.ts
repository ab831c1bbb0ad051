// Questions of executions to people and other systems, and their answers.

import { type Static, Type } from 'typebox';
import { operationsOf, READERS } from '../../protocol/messages/operation.ts';
import {
  choice,
  closed,
  count,
  documented,
  executionId,
  executionRef,
  flag,
  instant,
  integerWithin,
  json,
  name,
  optional,
  pageOf,
  paging,
  sealed,
  seq,
  tagged,
  text,
  textWithin,
  titled,
  withExample,
} from '../../protocol/messages/words.ts';
import { TEN_YEARS_MS, wordsIn } from '../../support/options.ts';
import { cappedCount } from '../overview/messages.ts';

const UNIT_STATUSES = ['open', 'answered', 'timed-out', 'cancelled'];
const STATUSES = ['queued', 'open', 'early', 'answered', 'closed'];

const interactionId = Type.String({
  title: 'InteractionId',
  pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
  description: 'Id of one question: one item of one await of one execution.',
  examples: ['01890a5d-c3d4-7a5b-9c6d-7e8f90a1b2c3'],
});

const interactionRef = Type.String({
  title: 'InteractionRef',
  pattern: '^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|correlation:[\\s\\S]{1,256})$',
  description:
    'A question: its id, or `correlation:` and the correlation that the code chose, as in `correlation:payment-17`. Encode slashes as `%2F`.',
  examples: ['01890a5d-c3d4-7a5b-9c6d-7e8f90a1b2c3', 'correlation:payment-17'],
});

const status = choice(
  STATUSES,
  '`queued`: it waits for a slot of its concurrency key. `open`: it can be answered. `early`: it was answered before the code asked. `closed`: it needs no answer any more.',
);

const request = json('Value that the answerer sees: any JSON value.');

const answerSchema = json(
  'JSON Schema of the answer, if the pipeline declares one. Absent in lists.',
);

const answerValue = json('The answer: any JSON value.');

const answer = closed(
  {
    value: optional(answerValue),
    sealed: optional(sealed),
    actor: optional(text('The answerer: a key or a link.')),
    at: documented(instant, 'When the answer was stored.'),
  },
  { description: 'The answer that won.' },
);

const unit = closed(
  {
    name: text('Name that the code awaits.'),
    pipeline: text('Pipeline of the execution.'),
    status: choice(UNIT_STATUSES, 'State of the whole await.'),
    items: documented(count, 'Number of questions in the await.'),
    needed: documented(count, 'Number of answers that settle it.'),
    answered: documented(count, 'Number of answers so far.'),
    signed: flag('True if it takes answers by signed link only.'),
    checked: flag('True if a worker that has the pipeline checks each answer.'),
    openedAt: documented(instant, 'When the code asked.'),
    dueAt: optional(instant, 'When it times out.'),
    settledAt: optional(instant, 'When it was answered, timed out or cancelled.'),
    concurrency: optional(
      closed(
        {
          key: documented(name, 'Questions with the same key share the limit.', 'finance'),
          limit: integerWithin(1, 10_000, 'Most questions of this key that are open at once.'),
        },
        { description: 'Limit on how many questions of a key are open, within the project.' },
      ),
    ),
  },
  { description: 'The await that the question belongs to. Absent before the code asks.' },
);

export const interaction = closed(
  {
    id: interactionId,
    execution: executionId,
    call: text('Key of the call in the history, such as `await:approval#1`.'),
    item: documented(count, 'Position in the await, from 0.'),
    status,
    request: optional(request),
    sealed: optional(sealed),
    assignee: optional(text('The assignee.')),
    correlation: optional(text('The name that the code chose for the question.', 'payment-17')),
    answer: optional(answer),
    late: Type.Integer({ minimum: 0, description: 'Number of answers that came too late.' }),
    answerSchema: optional(answerSchema),
    unit: optional(unit),
  },
  titled('Interaction', {
    id: '01890a5d-c3d4-7a5b-9c6d-7e8f90a1b2c3',
    execution: '01890a5d-ac96-774b-bcce-b302099a8057',
    call: 'await:approval#1',
    item: 0,
    status: 'open',
    request: { who: 'ann', amount: 120 },
    assignee: 'finance',
    late: 0,
    unit: {
      ...{ name: 'approval', pipeline: 'expense', status: 'open' },
      ...{ items: 1, needed: 1, answered: 0, signed: false, checked: false },
      ...{ openedAt: '2026-11-17T09:30:00.000Z', dueAt: '2026-12-01T09:30:00.000Z' },
    },
  }),
);

export type InteractionMessage = Static<typeof interaction>;

const UUID = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}';

const interactionQuery = closed({
  open: optional(
    Type.Boolean({
      default: true,
      description: 'True: questions that can be answered. False: the others. Default: true.',
    }),
  ),
  queued: optional(
    Type.Boolean({
      default: false,
      description:
        'True: only questions that wait for a slot of their concurrency key; `open` is ignored then. Default: false.',
    }),
  ),
  execution: optional(executionId, 'Only questions of this execution.'),
  name: optional(name, 'Only questions of this name.', 'approval'),
  assignee: optional(name, 'Only questions for this assignee.', 'finance'),
  sort: optional(
    choice(
      ['newest', 'due'],
      'Order. `newest`: questions of the newest executions first. `due`: the next one due first, those without a time limit last; not with `execution` or `open=false`. Default: `newest`.',
    ),
  ),
  ...paging(
    Type.String({
      pattern: `^((none|[0-9]{1,15})\\.${UUID}\\.)?${UUID}$`,
      examples: ['01890a5d-c3d4-7a5b-9c6d-7e8f90a1b2c3'],
    }),
  ),
});

const countQuery = closed({
  name: optional(name, 'Only questions of this name.', 'approval'),
  assignee: optional(name, 'Only questions for this assignee.', 'finance'),
});

const interactionParams = closed({ id: interactionRef });

const answerBody = closed(
  { value: optional(answerValue), tagged },
  titled('AnswerBody', { value: { ok: true } }),
);

export const answered = closed(
  {
    kind: choice(
      ['answered', 'kept', 'existing'],
      '`answered`: the answer won. `kept`: the code has not asked yet. `existing`: the same answer was stored before.',
    ),
    settled: flag('True if the execution continues with it.'),
  },
  titled('Answered', { kind: 'answered', settled: true }),
);

/** One of several answers that a caller sends together. */
export const answerResult = closed(
  {
    kind: choice(
      ['answered', 'kept', 'existing', 'refused'],
      '`refused`: `code` and `detail` have the reason. The others as for a single answer.',
    ),
    settled: flag('True if the execution continues with it.'),
    code: optional(text('Why it was refused.', 'answer-late')),
    detail: optional(text('The refusal in words.')),
  },
  titled('AnswerResult', { kind: 'answered', settled: true }),
);

const IDS_MAX = 100;

export const link = closed({
  token: text('The signed token.', 'eyJr…'),
  path: text(
    'Path of the API that reads and answers the question without a key.',
    '/v1/answers/eyJr…',
  ),
  page: text('Path of the console page for people.', '/console/answer/eyJr…'),
});

const linkParams = closed({ link: textWithin(1, 4_096, 'The signed token of the link.', 'eyJr…') });

/** The view for the holder of a link. */
const linkedInteraction = closed(
  {
    status,
    answerSchema: optional(answerSchema),
    name: optional(text('Name that the code awaits.')),
    request: optional(request),
    sealed: optional(sealed),
    dueAt: optional(instant, 'When it times out.'),
  },
  withExample({ status: 'open', name: 'approval', request: { who: 'ann', amount: 120 } }),
);

export type LinkedMessage = Static<typeof linkedInteraction>;

/** Not `submit`: a caller must not approve its own request. */
const ANSWERERS = ['operate'] as const;

const LATE = {
  what: 'Another answer won, the await has settled, or a check failed. A late answer is kept and changes nothing.',
  codes: wordsIn(
    'answer-conflict answer-late answer-too-early answer-check-failed question-unknown',
  ),
} as const;

const NO_CHECK = {
  what: 'A worker must check the answer, and none did so in time, or the store is unavailable. Nothing was written.',
  codes: ['no-worker', 'store-unavailable'],
} as const;

const NO_AWAIT = {
  404: { what: 'The project has no such question.', codes: ['await-unknown'] },
} as const;

const RESPONSES = {
  200: {
    what: 'The answer won, the same answer was stored before, or it is kept until the code asks.',
    schema: answered,
  },
  403: {
    what: 'The caller lacks role `operate`, or the question takes answers by signed link only.',
    codes: ['role-missing', 'link-required'],
  },
  ...NO_AWAIT,
  409: LATE,
  503: NO_CHECK,
} as const;

const DONE = {
  200: {
    what: 'The await changed.',
    schema: closed({ kind: Type.Literal('done', { description: 'Always `done`.' }) }),
  },
  ...NO_AWAIT,
  409: { what: 'The await has settled. Nothing was written.', codes: ['await-settled'] },
} as const;

const UNSIGNED = {
  403: {
    what: 'The link was not signed by this coordinator, or its signing key was removed.',
    codes: ['link-invalid'],
  },
  404: {
    what: 'The question does not exist any more, or this coordinator has no link keys.',
    codes: ['await-unknown', 'links-off'],
  },
  410: { what: 'The link has expired.', codes: ['link-expired'] },
} as const;

const laterMs = integerWithin(1, TEN_YEARS_MS, 'Milliseconds from now.', 259_200_000);

export const awaitOperations = operationsOf('Awaits', {
  listAwaits: {
    at: 'GET /v1/awaits',
    summary: 'List open questions',
    description:
      "Returns questions that the project's executions ask, by default those of the newest executions first. The response has an `ETag` for `If-None-Match`.",
    allows: READERS,
    query: interactionQuery,
    responses: { 200: { what: 'One page of questions.', schema: pageOf(interaction) } },
  },
  countAwaits: {
    at: 'GET /v1/awaits/count',
    summary: 'Count open questions',
    description:
      "Counts the project's open questions that match all filters, up to 10,000. `capped` then says that there may be more.",
    allows: READERS,
    isSearch: true,
    query: countQuery,
    responses: { 200: { what: 'The count.', schema: cappedCount } },
  },
  readAwait: {
    at: 'GET /v1/awaits/:id',
    summary: 'Read a question',
    description:
      'Returns one question: request, assignee, due time, JSON Schema of the answer, and the answer if there is one.',
    allows: READERS,
    params: interactionParams,
    responses: { 200: { what: 'The question.', schema: interaction } },
  },
  answerAwait: {
    at: 'POST /v1/awaits/:id/answer',
    summary: 'Answer a question',
    description:
      'Stores the answer, an audit record and, if the await settles, a message to the execution. The first answer wins. Repeating the same answer is safe. If the pipeline declares a check, a worker runs it first.',
    allows: ANSWERERS,
    params: interactionParams,
    body: answerBody,
    takesValues: true,
    responses: RESPONSES,
  },
  answerAwaits: {
    at: 'POST /v1/awaits/answers',
    summary: 'Answer several questions',
    description:
      'Gives the same answer to up to 100 questions, of one await or of several, in one transaction. Each has a result of its own. If the value does not fit one of them, nothing is written. Repeating it is safe.',
    allows: ANSWERERS,
    body: closed(
      {
        ids: Type.Array(interactionRef, {
          ...{ minItems: 1, maxItems: IDS_MAX },
          description: 'The questions.',
        }),
        value: optional(answerValue),
        tagged,
      },
      withExample({ ids: ['01890a5d-c3d4-7a5b-9c6d-7e8f90a1b2c3'], value: { ok: true } }),
    ),
    takesValues: true,
    responses: {
      200: {
        what: 'One result for each question, in the order of the request.',
        schema: closed({
          items: Type.Array(answerResult, { maxItems: IDS_MAX, description: 'The results.' }),
        }),
      },
    },
  },
  answerPlace: {
    at: 'POST /v1/executions/:id/awaits/:name/answer',
    summary: 'Answer a question by its name',
    description:
      'Answers the question that this execution asks, or will ask, under this name. An answer that comes before the question is kept for it. The first answer wins. Repeating the same answer is safe.',
    allows: ANSWERERS,
    params: closed({
      id: executionRef,
      name: documented(name, 'Name that the code awaits.', 'approval'),
    }),
    body: closed(
      {
        value: optional(answerValue),
        tagged,
        occurrence: optional(
          integerWithin(
            1,
            Number.MAX_SAFE_INTEGER,
            'Which await of this name, in the order of the code. Default: 1.',
          ),
        ),
        item: optional(seq, 'Position in the await, from 0. Default: 0.'),
      },
      withExample({ value: { ok: true } }),
    ),
    takesValues: true,
    responses: RESPONSES,
  },
  extendAwait: {
    at: 'POST /v1/awaits/:id/extend',
    summary: 'Change the timeout of an await',
    description:
      'Sets a new timeout from now for the whole await, and writes an audit record. Repeating it sets the timeout again.',
    allows: ['operate'],
    params: interactionParams,
    body: closed({
      timeoutMs: Type.Union([laterMs, Type.Null()], {
        description: 'Timeout from now, in milliseconds; null: no timeout.',
      }),
    }),
    responses: DONE,
  },
  assignAwait: {
    at: 'POST /v1/awaits/:id/assign',
    summary: 'Assign a question',
    description:
      'Sets or removes the assignee of one question, and writes an audit record. The assignee is a label for lists and grants no rights. Repeating it is safe.',
    allows: ['operate'],
    params: interactionParams,
    body: closed(
      { assignee: Type.Union([name, Type.Null()], { description: 'The assignee; null: none.' }) },
      withExample({ assignee: 'finance' }),
    ),
    responses: DONE,
  },
  cancelAwait: {
    at: 'POST /v1/awaits/:id/cancel',
    summary: 'Cancel an await',
    description:
      'Settles the whole await as cancelled, sends this to the execution, and writes an audit record. The code continues with the outcome `cancelled`. Repeating it is refused with `await-settled`.',
    allows: ['operate'],
    params: interactionParams,
    responses: DONE,
  },
  linkAwait: {
    at: 'POST /v1/awaits/:id/link',
    summary: 'Create a signed answer link',
    description:
      'Returns a link that reads and answers this question, without a key and without any other right. Writes an audit record. Each request creates another link.',
    allows: ['operate'],
    params: interactionParams,
    body: closed({ expiresInMs: documented(laterMs, 'Lifetime of the link, in milliseconds.') }),
    responses: {
      200: { what: 'The link. Send it to the answerer.', schema: link },
      404: {
        what: 'The project has no such question, or this coordinator has no link keys.',
        codes: ['not-found', 'links-off'],
      },
    },
  },
  readLink: {
    at: 'GET /v1/answers/:link',
    tag: 'Answer links',
    summary: 'Read the question of a link',
    description: 'Returns what the link asks: status, request and JSON Schema of the answer.',
    allows: 'public',
    params: linkParams,
    responses: { 200: { what: 'The question.', schema: linkedInteraction }, ...UNSIGNED },
  },
  answerByLink: {
    at: 'POST /v1/answers/:link',
    tag: 'Answer links',
    summary: 'Answer the question of a link',
    description:
      'Stores the answer with the id of the link as its author. The first answer wins. Repeating the same answer is safe. One link allows 20 requests a minute.',
    allows: 'public',
    params: linkParams,
    body: answerBody,
    responses: {
      200: { what: 'The answer won, or the same answer was stored before.', schema: answered },
      ...UNSIGNED,
      409: LATE,
      429: {
        what: 'The link, or the address of the caller, sent too many requests within a minute. Nothing was written.',
        codes: ['over-rate'],
      },
      503: NO_CHECK,
    },
  },
});
