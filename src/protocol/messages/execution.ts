// Executions, as callers see them.

import { type Static, Type } from 'typebox';
import { HOLDS } from '../../execution/execution.ts';
import { label, submitted, tags } from './submission.ts';
import {
  choice,
  closed,
  count,
  decimal,
  documented,
  executionId,
  executionRef,
  fence,
  flag,
  instant,
  integer,
  json,
  lane,
  listOf,
  name,
  optional,
  paging,
  pipelineName,
  sealed,
  status,
  text,
  textLike,
  titled,
  withExample,
} from './words.ts';

const hold = Type.Enum([...HOLDS], {
  title: 'Hold',
  description:
    'Why workers do not get a ready execution: an operator paused it, drift blocked it, or its concurrency limit is reached.',
});

const location = text('File and line of the code that threw.', 'order.ts:16');

const EXECUTION_EXAMPLE = {
  id: '01890a5d-ac96-774b-bcce-b302099a8057',
  project: 'default',
  pipeline: 'order',
  lane: 'interactive',
  status: 'running',
  holds: [],
  compensating: false,
  submittedAt: '2026-11-17T09:30:00.000Z',
  submittedBy: 'shop (a2b3c4d5e6f7a2b3)',
  claimedAt: '2026-11-17T09:30:00.012Z',
  key: 'order/17',
  release: 'v2',
  lineage: '01890a5d-ac96-774b-bcce-b302099a8057',
  fence: 1_099_511_627_777,
  session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
  tags: ['eu'],
  attributes: { customer: 'c-81', amount: 4200 },
  seq: 3,
};

export const erasure = closed(
  {
    at: documented(instant, 'When the values were erased.'),
    by: text('Name and id of the key that erased them.'),
    ofArchive: optional(
      flag(
        'True if it was in the archive, so its documents were erased. Else they have no values.',
      ),
    ),
    pending: optional(
      closed({
        documents: optional(flag('True if documents of the archive remain.')),
        values: optional(
          documented(count, 'Number of large values that the store may still have.', 1),
        ),
      }),
      'The rest, which a repeated erasure removes. Absent if all values are gone.',
    ),
  },
  {
    title: 'Erasure',
    description: 'The erasure of its values.',
    examples: [{ at: '2026-11-17T09:30:00.000Z', by: 'ann (a2b3c4d5e6f7a2b3)' }],
  },
);

export type ErasureMessage = Static<typeof erasure>;

export const execution = closed(
  {
    id: executionId,
    project: documented(name, 'Project that it belongs to.'),
    pipeline: pipelineName,
    lane,
    status,
    holds: listOf(hold, 'Holds that keep it from workers. Empty if there are none.'),
    compensating: flag(
      'True while it undoes its steps, and if it is quarantined with compensations left to run.',
    ),
    submittedAt: documented(instant, 'When it was submitted.'),
    submittedBy: optional(text('Name and id of the key that submitted it, or the schedule.')),
    readyAt: optional(instant, 'When a worker may claim it.'),
    claimedAt: optional(instant, 'When a worker claimed it last.'),
    endedAt: optional(instant, 'When it ended.'),
    deadlineAt: optional(instant, 'When it fails unless it has ended.'),
    key: optional(text('Idempotency key of its submit.')),
    lineageKey: optional(
      text(
        'For a re-drive: key of the first execution of its chain, which keeps the key. Filters by key find both.',
      ),
    ),
    release: optional(text('Release that it is pinned to.')),
    template: optional(
      Type.Object(
        { id: text('Id of the template.'), version: integer('Version of the template.') },
        { description: 'Template that it was submitted from.' },
      ),
    ),
    parent: optional(executionId, 'Execution that spawned it.'),
    redriveOf: optional(executionId, 'Execution that it re-drives.'),
    lineage: documented(
      executionId,
      'First execution of its chain of re-drives. Idempotency keys of its steps begin with this id.',
    ),
    fence: optional(fence, 'Fence of its newest claim.'),
    session: optional(text('Session of the worker that runs it.')),
    tags,
    attributes: Type.Record(Type.String(), label, { description: 'Searchable values by name.' }),
    seq: documented(count, 'Number of events in its history.'),
    erased: optional(erasure),
    failure: optional(
      closed(
        {
          code: text('Stable code of the failure.'),
          message: text('Message of the error, at most 200 characters.'),
          location: optional(location),
        },
        { description: 'In lists: the failure of an execution that ended badly.' },
      ),
    ),
  },
  titled('Execution', EXECUTION_EXAMPLE),
);

export type ExecutionMessage = Static<typeof execution>;

