// Submissions, as callers send them.

import { type Static, Type } from 'typebox';
import {
  closed,
  documented,
  durationMs,
  executionId,
  lane,
  name,
  pipelineName,
  tagged,
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
    limit: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Most executions of this key that have started and not ended.',
    }),
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
    limit: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Most executions of this key that start within `perMs`.',
    }),
    perMs: Type.Integer({
      minimum: 1,
      maximum: 86_400_000,
      description: 'Length of the window, in milliseconds.',
    }),
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
    pipeline: Type.Optional(documented(pipelineName, 'Pipeline to run. Pass this or `template`.')),
    template: Type.Optional(
      closed(
        {
          id: documented(name, 'Id of the template.', 'nightly-report'),
          version: Type.Optional(
            Type.Integer({ minimum: 1, description: 'Version. Default: the newest.' }),
          ),
        },
        { description: 'Template to submit. Pass this or `pipeline`.' },
      ),
    ),
    input: Type.Optional(
      Type.Unknown({ description: 'Input of the pipeline: any JSON value. Default: none.' }),
    ),
    tagged,
    key: Type.Optional(
      documented(
        name,
        'Idempotency key, unique in the project. A second submit with the same key and content returns the first execution. Default: the header `idempotency-key`, if any.',
        'order/17',
      ),
    ),
    lane: Type.Optional(lane),
    tags: Type.Optional(tags),
    attributes: Type.Optional(attributes),
    concurrency: Type.Optional(concurrency),
    rate: Type.Optional(rate),
    delayMs: Type.Optional(
      documented(durationMs, 'Time before a worker may claim it, in milliseconds. Default: 0.'),
    ),
    deadlineMs: Type.Optional(
      documented(
        durationMs,
        'Time from now after which it fails unless it has ended, in milliseconds. Default: no deadline.',
      ),
    ),
    release: Type.Optional(
      documented(name, 'Release to pin it to. Default: the rollout of the pipeline decides.', 'v2'),
    ),
    ifNoWorker: Type.Optional(
      Type.Enum(['wait', 'refuse'], {
        description:
          'With `refuse`, the coordinator refuses with `no-worker-for` if no live worker runs the pipeline. Default: `wait`.',
      }),
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
  existing: Type.Boolean({
    description: 'True if an earlier submit with the same key and content created it.',
  }),
  warning: Type.Optional(
    closed(
      {
        code: Type.Enum(['pipeline-unknown'], { description: 'Stable code.' }),
        detail: Type.String({ description: 'Cause and fix, for people.' }),
      },
      { description: 'It was submitted, but no worker has announced its pipeline.' },
    ),
  ),
});

export type SubmitWarning = NonNullable<Static<typeof submitted>['warning']>;
