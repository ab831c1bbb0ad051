// Dead letters, re-drives, and jobs that act on many executions.

import { type Static, Type } from 'typebox';
import { commandResult, operationBody } from '../../protocol/messages/commands.ts';
import { executionFilter, idParams, refParams } from '../../protocol/messages/execution.ts';
import {
  CODEC_MISSING,
  NO_EXECUTION,
  operationsOf,
  READERS,
} from '../../protocol/messages/operation.ts';
import {
  choice,
  closed,
  count,
  documented,
  executionId,
  flag,
  instant,
  integerWithin,
  listOf,
  name,
  optional,
  pageOf,
  paging,
  pipelineName,
  reason,
  releaseName,
  status,
  tagged,
  text,
  textWithin,
  titled,
  uuid,
  value,
  withExample,
} from '../../protocol/messages/words.ts';

const step = textWithin(
  1,
  512,
  'Name or key of a call, such as `charge` or `step:charge#1`.',
  'charge',
);

const failureCode = documented(name, 'Code of the failure.', 'bank-down');

const deadLetter = closed(
  {
    execution: executionId,
    pipeline: text('Name of the pipeline.'),
    release: optional(text('Release that it was pinned to.')),
    status,
    category: choice(
      ['retryable', 'permanent', 'denied', 'unknown'],
      'Kind of failure. `retryable`: a retry may help.',
    ),
    code: text('Code of the failure.'),
    reason: text('Message of the failure.'),
    step: optional(text('Call that failed, if a call did.')),
    attempts: documented(count, 'Number of attempts of that call.'),
    at: documented(instant, 'When the execution ended.'),
    redrivenBy: optional(executionId, 'Its last re-drive.'),
  },
  titled('DeadLetter', {
    execution: '01890a5d-ac96-774b-bcce-b302099a8057',
    pipeline: 'order',
    status: 'failed',
    category: 'retryable',
    code: 'bank-down',
    reason: 'The bank did not respond.',
    step: 'step:charge#1',
    attempts: 5,
    at: '2026-11-17T09:31:00.000Z',
  }),
);

export type DeadLetterMessage = Static<typeof deadLetter>;

const FILTER = {
  pipeline: optional(pipelineName, 'Only this pipeline.'),
  code: optional(failureCode, 'Only failures with this code.'),
  step: optional(step, 'Only failures of this call.', 'step:charge#1'),
  open: optional(flag('Only dead letters without a re-drive. Default: false.', true)),
};

const deadLetterGroups = closed({
  items: listOf(
    closed({
      pipeline: text('Name of the pipeline.', 'order'),
      code: text('Code of the failure.', 'bank-down'),
      step: optional(text('Call that failed.')),
      count: documented(count, 'Number of dead letters in the group.', 12),
      at: documented(instant, 'When the newest one was written.'),
    }),
    'All groups.',
  ),
});

const mode = choice(
  ['forward', 'compensate'],
  '`forward` continues the work; `compensate` continues to undo it. Default: `forward`.',
);

const redriveBody = closed(
  {
    mode: optional(mode),
    from: optional(step, 'Call to start with. Default: the call that failed.', 'charge'),
    release: optional(
      name,
      'Release to pin the new execution to. Default: the rollout decides, as for any new execution.',
      'v2',
    ),
    input: optional(
      value,
      'Input of the new execution: any JSON value. Needs role `submit` too. Results of calls before its start stay. Default: the input of the old one.',
      { amount: 4200 },
    ),
    tagged,
    reason: optional(reason),
  },
  titled('RedriveBody', { from: 'charge', reason: 'The bank is up again.' }),
);

export type RedriveBody = Static<typeof redriveBody>;

const made = closed({ id: executionId });

const PACE = {
  perSecond: optional(
    integerWithin(1, 1_000_000, 'Most executions per second. Default: no limit.'),
  ),
  dryRun: optional(flag('Only count what the job would do, and change nothing. Default: false.')),
  reason: optional(reason),
  key: optional(
    name,
    'Idempotency key: the same key with the same content returns the first job. Default: the header `idempotency-key`, if any.',
    'redrive-2026-11-17',
  ),
};

