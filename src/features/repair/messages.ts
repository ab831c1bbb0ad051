// Dead letters, re-drives, and jobs that act on many executions.

import { type Static, Type } from 'typebox';
import { commandResult, operationBody } from '../../protocol/messages/commands.ts';
import { executionFilter, idParams } from '../../protocol/messages/execution.ts';
import {
  CODEC_MISSING,
  NO_EXECUTION,
  type Operations,
  READERS,
} from '../../protocol/messages/operation.ts';
import {
  closed,
  count,
  documented,
  executionId,
  instant,
  name,
  pageOf,
  paging,
  pipelineName,
  reason,
  releaseName,
  status,
  tagged,
  uuid,
  value,
} from '../../protocol/messages/words.ts';

const step = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'Name or key of a call, such as `charge` or `step:charge#1`.',
  examples: ['charge'],
});

const failureCode = documented(name, 'Code of the failure.', 'bank-down');

const deadLetter = closed(
  {
    execution: executionId,
    pipeline: Type.String({ description: 'Name of the pipeline.' }),
    release: Type.Optional(Type.String({ description: 'Release that it was pinned to.' })),
    status,
    category: Type.Enum(['retryable', 'permanent', 'denied', 'unknown'], {
      description: 'Kind of failure. `retryable`: a retry may help.',
    }),
    code: Type.String({ description: 'Code of the failure.' }),
    reason: Type.String({ description: 'Message of the failure.' }),
    step: Type.Optional(Type.String({ description: 'Call that failed, if a call did.' })),
    attempts: documented(count, 'Number of attempts of that call.'),
    at: documented(instant, 'When the execution ended.'),
    redrivenBy: Type.Optional(documented(executionId, 'Its last re-drive.')),
  },
  {
    title: 'DeadLetter',
    examples: [
      {
        execution: '01890a5d-ac96-774b-bcce-b302099a8057',
        pipeline: 'order',
        status: 'failed',
        category: 'retryable',
        code: 'bank-down',
        reason: 'The bank did not respond.',
        step: 'step:charge#1',
        attempts: 5,
        at: '2026-11-17T09:31:00.000Z',
      },
    ],
  },
);

export type DeadLetterMessage = Static<typeof deadLetter>;

const FILTER = {
  pipeline: Type.Optional(documented(pipelineName, 'Only this pipeline.')),
  code: Type.Optional(documented(failureCode, 'Only failures with this code.')),
  step: Type.Optional(documented(step, 'Only failures of this call.', 'step:charge#1')),
  open: Type.Optional(
    Type.Boolean({
      description: 'Only dead letters without a re-drive. Default: false.',
      examples: [true],
    }),
  ),
};

const deadLetterGroups = closed({
  items: Type.Array(
    closed({
      pipeline: Type.String({ description: 'Name of the pipeline.', examples: ['order'] }),
      code: Type.String({ description: 'Code of the failure.', examples: ['bank-down'] }),
      step: Type.Optional(Type.String({ description: 'Call that failed.' })),
      count: documented(count, 'Number of dead letters in the group.', 12),
      at: documented(instant, 'When the newest one was written.'),
    }),
    { description: 'All groups.' },
  ),
});

const mode = Type.Enum(['forward', 'compensate'], {
  description:
    '`forward` continues the work; `compensate` continues to undo it. Default: `forward`.',
});

const redriveBody = closed(
  {
    mode: Type.Optional(mode),
    from: Type.Optional(
      documented(step, 'Call to start with. Default: the call that failed.', 'charge'),
    ),
    release: Type.Optional(
      documented(
        name,
        'Release to pin the new execution to. Default: the rollout decides, as for any new execution.',
        'v2',
      ),
    ),
    input: Type.Optional(
      documented(
        value,
        'Input of the new execution: any JSON value. Needs role `submit` too. Results of calls before its start stay. Default: the input of the old one.',
        { amount: 4200 },
      ),
    ),
    tagged,
    reason: Type.Optional(reason),
  },
  { title: 'RedriveBody', examples: [{ from: 'charge', reason: 'The bank is up again.' }] },
);

export type RedriveBody = Static<typeof redriveBody>;

const made = closed({ id: executionId });

