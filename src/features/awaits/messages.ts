// What executions ask of people and other systems, and the answers.

import { type Static, Type } from 'typebox';
import {
  CLOSED,
  count,
  executionId,
  instant,
  limit,
  name,
  pageOf,
  sealed,
  seq,
  tagged,
  value,
} from '../../protocol/messages/words.ts';
import { TEN_YEARS_MS } from '../../support/options.ts';

/** Ten years. */
const laterMs = Type.Integer({ minimum: 1, maximum: TEN_YEARS_MS });

const UNIT_STATUSES = ['open', 'answered', 'timed-out', 'cancelled'];
const STATUSES = ['open', 'early', 'answered', 'closed'];

export const interactionId = Type.String({
  pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
  description: 'Of one item of one await of one execution.',
});

const answerSchema = Type.Unknown({
  description:
    'What an answer is like, as JSON Schema, where the code can say it; not in lists. For forms.',
});

const answer = Type.Object(
  {
    value: Type.Optional(value),
    sealed: Type.Optional(sealed),
    by: Type.Optional(Type.String()),
    at: instant,
  },
  CLOSED,
);

const unit = Type.Object(
  {
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
  },
  CLOSED,
);

export const interaction = Type.Object(
  {
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
  },
  CLOSED,
);

export type InteractionMessage = Static<typeof interaction>;

export const interactionPage = pageOf(interaction);

export const interactionQuery = Type.Object(
  {
    open: Type.Optional(
      Type.Boolean({ default: true, description: 'Those that can be answered, or those not.' }),
    ),
    execution: Type.Optional(executionId),
    name: Type.Optional(name),
    assignee: Type.Optional(name),
    cursor: Type.Optional(interactionId),
    limit: Type.Optional(limit),
  },
  CLOSED,
);

export const interactionParams = Type.Object({ id: interactionId }, CLOSED);

export const answerBody = Type.Object({ value: Type.Optional(value), tagged }, CLOSED);

export const placeParams = Type.Object({ id: executionId, name }, CLOSED);

export const placeAnswerBody = Type.Object(
  {
    value: Type.Optional(value),
    tagged,
    occurrence: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    item: Type.Optional(seq),
  },
  CLOSED,
);

export const answered = Type.Object(
  {
    kind: Type.Enum(['answered', 'kept', 'existing']),
    settled: Type.Boolean({ description: 'The await goes on with it.' }),
  },
  CLOSED,
);

export type AnsweredMessage = Static<typeof answered>;

export const extendBody = Type.Object(
  {
    timeoutMs: Type.Union([laterMs, Type.Null()], {
      description: 'From now; null: for as long as it takes.',
    }),
  },
  CLOSED,
);

export const assignBody = Type.Object(
  { assignee: Type.Union([name, Type.Null()], { description: 'null: nobody.' }) },
  CLOSED,
);

export const done = Type.Object({ kind: Type.Literal('done') }, CLOSED);

export const linkBody = Type.Object({ expiresInMs: laterMs }, CLOSED);

export const link = Type.Object(
  {
    token: Type.String(),
    path: Type.String({ description: 'Where it is answered, without any key.' }),
    page: Type.String({ description: 'The same, for people.' }),
  },
  CLOSED,
);

export const linkParams = Type.Object(
  { link: Type.String({ minLength: 1, maxLength: 4_096 }) },
  CLOSED,
);

/** What one who has the link is shown. */
export const linkedInteraction = Type.Object(
  {
    status: Type.Enum(STATUSES),
    answerSchema: Type.Optional(answerSchema),
    name: Type.Optional(Type.String()),
    request: Type.Optional(value),
    sealed: Type.Optional(sealed),
    dueAt: Type.Optional(instant),
  },
  CLOSED,
);