const COUNTED_BY = {
  countedBy: optional(
    executionId,
    'Id of a dry run: only items that existed when the dry run was submitted. Default: items that exist when this job is submitted.',
  ),
};

const bulkRedriveBody = closed(
  {
    filter: optional(
      closed(
        { ...executionFilter, ...FILTER },
        {
          description:
            'Which dead letters. With filters that dead letters do not have, which executions: then `step` and `open` do not apply, and without `status` the job takes those that failed or were quarantined. Default: all dead letters of the project.',
        },
      ),
    ),
    mode: optional(mode),
    ...COUNTED_BY,
    ...PACE,
  },
  titled('BulkRedriveBody', {
    filter: { pipeline: 'order', code: 'bank-down', open: true },
    perSecond: 50,
    reason: 'The bank is up again.',
  }),
);

export type BulkRedriveBody = Static<typeof bulkRedriveBody>;

const OPEN_STATUS = Type.Enum(['queued', 'running', 'waiting']);

const bulkCancelBody = closed(
  {
    filter: closed(
      {
        ...executionFilter,
        status: optional(
          Type.Union([OPEN_STATUS, Type.Array(OPEN_STATUS, { maxItems: 3 })], {
            description: 'Only this state, or these. Default: all open ones.',
          }),
        ),
      },
      { description: 'Which open executions. An empty filter matches all of the project.' },
    ),
    ...COUNTED_BY,
    ...PACE,
  },
  titled('BulkCancelBody', {
    filter: { pipeline: 'import', tag: 'tuesday' },
    reason: 'Wrong file.',
  }),
);

export type BulkCancelBody = Static<typeof bulkCancelBody>;

export const bulkRepinBody = closed(
  {
    from: Type.Union([releaseName, Type.Null()], {
      description: 'Release that the executions are pinned to; null: those without a pin.',
    }),
    to: documented(releaseName, 'Release to pin them to.'),
    ...PACE,
  },
  titled('BulkRepinBody', { from: 'v1', to: 'v2', reason: 'v1 is to be retired.' }),
);

export type BulkRepinBody = Static<typeof bulkRepinBody>;

const outcomes = Type.Record(Type.String(), count, {
  description: 'Number of executions by outcome, such as `submitted` or `would-submit`.',
});

const jobFilter = Type.Record(
  Type.String(),
  Type.Union([Type.String(), Type.Boolean(), Type.Array(Type.String())]),
  {
    description:
      'Filter of a cancel or a re-drive, by the names of its request. Empty: everything of the project.',
    examples: [{ pipeline: 'order', code: 'bank-down', open: true }],
  },
);

export const job = closed(
  {
    id: executionId,
    action: choice(['redrive', 'cancel', 'repin'], 'The action on each item.'),
    status,
    paused: flag('True while an operator holds it.'),
    dryRun: flag('True if it only counts.'),
    actor: text('The actor that started it.'),
    reason: text('Reason that the caller gave. Empty if none.'),
    submittedAt: documented(instant, 'When it was started.'),
    endedAt: optional(instant, 'When it ended.'),
    filter: optional(jobFilter),
    expected: optional(
      count,
      'Number of items that the dry run `countedBy` had counted. Lists leave it out.',
      1_200,
    ),
    seen: Type.Integer({ minimum: 0, description: 'Number of items so far.' }),
    outcomes,
    results: optional(
      Type.Record(Type.String(), count, {
        description:
          'Number of executions that a re-drive created, by their state now, of the first 10,000. Lists leave it out.',
      }),
    ),
  },
  titled('Job', {
    id: '01890a5d-d4e5-7f60-8172-93a4b5c6d7e8',
    action: 'redrive',
    status: 'completed',
    paused: false,
    dryRun: false,
    actor: 'ann (a2b3c4d5e6f7a2b3)',
    reason: 'The bank is up again.',
    submittedAt: '2026-11-17T10:00:00.000Z',
    endedAt: '2026-11-17T10:00:24.000Z',
    filter: { pipeline: 'order', code: 'bank-down', open: true },
    ...{ expected: 1_200, seen: 1_200 },
    outcomes: { submitted: 1_200 },
    results: { completed: 1_150, failed: 48, running: 2 },
  }),
);

