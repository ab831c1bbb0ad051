// The writes of a worker as owner. The verbs are those of the execution port (store/contract), in
// batches, with payloads as stored. So a coordinator without the codec's keys can pass on values
// that it cannot read.

import { type Static, Type } from 'typebox';
import { EVENT_KINDS, SEQ_MAX } from '../../execution/history.ts';
import {
  choice,
  closed,
  count,
  documented,
  durationMs,
  executionId,
  fence,
  flag,
  integerWithin,
  lane,
  listOf,
  name,
  optional,
  pipelineName,
  seq,
  uuid,
} from './words.ts';

const TEXT_MAX = 8_192;
const text = Type.String({ maxLength: TEXT_MAX });

/** JSON, as text. */
const payload = Type.String({ minLength: 1, contentMediaType: 'application/json' });

const keyed = {
  key: documented(name, 'Executions with the same key share the limit.'),
  limit: integerWithin(1, 1_000_000, 'Most executions.'),
};

const LABELS = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);
const HUNDRED = { maxProperties: 100, examples: [{}] };

export const submission = closed(
  {
    id: documented(executionId, 'Id of the new execution, which the worker makes.'),
    project: documented(name, 'Project of the worker.', 'default'),
    pipeline: pipelineName,
    lane,
    input: documented(payload, 'Input as a stored value, such as `{"v":17}`.', '{"v":17}'),
    lineage: documented(
      executionId,
      'First execution of its chain of re-drives; its own id for a new one.',
    ),
    key: optional(name, 'Idempotency key, unique in the project.'),
    intent: optional(text, 'Digest of the content of the submit.'),
    parent: optional(
      closed(
        {
          id: documented(executionId, 'The parent.'),
          call: documented(text, 'Call of the parent that waits for it.', 'child:pack#1'),
        },
        { description: 'Parent that gets a message when it ends. Absent: none.' },
      ),
    ),
    template: optional(
      closed(
        {
          id: documented(name, 'Id of the template.'),
          version: integerWithin(1, SEQ_MAX, 'Version of the template.'),
        },
        { description: 'Template that it was made from.' },
      ),
    ),
    submittedBy: optional(
      text,
      'The submitter. Only a successor may have it, with the same value.',
    ),
    scheduled: optional(
      closed(
        {
          id: documented(name, 'Id of the schedule.'),
          at: documented(count, 'Time of the fire, in milliseconds since 1970.'),
        },
        { description: 'Fire of a schedule. Only a successor may have it, with the same value.' },
      ),
    ),
    concurrency: optional(
      closed(keyed, { description: 'Limit on executions of a key that run at once.' }),
    ),
    rate: optional(
      closed(
        { ...keyed, perMs: documented(durationMs, 'Length of the window, in milliseconds.') },
        { description: 'Limit on executions of a key that start in a window.' },
      ),
    ),
    deadlineMs: optional(
      durationMs,
      'Time after which it fails, in milliseconds. Default: no deadline.',
    ),
    delayMs: optional(
      durationMs,
      'Time before a worker may claim it, in milliseconds. Default: 0.',
    ),
    tags: Type.Array(name, { maxItems: 100, description: 'Labels to filter by.', examples: [[]] }),
    attributes: Type.Record(Type.String(), LABELS, {
      ...HUNDRED,
      description: 'Searchable values by name.',
    }),
    traceparent: optional(text, 'W3C Trace Context of the submit.'),
    body: optional(payload, 'Body of its `submitted` event: JSON text of an object.'),
  },
  { title: 'Submission', description: 'An execution that a worker submits with its write.' },
);

const newEvent = closed(
  {
    kind: choice([...EVENT_KINDS], 'Kind of the event.'),
    name: optional(text, 'Name of the step, timer, child, signal or document.', 'charge'),
    body: optional(
      payload,
      'Body of the event: JSON text of an object. Events of the code have the `key` of their call.',
    ),
  },
  { title: 'NewEvent', description: 'An event to append. The store adds seq, time and fence.' },
);

const openAwait = closed(
  {
    call: documented(text, 'Key of the call, such as `await:approval#1`.'),
    name: documented(name, 'Name that the code awaits.', 'approval'),
    needed: documented(seq, 'Number of answers that settle it.'),
    items: Type.Array(
      closed({
        id: documented(text, 'Id that follows from execution, call and position.'),
        correlation: optional(name, 'Name by which others find the question.', 'payment-17'),
        request: optional(payload, 'Request for the answerer, as a stored value.'),
        assignee: optional(name, 'The assignee.', 'finance'),
      }),
      { maxItems: 10_000, description: 'The questions.' },
    ),
    timeoutMs: optional(durationMs, 'Timeout from now, in milliseconds. Default: none.'),
    reminders: Type.Array(
      closed({
        afterMs: documented(durationMs, 'Time from now, in milliseconds.'),
        start: submission,
      }),
      { maxItems: 100, description: 'Executions to submit while it is still open, soonest first.' },
    ),
    signed: flag('True if it takes answers by signed link only.'),
    checked: flag('True if a worker that has the pipeline must check each answer.'),
    defaultAnswer: optional(payload, 'Answer to use after the timeout, as a stored value.'),
    concurrency: optional(
      closed(keyed, { description: 'Limit on questions of a key that are open at once.' }),
    ),
  },
  { title: 'OpenAwait', description: 'An await to open.' },
);

