// Dead letters, re-drives and bulk acts.

import { type Static, Type } from 'typebox';
import {
  CLOSED,
  count,
  executionId,
  instant,
  limit,
  name,
  pageOf,
  reason,
  status,
  uuid,
} from '../../protocol/messages/words.ts';
import { releaseName } from '../releases/messages.ts';

const step = Type.String({ minLength: 1, maxLength: 512 });

export const deadLetter = Type.Object(
  {
    execution: executionId,
    pipeline: Type.String(),
    release: Type.Optional(Type.String()),
    status,
    category: Type.Enum(['retryable', 'permanent', 'denied', 'unknown']),
    code: Type.String(),
    reason: Type.String(),
    step: Type.Optional(Type.String()),
    attempts: count,
    at: instant,
    redrivenBy: Type.Optional(executionId),
  },
  CLOSED,
);

export type DeadLetterMessage = Static<typeof deadLetter>;

export const deadLetterPage = pageOf(deadLetter);

const FILTER = {
  pipeline: Type.Optional(name),
  code: Type.Optional(name),
  step: Type.Optional(step),
  open: Type.Optional(Type.Boolean({ description: 'Only those that were not driven again.' })),
};

export const deadLetterQuery = Type.Object(
  { ...FILTER, cursor: Type.Optional(executionId), limit: Type.Optional(limit) },
  CLOSED,
);

export const groupQuery = Type.Object({ open: FILTER.open }, CLOSED);

export const deadLetterGroups = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
          pipeline: Type.String(),
          code: Type.String(),
          step: Type.Optional(Type.String()),
          count,
          at: instant,
        },
        CLOSED,
      ),
    ),
  },
  CLOSED,
);

export type DeadLetterGroups = Static<typeof deadLetterGroups>;

const mode = Type.Enum(['forward', 'compensate']);

export const redriveBody = Type.Object(
  {
    mode: Type.Optional(mode),
    from: Type.Optional(step),
    release: Type.Optional(name),
    reason: Type.Optional(reason),
  },
  CLOSED,
);

export type RedriveBody = Static<typeof redriveBody>;

export const made = Type.Object({ id: executionId }, CLOSED);

export const skipBody = Type.Object(
  { step, reason: Type.String({ minLength: 1, maxLength: 1_024 }) },
  CLOSED,
);

export const retryBody = Type.Object({ step, reason: Type.Optional(reason) }, CLOSED);

const PACE = {
  perSecond: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  dryRun: Type.Optional(Type.Boolean({ description: 'Counts what would be done.' })),
  reason: Type.Optional(reason),
  key: Type.Optional(name),
};

export const bulkRedriveBody = Type.Object(
  {
    filter: Type.Optional(Type.Object(FILTER, CLOSED)),
    mode: Type.Optional(mode),
    ...PACE,
  },
  CLOSED,
);

export type BulkRedriveBody = Static<typeof bulkRedriveBody>;

export const bulkCancelBody = Type.Object(
  {
    filter: Type.Object(
      {
        pipeline: Type.Optional(name),
        status: Type.Optional(Type.Enum(['queued', 'running', 'waiting'])),
        tag: Type.Optional(name),
      },
      CLOSED,
    ),
    ...PACE,
  },
  CLOSED,
);

export type BulkCancelBody = Static<typeof bulkCancelBody>;

export const bulkMoveBody = Type.Object(
  {
    from: Type.Union([releaseName, Type.Null()], {
      description: 'What they are pinned to; null is nothing.',
    }),
    to: releaseName,
    ...PACE,
  },
  CLOSED,
);

export type BulkMoveBody = Static<typeof bulkMoveBody>;

const outcomes = Type.Record(Type.String(), count);

export const job = Type.Object(
  {
    id: executionId,
    act: Type.Enum(['redrive', 'cancel', 'move']),
    status,
    paused: Type.Boolean(),
    dryRun: Type.Boolean(),
    by: Type.String(),
    reason: Type.String(),
    submittedAt: instant,
    endedAt: Type.Optional(instant),
    seen: Type.Integer({ minimum: 0, description: 'Items so far.' }),
    outcomes,
  },
  CLOSED,
);

export type JobMessage = Static<typeof job>;

export const jobPage = pageOf(job);
export const jobQuery = Type.Object(
  { cursor: Type.Optional(executionId), limit: Type.Optional(limit) },
  CLOSED,
);

export const jobItemPage = pageOf(
  Type.Object(
    { target: executionId, outcome: Type.String(), made: Type.Optional(uuid), at: instant },
    CLOSED,
  ),
);

export type JobItemPage = Static<typeof jobItemPage>;
