// The writes of a worker as owner. The verbs are those of the execution port (store/contract), in
// batches, with payloads as stored. So a coordinator without the codec's keys can pass on values
// that it cannot read.

import { type Static, Type } from 'typebox';
import { EVENT_KINDS, SEQ_MAX } from '../../execution/history.ts';
import {
  closed,
  count,
  documented,
  durationMs,
  executionId,
  fence,
  lane,
  name,
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
  limit: Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Most executions.' }),
};

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
    key: Type.Optional(documented(name, 'Idempotency key, unique in the project.')),
    intent: Type.Optional(documented(text, 'Digest of the content of the submit.')),
    parent: Type.Optional(
      closed(
        {
          id: documented(executionId, 'The parent.'),
          call: documented(text, 'Call of the parent that waits for it.', 'child:pack#1'),
        },
        { description: 'Parent that gets a message when it ends. Absent: none.' },
      ),
    ),
    template: Type.Optional(
      closed(
        {
          id: documented(name, 'Id of the template.'),
          version: Type.Integer({
            minimum: 1,
            maximum: SEQ_MAX,
            description: 'Version of the template.',
          }),
        },
        { description: 'Template that it was made from.' },
      ),
    ),
    submittedBy: Type.Optional(
      documented(text, 'The submitter. Only a successor may have it, with the same value.'),
    ),
    scheduled: Type.Optional(
      closed(
        {
          id: documented(name, 'Id of the schedule.'),
          at: documented(count, 'Time of the fire, in milliseconds since 1970.'),
        },
        { description: 'Fire of a schedule. Only a successor may have it, with the same value.' },
      ),
    ),
    concurrency: Type.Optional(
      closed(keyed, { description: 'Limit on executions of a key that run at once.' }),
    ),
    rate: Type.Optional(
      closed(
        { ...keyed, perMs: documented(durationMs, 'Length of the window, in milliseconds.') },
        { description: 'Limit on executions of a key that start in a window.' },
      ),
    ),
    deadlineMs: Type.Optional(
      documented(durationMs, 'Time after which it fails, in milliseconds. Default: no deadline.'),
    ),
    delayMs: Type.Optional(
      documented(durationMs, 'Time before a worker may claim it, in milliseconds. Default: 0.'),
    ),
    tags: Type.Array(name, { maxItems: 100, description: 'Labels to filter by.', examples: [[]] }),
    attributes: Type.Record(
      Type.String(),
      Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
      { maxProperties: 100, description: 'Searchable values by name.', examples: [{}] },
    ),
    traceparent: Type.Optional(documented(text, 'W3C Trace Context of the submit.')),
    body: Type.Optional(
      documented(payload, 'Body of its `submitted` event: JSON text of an object.'),
    ),
  },
  { title: 'Submission', description: 'An execution that a worker submits with its write.' },
);

const newEvent = closed(
  {
    kind: Type.Enum([...EVENT_KINDS], { description: 'Kind of the event.' }),
    name: Type.Optional(
      documented(text, 'Name of the step, timer, child, signal or document.', 'charge'),
    ),
    body: Type.Optional(
      documented(
        payload,
        'Body of the event: JSON text of an object. Events of the code have the `key` of their call.',
      ),
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
        request: Type.Optional(documented(payload, 'Request for the answerer, as a stored value.')),
        assignee: Type.Optional(documented(name, 'The assignee.', 'finance')),
      }),
      { maxItems: 10_000, description: 'The questions.' },
    ),
    timeoutMs: Type.Optional(
      documented(durationMs, 'Timeout from now, in milliseconds. Default: none.'),
    ),
    reminders: Type.Array(
      closed({
        afterMs: documented(durationMs, 'Time from now, in milliseconds.'),
        start: submission,
      }),
      {
        maxItems: 100,
        description: 'Executions to submit while it is still open, soonest first.',
      },
    ),
    signed: Type.Boolean({ description: 'True if it takes answers by signed link only.' }),
    checked: Type.Boolean({
      description: 'True if a worker that has the pipeline must check each answer.',
    }),
    defaultAnswer: Type.Optional(
      documented(payload, 'Answer to use after the timeout, as a stored value.'),
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
    sealed: Type.Optional(
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
    details: Type.Optional(documented(payload, 'Its details, as a stored value.')),
  },
  { title: 'StepHeartbeat', description: 'The last heartbeat of a step that has not ended.' },
);