const PACE = {
  perSecond: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Most executions per second. Default: no limit.',
    }),
  ),
  dryRun: Type.Optional(
    Type.Boolean({
      description: 'Only count what the job would do, and change nothing. Default: false.',
    }),
  ),
  reason: Type.Optional(reason),
  key: Type.Optional(
    documented(
      name,
      'Idempotency key: the same key with the same content returns the first job. Default: the header `idempotency-key`, if any.',
      'redrive-2026-11-17',
    ),
  ),
};

const COUNTED_BY = {
  countedBy: Type.Optional(
    documented(
      executionId,
      'Id of a dry run: only items that existed when the dry run was submitted. Default: items that exist when this job is submitted.',
    ),
  ),
};

const bulkRedriveBody = closed(
  {
    filter: Type.Optional(
      closed(
        { ...executionFilter, ...FILTER },
        {
          description:
            'Which dead letters. With filters that dead letters do not have, which executions: then `step` and `open` do not apply, and without `status` the job takes those that failed or were quarantined. Default: all dead letters of the project.',
        },
      ),
    ),
    mode: Type.Optional(mode),
    ...COUNTED_BY,
    ...PACE,
  },
  {
    title: 'BulkRedriveBody',
    examples: [
      {
        filter: { pipeline: 'order', code: 'bank-down', open: true },
        perSecond: 50,
        reason: 'The bank is up again.',
      },
    ],
  },
);

export type BulkRedriveBody = Static<typeof bulkRedriveBody>;

const OPEN_STATUS = Type.Enum(['queued', 'running', 'waiting']);