const shownHeartbeat = closed(
  {
    key: text('The step, as its call is named in the history.', 'step:import#1'),
    attempt: documented(count, 'Number of the attempt.', 1),
    at: documented(
      instant,
      'When the step sent it, by the worker’s estimate of the store’s clock.',
    ),
    details: optional(json('Its details: any JSON value.')),
    sealed: optional(sealed),
  },
  {
    title: 'ShownHeartbeat',
    description: 'The last heartbeat of a step that has not ended.',
    examples: [
      { key: 'step:import#1', attempt: 1, at: '2026-11-17T09:30:05.000Z', details: { row: 4200 } },
    ],
  },
);

/** One execution, with the values that a list leaves out. */
export const executionInFull = closed(
  {
    ...execution.properties,
    input: optional(json('Its input: any JSON value.')),
    progress: optional(json('Progress that its code reported last: any JSON value.')),
    heartbeats: optional(
      listOf(shownHeartbeat, 'Last heartbeats of its steps that have not ended.'),
    ),
    sealed: optional(sealed),
  },
  titled('ExecutionInFull', {
    ...EXECUTION_EXAMPLE,
    input: { id: 17, amount: 4200 },
    progress: { charged: 1 },
  }),
);

export type ExecutionInFull = Static<typeof executionInFull>;

export const executionFilter = {
  status: optional(
    Type.Array(status, {
      maxItems: 8,
      description: 'Only these states. Repeat the parameter to pass several. Default: all.',
      examples: [['failed', 'quarantined']],
    }),
  ),
  pipeline: optional(pipelineName, 'Only this pipeline.'),
  tag: optional(name, 'Only executions with this tag.', 'eu'),
  hold: optional(hold, 'Only executions with this hold.'),
  where: optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 600 }), {
      maxItems: 10,
      description:
        'Only executions whose attributes match all of these: `name`, `name=value`, `name>=number` or `name<=number`. Quote text that looks like a number. Repeat the parameter to pass several.',
      examples: [['amount>=100', 'region=eu']],
    }),
  ),
  attribute: optional(
    name,
    'One more attribute, which `equals`, `min` and `max` compare. Its name may contain `=`, `<` and `>`.',
    'amount',
  ),
  equals: optional(
    Type.String({
      maxLength: 256,
      description:
        'Only executions whose attribute has this value: a number, `true`, `false` or text. Quote text that looks like a number.',
      examples: ['4200'],
    }),
  ),
  min: optional(decimal('Only executions whose attribute is at least this.', 100)),
  max: optional(decimal('Only executions whose attribute is at most this.', 5000)),
  key: optional(name, 'Only the execution with this key.', 'order/17'),
  keyPrefix: optional(
    name,
    'Only executions whose key begins with this. Not with `key`.',
    'order/',
  ),
  idPrefix: optional(
    textLike('^[0-9a-f-]{1,36}$', 'Only executions whose id begins with this.', '01890a5d'),
  ),
  q: optional(
    name,
    'Text of a search box: an id prefix if it has eight or more hexadecimal digits and dashes only, otherwise a key prefix.',
    'order/17',
  ),
  parent: optional(executionId, 'Only children of this execution.'),
  topLevel: optional(flag('True: only executions without a parent. Default: false.')),
  code: optional(name, 'Only executions that failed for good with this code.', 'card-declined'),
  redriven: optional(
    flag(
      'Only executions that ended with a dead letter: false without a re-drive, true with one. Default: all executions.',
      false,
    ),
  ),
  release: optional(
    name,
    'Only executions that are pinned to this release, of any pipeline.',
    'v2',
  ),
  worker: optional(
    name,
    'Only executions that this worker runs now: the owner or the id of its session.',
    'order-worker-1',
  ),
  staleOwner: optional(
    flag(
      'True: only running executions whose owner missed heartbeats, or has ended without a successor yet. Default: false.',
    ),
  ),
  submittedFrom: optional(
    instant,
    "Only executions submitted at or after this time, by the submitter's clock.",
  ),
  submittedTo: optional(
    instant,
    "Only executions submitted before this time, by the submitter's clock.",
  ),
  endedFrom: optional(
    instant,
    "Only executions that ended at or after this time, by the store's clock.",
  ),
  endedTo: optional(instant, "Only executions that ended before this time, by the store's clock."),
};

const ALL_MATCH =
  'All filters must match. A page examines at most 10,000 rows, so it may be empty and have a cursor.';