/** Bytes in JSON are base64. */
const attachment = closed(
  {
    name: documented(name, 'Name of the document.', 'invoice.pdf'),
    type: documented(name, 'Media type.', 'application/pdf'),
    bytes: Type.String({ contentEncoding: 'base64', description: 'Content in base64.' }),
    sealed: optional(
      closed(
        {
          by: documented(name, 'Name of the codec.'),
          size: documented(seq, 'Size before encoding, in bytes.'),
        },
        { description: 'Set if a codec encoded the content.' },
      ),
    ),
  },
  { title: 'NewAttachment', description: 'A document to attach.' },
);

export const stepHeartbeat = closed(
  {
    key: documented(text, 'Key of the call.', 'step:import#1'),
    attempt: documented(seq, 'Number of the attempt.', 1),
    at: Type.Integer({
      minimum: 0,
      description: 'When the step sent it, in milliseconds since 1970.',
      examples: [1_750_000_000_000],
    }),
    details: optional(payload, 'Its details, as a stored value.'),
  },
  { title: 'StepHeartbeat', description: 'The last heartbeat of a step that has not ended.' },
);

const OWNER = {
  id: executionId,
  fence: documented(fence, 'Fence of the claim.'),
  session: documented(uuid, 'Session of the claim.'),
  seq: integerWithin(
    1,
    SEQ_MAX,
    'Position of the first of `events` in the history: the last `seq` plus one.',
    3,
  ),
  events: Type.Array(newEvent, { maxItems: 20_000, description: 'Events to append, in order.' }),
  children: optional(
    Type.Array(submission, { maxItems: 20_000, description: 'Executions to submit.' }),
  ),
  awaits: optional(Type.Array(openAwait, { maxItems: 10_000, description: 'Awaits to open.' })),
  attachments: optional(
    Type.Array(attachment, { maxItems: 100, description: 'Documents to attach.' }),
  ),
  progress: optional(payload, 'Progress to show, as a stored value.'),
  attributes: optional(
    Type.Record(Type.String(), LABELS, {
      ...HUNDRED,
      description: 'All searchable values by name from now on. Default: no change.',
    }),
  ),
  heartbeats: optional(
    Type.Array(stepHeartbeat, {
      maxItems: 100,
      description:
        'Last heartbeats of the steps that have not ended. They replace the stored ones.',
    }),
  ),
};

const deadLetter = closed(
  {
    category: choice(
      ['retryable', 'permanent', 'denied', 'unknown'],
      'Kind of failure. `retryable`: a retry may help.',
    ),
    code: documented(text, 'Code of the failure.'),
    reason: documented(text, 'Message of the failure.'),
    step: optional(text, 'Key of the call that failed.'),
    attempts: documented(seq, 'Number of attempts of that call.'),
  },
  { description: 'Dead letter to write, for `failed` and `quarantined`.' },
);

const compensable = optional(flag('True if steps have registered compensations. Default: false.'));

export const writeMessage = Type.Union(
  [
    closed(
      {
        verb: Type.Literal('record', { description: 'Append events and keep the claim.' }),
        ...OWNER,
      },
      { title: 'RecordWrite' },
    ),
    closed(
      {
        verb: Type.Literal('finish', { description: 'End the execution and the claim.' }),
        ...OWNER,
        status: choice(
          ['completed', 'failed', 'cancelled', 'quarantined', 'compensated'],
          'How it ends.',
        ),
        outcome: optional(payload, 'Outcome for the parent: JSON text of an object.'),
        successor: optional(
          submission,
          'Execution that continues this one. It gets the unread messages.',
        ),
        inboxSeen: optional(
          seq,
          'Number of inbox messages that the worker has read. Without a successor: refused if there are more.',
        ),
        unread: optional(listOf(seq, 'With a successor: messages that were read and not used.')),
        deadLetter: optional(deadLetter),
        leavesAwaits: optional(
          flag('True if it opened awaits that are not settled. Default: false.'),
        ),
      },
      { title: 'FinishWrite' },
    ),
    closed(
      {
        verb: Type.Literal('park', {
          description: 'Wait without a worker, until a time or a message; ends the claim.',
        }),
        ...OWNER,
        wakeInMs: optional(durationMs, 'Wake after this time, in milliseconds. Default: no timer.'),
        wakeAfter: documented(
          seq,
          'Number of children that must end before they wake it. 0: any message does.',
        ),
        inboxSeen: documented(
          seq,
          'Number of inbox messages that the worker has read. Refused if there are more.',
        ),
        compensable,
      },
      { title: 'ParkWrite' },
    ),
    closed(
      {
        verb: Type.Literal('giveBack', {
          description: 'Queue the execution for another worker; ends the claim.',
        }),
        ...OWNER,
        delayMs: optional(
          durationMs,
          'Time before a worker may claim it, in milliseconds. Default: 0.',
        ),
        blocked: optional(flag('True to hold it until an operator resumes it. Default: false.')),
        paused: optional(flag('True to confirm a pause. Default: false.')),
        inboxSeen: optional(seq, 'Number of inbox messages that the worker has read.'),
        compensable,
        compensating: optional(flag('True if it undoes its steps from here on. Default: false.')),
      },
      { title: 'GiveBackWrite' },
    ),
  ],
  {
    examples: [
      {
        verb: 'record',
        id: '01890a5d-ac96-774b-bcce-b302099a8057',
        fence: 1_099_511_627_777,
        session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
        seq: 3,
        events: [
          {
            kind: 'step-completed',
            name: 'charge',
            body: '{"key":"step:charge#1","out":{"v":{"receipt":"r-17"}},"attempt":1}',
          },
        ],
      },
    ],
  },
);

export type WriteMessage = Static<typeof writeMessage>;

/** One result per write, in order: the store's, or the fault that prevented one. */
export interface WritesReply {
  readonly results: readonly (
    | { readonly kind: string }
    | { readonly kind: 'fault'; readonly code: string; readonly detail: string }
  )[];
}