const bulkCancelBody = closed(
  {
    filter: closed(
      {
        ...executionFilter,
        status: Type.Optional(
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
  {
    title: 'BulkCancelBody',
    examples: [{ filter: { pipeline: 'import', tag: 'tuesday' }, reason: 'Wrong file.' }],
  },
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
  {
    title: 'BulkRepinBody',
    examples: [{ from: 'v1', to: 'v2', reason: 'v1 is to be retired.' }],
  },
);

export type BulkRepinBody = Static<typeof bulkRepinBody>;

const outcomes = Type.Record(Type.String(), count, {
  description: 'Number of executions by outcome, such as `submitted` or `would-submit`.',
});

export const job = closed(
  {
    id: executionId,
    action: Type.Enum(['redrive', 'cancel', 'repin'], { description: 'The action on each item.' }),
    status,
    paused: Type.Boolean({ description: 'True while an operator holds it.' }),
    dryRun: Type.Boolean({ description: 'True if it only counts.' }),
    actor: Type.String({ description: 'The actor that started it.' }),
    reason: Type.String({ description: 'Reason that the caller gave. Empty if none.' }),
    submittedAt: documented(instant, 'When it was started.'),
    endedAt: Type.Optional(documented(instant, 'When it ended.')),
    seen: Type.Integer({ minimum: 0, description: 'Number of items so far.' }),
    outcomes,
  },
  {
    title: 'Job',
    examples: [
      {
        id: '01890a5d-d4e5-7f60-8172-93a4b5c6d7e8',
        action: 'redrive',
        status: 'completed',
        paused: false,
        dryRun: false,
        actor: 'ann (a2b3c4d5e6f7a2b3)',
        reason: 'The bank is up again.',
        submittedAt: '2026-11-17T10:00:00.000Z',
        endedAt: '2026-11-17T10:00:24.000Z',
        seen: 1_200,
        outcomes: { submitted: 1_200 },
      },
    ],
  },
);

export type JobMessage = Static<typeof job>;

const jobQuery = closed(paging(executionId));

const jobItemPage = pageOf(
  closed(
    {
      target: documented(executionId, 'Execution that the job acted on.'),
      outcome: Type.String({ description: 'The outcome.' }),
      made: Type.Optional(documented(uuid, 'Execution that a re-drive created.')),
      at: documented(instant, 'When the outcome was written.'),
    },
    {
      title: 'JobItem',
      examples: [
        {
          target: '01890a5d-ac96-774b-bcce-b302099a8057',
          outcome: 'submitted',
          made: '01890a5e-0102-7304-8506-0708090a0b0c',
          at: '2026-11-17T10:00:00.200Z',
        },
      ],
    },
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

export const repairOperations = {
  listDeadLetters: {
    at: 'GET /v1/dead-letters',
    tag: 'Repair',
    summary: 'List dead letters',
    description:
      'Returns executions that failed or were quarantined and match all filters, newest first, with cause and step. The response has an `ETag` for `If-None-Match`.',
    allows: READERS,
    query: closed({ ...FILTER, ...paging(executionId) }),
    responses: { 200: { what: 'One page of dead letters.', schema: pageOf(deadLetter) } },
  },
  groupDeadLetters: {
    at: 'GET /v1/dead-letters/groups',
    tag: 'Repair',
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
    tag: 'Repair',
    summary: 'Read the dead letter of an execution',
    description: 'Returns why one execution ended badly: code, message, step and attempts.',
    allows: READERS,
    params: idParams,
    responses: { 200: { what: 'The dead letter.', schema: deadLetter } },
  },
  redriveExecution: {
    at: 'POST /v1/executions/:id/redrive',
    tag: 'Repair',
    summary: 'Re-drive an ended execution',
    description:
      'Submits a new execution that reuses the finished steps and continues with the failed one, with the same input or an edited one. Writes an audit record. An execution has at most one open re-drive, so a repetition is refused with `redrive-open`.',
    allows: ['operate'],
    params: idParams,
    body: redriveBody,
    takesValues: true,
    responses: {
      202: { what: 'The new execution is stored.', schema: made },
      404: {
        what: 'The project has no such execution or release.',
        codes: ['execution-unknown', 'release-unknown'],
      },
      409: {
        what: 'The execution is open, a re-drive of it is open, or nothing would be done again. Nothing was written.',
        codes: ['not-ended', 'redrive-open', 'redrive-impossible', 'release-retired'],
      },
    },
  },
  skipCompensation: {
    at: 'POST /v1/executions/:id/skip-compensation',
    tag: 'Repair',
    summary: 'Skip a compensation',
    description:
      'Lets a compensating execution leave out the compensation of one step. Writes a message to the execution, and an audit record with your reason. Use it when a person has undone the step. Repeating it sends the message again.',
    allows: ['operate'],
    params: idParams,
    body: closed(
      {
        step,
        reason: Type.String({
          minLength: 1,
          maxLength: 1_024,
          description: 'The reason. Required; stored in the audit record.',
        }),
      },
      { examples: [{ step: 'charge', reason: 'Refunded by hand.' }] },
    ),
    responses: COMMANDED,
  },
  retryCompensation: {
    at: 'POST /v1/executions/:id/retry-compensation',
    tag: 'Repair',
    summary: 'Retry a compensation now',
    description:
      'Lets a compensating execution try the compensation of one step now, before its next attempt is due. Writes a message to the execution, and an audit record. Repeating it sends the message again.',
    allows: ['operate'],
    params: idParams,
    body: closed(
      { step, reason: Type.Optional(reason) },
      { examples: [{ step: 'charge', reason: 'The bank is up again.' }] },
    ),
    responses: COMMANDED,
  },
} as const satisfies Operations;

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

export const jobOperations = {
  redriveMany: {
    at: 'POST /v1/jobs/redrive',
    tag: 'Jobs',
    summary: 'Re-drive many dead letters',
    description:
      'Starts a job that re-drives every dead letter that matches the filter and exists now. Writes an audit record, unless it is a dry run. To make retries safe, send a `key`.',
    allows: ['operate'],
    body: bulkRedriveBody,
    responses: { ...MADE, ...NO_JOB },
  },
  cancelMany: {
    at: 'POST /v1/jobs/cancel',
    tag: 'Jobs',
    summary: 'Cancel many executions',
    description:
      'Starts a job that cancels every open execution that matches the filter and exists now. Writes an audit record, unless it is a dry run. To make retries safe, send a `key`.',
    allows: ['operate'],
    body: bulkCancelBody,
    responses: { ...MADE, ...NO_JOB },
  },
  listJobs: {
    at: 'GET /v1/jobs',
    tag: 'Jobs',
    summary: 'List jobs',
    description: "Returns the project's jobs, newest first, with their counts so far.",
    allows: ['operate'],
    query: jobQuery,
    responses: { 200: { what: 'One page of jobs.', schema: pageOf(job) } },
  },
  readJob: {
    at: 'GET /v1/jobs/:id',
    tag: 'Jobs',
    summary: 'Read a job',
    description: 'Returns the state of one job and the number of items by outcome so far.',
    allows: ['operate'],
    params: idParams,
    responses: { 200: { what: 'The job.', schema: job }, ...NO_JOB, ...CODEC_MISSING },
  },
  listJobItems: {
    at: 'GET /v1/jobs/:id/items',
    tag: 'Jobs',
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
} as const satisfies Operations;