export const listQuery = closed(
  {
    ...executionFilter,
    sort: optional(
      choice(
        ['newest', 'oldest', 'ended'],
        'Order: by submission, or by end, the last one first and without open executions. Default: `newest`; with `endedFrom` or `endedTo`, `ended`.',
      ),
    ),
    ...paging(
      Type.String({
        pattern: '^([0-9]{1,15}\\.)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
        examples: ['01890a5d-ac96-774b-bcce-b302099a8057'],
      }),
    ),
  },
  { description: ALL_MATCH },
);

export const countQuery = closed(executionFilter, {
  description: 'All filters must match. A count examines at most 50,000 rows.',
});

export const result = closed(
  {
    id: documented(
      executionId,
      'The execution that ended: the last one of a chain of continuations.',
    ),
    status,
    output: optional(json('Return value of the pipeline, if it completed: any JSON value.')),
    failure: optional(
      Type.Object(
        {
          category: choice(
            ['retryable', 'permanent', 'denied', 'unknown'],
            'Kind of failure. `retryable`: a retry may help.',
          ),
          code: text('Stable code of the failure.'),
          message: text('Message of the error.'),
          at: optional(text('Call that failed.')),
          location: optional(location),
        },
        { description: 'The failure.' },
      ),
    ),
    sealed: optional(sealed),
  },
  titled('Result', {
    id: '01890a5d-ac96-774b-bcce-b302099a8057',
    status: 'completed',
    output: { receipt: 'r-17' },
  }),
);

export type ResultMessage = Static<typeof result>;

export const stored = closed({
  ...submitted.properties,
  result: optional(
    documented(result, 'The end of the execution, if it came within `waitMs`.', {
      id: '01890a5d-ac96-774b-bcce-b302099a8057',
      status: 'completed',
      output: { receipt: 'r-17' },
    }),
  ),
});

export const shownEvent = closed(
  {
    seq: documented(count, 'Position in the history, from 1.'),
    at: documented(instant, 'When the store wrote it.'),
    kind: text('Kind of the event, such as `step-completed`.'),
    name: optional(text('Name of the step, timer, child, signal or document.')),
    fence: optional(fence, 'Fence of the claim that wrote it. Absent if no worker did.'),
    body: optional(json('Details, by kind. `out` is a value of your code.')),
  },
  titled('HistoryEvent', {
    seq: 3,
    at: '2026-11-17T09:30:00.120Z',
    kind: 'step-completed',
    name: 'charge',
    fence: 1_099_511_627_777,
    body: { key: 'step:charge#1', out: { receipt: 'r-17' }, attempt: 1 },
  }),
);

export type HistoryMessage = Static<typeof shownEvent>;

export const storeProblem = closed(
  { sentence: text('The problem, for people.'), advice: text('The remedy.') },
  {
    title: 'StoreProblem',
    description:
      'A problem of the store that delays claims or timers: a long database transaction, or a clock that was ahead. Only keys for all projects see it.',
  },
);

export type StoreProblemMessage = Static<typeof storeProblem>;

export const idParams = closed({ id: executionId });

/** An execution by its id or key. */
export const refParams = closed({ id: executionRef });

export const attachments = closed({
  items: listOf(
    closed({
      name: text('Name of the document.', 'invoice.pdf'),
      type: text('Media type, as the code declared it.', 'application/pdf'),
      bytes: documented(count, 'Size in bytes.', 18_204),
      at: documented(instant, 'When the code attached it.'),
    }),
    'All documents, without their content.',
  ),
});

export const explanation = closed(
  {
    code: text('Stable code of the state, such as `waiting-for-answer`.'),
    sentence: text('The cause of the wait, for people.'),
    advice: optional(text('A remedy, if there is one.')),
    until: optional(instant, 'When it continues by itself, if known.'),
    storeProblem: optional(storeProblem),
  },
  withExample({
    code: 'waiting-for-answer',
    sentence: 'Waiting for an answer to "approval" from finance, until 2026-11-18T09:30:00.000Z.',
    advice: 'Answer it: holdfast answer.',
    until: '2026-11-18T09:30:00.000Z',
  }),
);

export const savedHistory = closed(
  {
    format: Type.Literal('holdfast-history-1', { description: 'Version of the format.' }),
    execution: Type.Unsafe<object>(json('The execution as it is stored.')),
    events: Type.Array(Type.Unsafe<object>(json('An event as it is stored.')), {
      description: 'The events, in order.',
    }),
    blobs: Type.Record(Type.String(), Type.String(), {
      description: 'Large values in base64, by digest.',
    }),
  },
  { title: 'SavedHistory', description: 'Pass it to `replayHistory` unchanged.' },
);
