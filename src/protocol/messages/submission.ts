// Submissions, as callers send them.

import { type Static, Type } from 'typebox';
import {
  choice,
  closed,
  documented,
  durationMs,
  executionId,
  flag,
  integerWithin,
  json,
  lane,
  name,
  optional,
  pipelineName,
  tagged,
  text,
  waitMs,
} from './words.ts';

export const label = Type.Union([Type.String({ maxLength: 256 }), Type.Number(), Type.Boolean()]);

export const attributes = Type.Record(Type.String(), label, {
  maxProperties: 100,
  description: 'Searchable values by name: text, numbers and booleans.',
  examples: [{ customer: 'c-81', amount: 4200 }],
});

export const tags = Type.Array(name, {
  maxItems: 100,
  description: 'Labels to filter by.',
  examples: [['eu']],
});

export const concurrency = closed(
  {
    key: documented(name, 'Executions with the same key share the limit.', 'customer/c-81'),
    limit: integerWithin(
      1,
      1_000_000,
      'Most executions of this key that have started and not ended.',
    ),
  },
  {
    title: 'Concurrency',
    description: 'Limit on how many executions of a key run at once, within the project.',
    examples: [{ key: 'customer/c-81', limit: 2 }],
  },
);

export const rate = closed(
  {
    key: documented(name, 'Executions with the same key share the limit.', 'payment-api'),
    limit: integerWithin(1, 1_000_000, 'Most executions of this key that start within `perMs`.'),
    perMs: integerWithin(1, 86_400_000, 'Length of the window, in milliseconds.'),
  },
  {
    title: 'Rate',
    description:
      'Limit on how many executions of a key start in a time window, within the project.',
    examples: [{ key: 'payment-api', limit: 10, perMs: 1_000 }],
  },
);

export const submitBody = closed(
  {
    pipeline: optional(pipelineName, 'Pipeline to run. Pass this or `template`.'),
    template: optional(
      closed(
        {
          id: documented(name, 'Id of the template.', 'nightly-report'),
          version: optional(
            Type.Integer({ minimum: 1, description: 'Version. Default: the newest.' }),
          ),
        },
        { description: 'Template to submit. Pass this or `pipeline`.' },
      ),
    ),
    input: optional(json('Input of the pipeline: any JSON value. Default: none.')),
    tagged,
    key: optional(
      name,
      'Idempotency key, unique in the project. A second submit with the same key and content returns the first execution. Default: the header `idempotency-key`, if any.',
      'order/17',
    ),
    signal: optional(
      closed(
        {
          name: documented(name, 'Name of the signal that the code waits for.', 'item-added'),
          value: optional(json('Value of the signal: any JSON value. Default: none.')),
          key: optional(name, 'Key of the signal. A second one changes nothing.', 'item/3'),
        },
        {
          description:
            'Only with a key: a signal to the execution that has the key after the submit, in the same transaction. An existing one gets it, whatever its content is.',
          examples: [{ name: 'item-added', value: 3 }],
        },
      ),
    ),
    ifKeyTaken: optional(
      choice(
        ['join', 'refuse', 'reuse', 'replace'],
        'If an execution has the key. `join`: as `key` describes. `refuse`: refuse with `key-in-use`. `reuse`: like `join` while that execution is open, then the new one takes the key. `replace`: cancel that execution if it is open, and the new one takes the key. Default: `join`.',
      ),
    ),
    lane: optional(lane),
    tags: optional(tags),
    attributes: optional(attributes),
    concurrency: optional(concurrency),
    rate: optional(rate),
    delayMs: optional(
      durationMs,
      'Time before a worker may claim it, in milliseconds. Default: 0.',
    ),
    deadlineMs: optional(
      durationMs,
      'Time from now after which it fails unless it has ended, in milliseconds. Default: no deadline.',
    ),
    release: optional(
      name,
      'Release to pin it to. Default: the rollout of the pipeline decides.',
      'v2',
    ),
    ifNoWorker: optional(
      choice(
        ['wait', 'refuse'],
        'With `refuse`, the coordinator refuses with `no-worker-for` if no live worker runs the pipeline. Default: `wait`.',
      ),
    ),
    waitMs: optional(
      waitMs,
      'Longest time to wait for the end, in milliseconds. If the execution ends in time, the response has its `result`. Default: 0.',
      10_000,
    ),
  },
  {
    title: 'SubmitBody',
    description: 'Pass exactly one of `pipeline` and `template`.',
    examples: [{ pipeline: 'order', input: { id: 17, amount: 4200 }, key: 'order/17' }],
  },
);

export type SubmitBody = Static<typeof submitBody>;

export const submitted = closed({
  id: executionId,
  existing: flag('True if an earlier submit with the same key and content created it.'),
  warning: optional(
    closed(
      {
        code: choice(['pipeline-unknown'], 'Stable code.'),
        detail: text('Cause and fix, for people.'),
      },
      { description: 'It was submitted, but no worker has announced its pipeline.' },
    ),
  ),
});

export type SubmitWarning = NonNullable<Static<typeof submitted>['warning']>;