export type JobMessage = Static<typeof job>;

const jobQuery = closed(paging(executionId));

const jobItemPage = pageOf(
  closed(
    {
      target: documented(executionId, 'Execution that the job acted on.'),
      outcome: text('The outcome.'),
      made: optional(uuid, 'Execution that a re-drive created.'),
      madeStatus: optional(status, 'State of that execution now.'),
      at: documented(instant, 'When the outcome was written.'),
    },
    titled('JobItem', {
      target: '01890a5d-ac96-774b-bcce-b302099a8057',
      outcome: 'submitted',
      made: '01890a5e-0102-7304-8506-0708090a0b0c',
      madeStatus: 'completed',
      at: '2026-11-17T10:00:00.200Z',
    }),
  ),
);

export type JobItemPage = Static<typeof jobItemPage>;

const COMMANDED = {
  200: {
    what: 'The worker of the execution gets the message now, or the next worker will.',
    schema: commandResult,
  },
  ...NO_EXECUTION,
  409: {
    what: 'The execution has ended, or its deadline has passed. Nothing was written.',
    codes: ['already-ended', 'deadline-passed'],
  },
} as const;

export const repairOperations = operationsOf('Repair', {
  listDeadLetters: {
    at: 'GET /v1/dead-letters',
    summary: 'List dead letters',
    description:
      'Returns executions that failed or were quarantined and match all filters, newest first, with cause and step. The response has an `ETag` for `If-None-Match`.',
    allows: READERS,
    query: closed({ ...FILTER, ...paging(executionId) }),
    responses: { 200: { what: 'One page of dead letters.', schema: pageOf(deadLetter) } },
  },
  groupDeadLetters: {
    at: 'GET /v1/dead-letters/groups',
    summary: 'Count dead letters by cause',
    description:
      'Counts the newest 10,000 dead letters by pipeline, code and step, largest group first.',
    allows: READERS,
    isSearch: true,
    query: closed({ open: FILTER.open }),
    responses: {
      200: {
        what: 'The groups of the newest 10,000 dead letters, at most 1,000.',
        schema: deadLetterGroups,
      },
    },
  },
  readDeadLetter: {
    at: 'GET /v1/dead-letters/:id',
    summary: 'Read the dead letter of an execution',
    description: 'Returns why one execution ended badly: code, message, step and attempts.',
    allows: READERS,
    params: idParams,
    responses: { 200: { what: 'The dead letter.', schema: deadLetter } },
  },
  redriveExecution: {
    at: 'POST /v1/executions/:id/redrive',
    summary: 'Re-drive an ended execution',
    description:
      'Submits a new execution that reuses the finished steps and continues with the failed one, with the same input or an edited one. Writes an audit record. An execution has at most one open re-drive, so a repetition is refused with `redrive-open`.',
    allows: ['operate'],
    params: refParams,
    body: redriveBody,
    takesValues: true,
    responses: {
      202: { what: 'The new execution is stored.', schema: made },
      404: {
        what: 'The project has no such execution or release.',
        codes: ['execution-unknown', 'release-unknown'],
      },
      409: {
        what: 'The execution is open or erased, a re-drive of it is open, or nothing would be done again. Nothing was written.',
        codes: [
          ...(['not-ended', 'redrive-open', 'redrive-impossible', 'release-retired'] as const),
          ...(['execution-erased'] as const),
        ],
      },
    },
  },
  skipCompensation: {
    at: 'POST /v1/executions/:id/skip-compensation',
    summary: 'Skip a compensation',
    description:
      'Lets a compensating execution leave out the compensation of one step. Writes a message to the execution, and an audit record with your reason. Use it when a person has undone the step. Repeating it sends the message again.',
    allows: ['operate'],
    params: refParams,
    body: closed(
      { step, reason: textWithin(1, 1_024, 'The reason. Required; stored in the audit record.') },
      withExample({ step: 'charge', reason: 'Refunded by hand.' }),
    ),
    responses: COMMANDED,
  },
  retryCompensation: {
    at: 'POST /v1/executions/:id/retry-compensation',
    summary: 'Retry a compensation now',
    description:
      'Lets a compensating execution try the compensation of one step now, before its next attempt is due. Writes a message to the execution, and an audit record. Repeating it sends the message again.',
    allows: ['operate'],
    params: refParams,
    body: closed(
      { step, reason: optional(reason) },
      withExample({ step: 'charge', reason: 'The bank is up again.' }),
    ),
    responses: COMMANDED,
  },
});