const OWNER = {
  id: executionId,
  fence: documented(fence, 'Fence of the claim.'),
  session: documented(uuid, 'Session of the claim.'),
  seq: Type.Integer({
    minimum: 1,
    maximum: SEQ_MAX,
    description: 'Position of the first of `events` in the history: the last `seq` plus one.',
    examples: [3],
  }),
  events: Type.Array(newEvent, { maxItems: 20_000, description: 'Events to append, in order.' }),
  children: Type.Optional(
    Type.Array(submission, { maxItems: 20_000, description: 'Executions to submit.' }),
  ),
  awaits: Type.Optional(
    Type.Array(openAwait, { maxItems: 10_000, description: 'Awaits to open.' }),
  ),
  attachments: Type.Optional(
    Type.Array(attachment, { maxItems: 100, description: 'Documents to attach.' }),
  ),
  progress: Type.Optional(documented(payload, 'Progress to show, as a stored value.')),
  heartbeats: Type.Optional(
    Type.Array(stepHeartbeat, {
      maxItems: 100,
      description:
        'Last heartbeats of the steps that have not ended. They replace the stored ones.',
    }),
  ),
};

const deadLetter = closed(
  {
    category: Type.Enum(['retryable', 'permanent', 'denied', 'unknown'], {
      description: 'Kind of failure. `retryable`: a retry may help.',
    }),
    code: documented(text, 'Code of the failure.'),
    reason: documented(text, 'Message of the failure.'),
    step: Type.Optional(documented(text, 'Key of the call that failed.')),
    attempts: documented(seq, 'Number of attempts of that call.'),
  },
  { description: 'Dead letter to write, for `failed` and `quarantined`.' },
);

const flag = Type.Optional(Type.Boolean());
const compensable = documented(
  flag,
  'True if steps have registered compensations. Default: false.',
);

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
        status: Type.Enum(['completed', 'failed', 'cancelled', 'quarantined', 'compensated'], {
          description: 'How it ends.',
        }),
        outcome: Type.Optional(
          documented(payload, 'Outcome for the parent: JSON text of an object.'),
        ),
        successor: Type.Optional(
          documented(submission, 'Execution that continues this one. It gets the unread messages.'),
        ),
        inboxSeen: Type.Optional(
          documented(
            seq,
            'Number of inbox messages that the worker has read. Without a successor: refused if there are more.',
          ),
        ),
        unread: Type.Optional(
          Type.Array(seq, {
            description: 'With a successor: messages that were read and not used.',
          }),
        ),
        deadLetter: Type.Optional(deadLetter),
        leavesAwaits: documented(
          flag,
          'True if it opened awaits that are not settled. Default: false.',
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
        wakeInMs: Type.Optional(
          documented(durationMs, 'Wake after this time, in milliseconds. Default: no timer.'),
        ),
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
        delayMs: Type.Optional(
          documented(durationMs, 'Time before a worker may claim it, in milliseconds. Default: 0.'),
        ),
        blocked: documented(flag, 'True to hold it until an operator resumes it. Default: false.'),
        paused: documented(flag, 'True to confirm a pause. Default: false.'),
        inboxSeen: Type.Optional(
          documented(seq, 'Number of inbox messages that the worker has read.'),
        ),
        compensable,
        compensating: documented(flag, 'True if it undoes its steps from here on. Default: false.'),
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

/** One answer per write, in order: the store's, or the fault that prevented one. */
export interface WritesReply {
  readonly results: readonly (
    | { readonly kind: string }
    | { readonly kind: 'fault'; readonly code: string; readonly detail: string }
  )[];
}
