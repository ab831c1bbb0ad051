// Dead letters, re-drives and bulk jobs.

import { type Static, Type } from 'typebox';
import { actBody, commandAnswer, idParams } from '../../protocol/messages/execution.ts';
import { type Operations, READERS } from '../../protocol/messages/operation.ts';
import {
  closed,
  count,
  executionId,
  instant,
  name,
  pageOf,
  paging,
  reason,
  releaseName,
  status,
  uuid,
} from '../../protocol/messages/words.ts';

const step = Type.String({ minLength: 1, maxLength: 512 });

const deadLetter = closed({
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
});

export type DeadLetterMessage = Static<typeof deadLetter>;

const FILTER = {
  pipeline: Type.Optional(name),
  code: Type.Optional(name),
  step: Type.Optional(step),
  open: Type.Optional(Type.Boolean({ description: 'Only those that were not driven again.' })),
};

const deadLetterGroups = closed({
  items: Type.Array(
    closed({
      pipeline: Type.String(),
      code: Type.String(),
      step: Type.Optional(Type.String()),
      count,
      at: instant,
    }),
  ),
});

export type DeadLetterGroups = Static<typeof deadLetterGroups>;

const mode = Type.Enum(['forward', 'compensate']);

const redriveBody = closed({
  mode: Type.Optional(mode),
  from: Type.Optional(step),
  release: Type.Optional(name),
  reason: Type.Optional(reason),
});

export type RedriveBody = Static<typeof redriveBody>;

const made = closed({ id: executionId });

const PACE = {
  perSecond: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  dryRun: Type.Optional(Type.Boolean({ description: 'Counts what would be done.' })),
  reason: Type.Optional(reason),
  key: Type.Optional(name),
};

const bulkRedriveBody = closed({
  filter: Type.Optional(closed(FILTER)),
  mode: Type.Optional(mode),
  ...PACE,
});

export type BulkRedriveBody = Static<typeof bulkRedriveBody>;

const bulkCancelBody = closed({
  filter: closed({
    pipeline: Type.Optional(name),
    status: Type.Optional(Type.Enum(['queued', 'running', 'waiting'])),
    tag: Type.Optional(name),
  }),
  ...PACE,
});

export type BulkCancelBody = Static<typeof bulkCancelBody>;

export const bulkMoveBody = closed({
  from: Type.Union([releaseName, Type.Null()], {
    description: 'What they are pinned to; null is nothing.',
  }),
  to: releaseName,
  ...PACE,
});

export type BulkMoveBody = Static<typeof bulkMoveBody>;

const outcomes = Type.Record(Type.String(), count);

export const job = closed({
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
});

export type JobMessage = Static<typeof job>;

const jobQuery = closed(paging(executionId));

const jobItemPage = pageOf(
  closed({ target: executionId, outcome: Type.String(), made: Type.Optional(uuid), at: instant }),
);

export type JobItemPage = Static<typeof jobItemPage>;

const COMMANDED = {
  200: { what: 'Passed on to its owner, or kept for the next one.', schema: commandAnswer },
  409: { what: 'It has ended.' },
} as const;

export const repairOperations = {
  listDeadLetters: {
    at: 'GET /v1/dead-letters',
    summary: 'What ended without having done its work, newest first.',
    allows: READERS,
    query: closed({ ...FILTER, ...paging(executionId) }),
    answers: { 200: { what: 'A page.', schema: pageOf(deadLetter) } },
  },
  groupDeadLetters: {
    at: 'GET /v1/dead-letters/groups',
    summary: 'Dead letters by cause, the most frequent first.',
    allows: READERS,
    query: closed({ open: FILTER.open }),
    answers: { 200: { what: 'All groups.', schema: deadLetterGroups } },
  },
  readDeadLetter: {
    at: 'GET /v1/dead-letters/:id',
    summary: 'The dead letter of one execution.',
    allows: READERS,
    params: idParams,
    answers: { 200: { what: 'Why it ended so.', schema: deadLetter } },
  },
  redriveExecution: {
    at: 'POST /v1/executions/:id/redrive',
    summary: 'A new execution that goes on where this one went wrong.',
    allows: ['operate'],
    params: idParams,
    body: redriveBody,
    answers: {
      202: { what: 'It will run.', schema: made },
      409: { what: 'It has not ended, is being driven again, or cannot be.' },
    },
  },
  skipCompensation: {
    at: 'POST /v1/executions/:id/skip-compensation',
    summary: 'A compensation that cannot be done is left out, for a reason.',
    allows: ['operate'],
    params: idParams,
    body: closed({ step, reason: Type.String({ minLength: 1, maxLength: 1_024 }) }),
    answers: COMMANDED,
  },
  retryCompensation: {
    at: 'POST /v1/executions/:id/retry-compensation',
    summary: 'A compensation is tried now, and not when its next attempt is due.',
    allows: ['operate'],
    params: idParams,
    body: closed({ step, reason: Type.Optional(reason) }),
    answers: COMMANDED,
  },
} as const satisfies Operations;

export const MADE = {
  202: { what: 'The job is under way.', schema: made },
  409: { what: 'The key was used for another job.' },
} as const;

function jobAct<Verb extends string>(verb: Verb, summary: string) {
  return {
    at: `POST /v1/jobs/:id/${verb}`,
    summary,
    allows: ['operate'],
    params: idParams,
    body: actBody,
    answers: {
      200: { what: 'Done, passed on, or nothing to change.', schema: commandAnswer },
      409: { what: 'It has ended.' },
    },
  } as const;
}

export const jobOperations = {
  redriveMany: {
    at: 'POST /v1/jobs/redrive',
    summary: 'Drives all dead letters again that fit the filter.',
    allows: ['operate'],
    body: bulkRedriveBody,
    answers: MADE,
  },
  cancelMany: {
    at: 'POST /v1/jobs/cancel',
    summary: 'Cancels all open executions that fit the filter.',
    allows: ['operate'],
    body: bulkCancelBody,
    answers: MADE,
  },
  listJobs: {
    at: 'GET /v1/jobs',
    summary: 'Jobs, newest first.',
    allows: ['operate'],
    query: jobQuery,
    answers: { 200: { what: 'A page.', schema: pageOf(job) } },
  },
  readJob: {
    at: 'GET /v1/jobs/:id',
    summary: 'How far a job is.',
    allows: ['operate'],
    params: idParams,
    answers: { 200: { what: 'As it is now.', schema: job } },
  },
  listJobItems: {
    at: 'GET /v1/jobs/:id/items',
    summary: 'What became of each item. A dry run has none.',
    allows: ['operate'],
    params: idParams,
    query: jobQuery,
    answers: { 200: { what: 'A page.', schema: jobItemPage } },
  },
  pauseJob: jobAct('pause', 'Holds a job where it is.'),
  resumeJob: jobAct('resume', 'Lets a job go on.'),
  stopJob: jobAct('stop', 'Ends a job; what it has done stays done.'),
} as const satisfies Operations;