export const MADE = {
  202: { what: 'The job is stored. Its id is the id of an execution.', schema: made },
  409: {
    what: 'The key belongs to a job with other content. Nothing was written.',
    codes: ['key-conflict'],
  },
} as const;

interface JobOperation<Verb extends string> {
  readonly verb: Verb;
  readonly summary: string;
  readonly description: string;
}

function jobOperation<Verb extends string>({ verb, ...rest }: JobOperation<Verb>) {
  return {
    at: `POST /v1/jobs/:id/${verb}`,
    tag: 'Jobs',
    ...rest,
    allows: ['operate'],
    params: idParams,
    body: operationBody,
    responses: {
      200: {
        what: 'The job changed, its worker gets the message, or nothing had to change.',
        schema: commandResult,
      },
      ...NO_JOB,
      409: { what: 'The job has ended. Nothing was written.', codes: ['already-ended'] },
    },
  } as const;
}

const NO_JOB = {
  404: { what: 'The project has no such job.', codes: ['execution-unknown', 'not-found'] },
} as const;

export const jobOperations = operationsOf('Jobs', {
  redriveMany: {
    at: 'POST /v1/jobs/redrive',
    summary: 'Re-drive many dead letters',
    description:
      'Starts a job that re-drives every dead letter that matches the filter and exists now. Writes an audit record, unless it is a dry run. To make retries safe, send a `key`.',
    allows: ['operate'],
    body: bulkRedriveBody,
    responses: { ...MADE, ...NO_JOB },
  },
  cancelMany: {
    at: 'POST /v1/jobs/cancel',
    summary: 'Cancel many executions',
    description:
      'Starts a job that cancels every open execution that matches the filter and exists now. Writes an audit record, unless it is a dry run. To make retries safe, send a `key`.',
    allows: ['operate'],
    body: bulkCancelBody,
    responses: { ...MADE, ...NO_JOB },
  },
  listJobs: {
    at: 'GET /v1/jobs',
    summary: 'List jobs',
    description: "Returns the project's jobs, newest first, with their counts so far.",
    allows: ['operate'],
    query: jobQuery,
    responses: { 200: { what: 'One page of jobs.', schema: pageOf(job) } },
  },
  readJob: {
    at: 'GET /v1/jobs/:id',
    summary: 'Read a job',
    description:
      'Returns the state of one job, the number of items by outcome so far, and the states of the executions that it created.',
    allows: ['operate'],
    params: idParams,
    responses: { 200: { what: 'The job.', schema: job }, ...NO_JOB, ...CODEC_MISSING },
  },
  listJobItems: {
    at: 'GET /v1/jobs/:id/items',
    summary: 'List the items of a job',
    description: 'Returns the outcome of each item, by execution. A dry run has no items.',
    allows: ['operate'],
    params: idParams,
    query: jobQuery,
    responses: { 200: { what: 'One page of items.', schema: jobItemPage }, ...NO_JOB },
  },
  pauseJob: jobOperation({
    verb: 'pause',
    summary: 'Pause a job',
    description:
      'Stops the job after its current page until you resume it. Writes an audit record. Repeating it changes nothing.',
  }),
  resumeJob: jobOperation({
    verb: 'resume',
    summary: 'Resume a job',
    description:
      'Continues a paused job where it stopped. Writes an audit record. Repeating it changes nothing.',
  }),
  stopJob: jobOperation({
    verb: 'stop',
    summary: 'Stop a job',
    description:
      'Cancels the job. Items that it has done stay done. Writes an audit record. A job that has ended is refused.',
  }),
});
