// Every argument of a Holdfast, its templates and its schedules.

import type { Handle, Holdfast } from '../../../src/engine/holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { type Argument, argumentsOf, type Fits, type Options } from './argument.ts';
import { LABEL, NONE, NUMBER, optional, SUBMITTING, TEXT, VALUE } from './wrong-values.ts';

export interface Given {
  readonly holdfast: Holdfast;
  /** The id of an execution that waits for ever. */
  readonly handle: Handle<unknown>;
}

/** Options that submit, spawn, templates and schedules share. */
export const LIMITS: Fits = {
  concurrency: optional(NONE),
  rate: optional(NONE),
  tags: optional(['an array']),
  lane: optional(NONE),
  deadlineMs: optional(NUMBER),
};

export const PLACING: Fits = {
  ...LIMITS,
  delayMs: optional(NUMBER),
  attributes: optional(['an object', 'an object with an odd name']),
};

const FILTER: Fits = {
  project: optional(TEXT),
  status: optional(['an array']),
  pipeline: optional(TEXT),
  tag: optional(TEXT),
  attribute: optional(['an array']),
  hold: optional(NONE),
  key: optional(TEXT),
  keyPrefix: optional(TEXT),
  idPrefix: optional(NONE),
  parent: optional(NONE),
  topLevel: optional(['true']),
  staleOwner: optional(['true']),
  redriven: optional(['true']),
  code: optional(TEXT),
  submittedFrom: optional(NUMBER),
  submittedTo: optional(NUMBER),
  endedFrom: optional(NUMBER),
  endedTo: optional(NUMBER),
  release: optional(TEXT),
  worker: optional(TEXT),
};

type Call<From> = (given: From, options: object) => unknown;

/** Options inside other options. */
export function partsOfLimits<From>(of: string, call: Call<From>): readonly Argument<From>[] {
  const part = (
    expected: RegExp,
    fits: readonly string[],
    make: (value: unknown) => object,
  ): Argument<From> => ({
    of: `${of}: ${expected.source}`,
    expected,
    fits,
    hand: (given, value) => call(given, make(value)),
  });
  const rate = { key: 'k', limit: 1, perMs: 1 };
  return [
    part(/concurrency\.key/, TEXT, (key) => ({ concurrency: { key, limit: 1 } })),
    part(/concurrency\.limit/, NUMBER, (limit) => ({ concurrency: { key: 'k', limit } })),
    part(/concurrency/, NONE, (odd) => ({ concurrency: { key: 'k', limit: 1, odd: [odd] } })),
    part(/rate\.key/, TEXT, (key) => ({ rate: { ...rate, key } })),
    part(/rate\.limit/, NUMBER, (limit) => ({ rate: { ...rate, limit } })),
    part(/rate\.perMs/, NUMBER, (perMs) => ({ rate: { ...rate, perMs } })),
    part(/tag/i, TEXT, (tag) => ({ tags: ['fine', tag] })),
  ];
}

function partsOfPlacing<From>(of: string, call: Call<From>): readonly Argument<From>[] {
  return [
    ...partsOfLimits(of, call),
    {
      of: `${of}: attributes.odd`,
      expected: /attributes\.odd/,
      fits: LABEL,
      hand: (given, odd) => call(given, { attributes: { odd } }),
    },
  ];
}

const WORKING: Fits = {
  concurrency: optional(NUMBER),
  owner: optional(TEXT),
  ttlMs: optional(NONE),
  pollMs: optional(NONE),
  stopGraceMs: optional(NUMBER),
  reconcileMs: optional(NONE),
  probeMs: optional(NONE),
};
export const OPERATION: Fits = {
  project: optional(TEXT),
  actor: optional(TEXT),
  reason: optional(['text', 'empty text']),
};
export const IN_PROJECT: Fits = { project: optional(TEXT) };

/** All functions with options, in their order. */
export const OPTIONS: readonly Options<Given>[] = [
  {
    of: 'submit',
    names: {
      ...PLACING,
      key: optional(TEXT),
      ...SUBMITTING,
      client: optional(NONE),
    },
    call: ({ holdfast }, options) => holdfast.submit('p', 1, options as object),
  },
  {
    of: 'submitOrSignal',
    with: { key: 'k', signal: { name: 's' } },
    fits: NONE,
    names: {
      ...PLACING,
      key: TEXT,
      signal: NONE,
      client: optional(NONE),
      ...SUBMITTING,
    },
    call: ({ holdfast }, options) => holdfast.submitOrSignal('p', 1, options as never),
  },
  {
    of: 'worker',
    with: { pipelines: [pipeline({ name: 'idle', run: () => 1 })] },
    fits: NONE,
    names: { pipelines: NONE, ...WORKING, release: optional(NONE) },
    call: ({ holdfast }, options) => holdfast.worker(options as never),
  },
  {
    of: 'maintain',
    names: WORKING,
    call: ({ holdfast }, options) => holdfast.maintain(options as never),
  },
  ...(['result', 'ended'] as const).map((of) => ({
    of,
    names: { signal: optional(NONE), ...IN_PROJECT },
    call: ({ holdfast, handle }: Given, options: unknown) =>
      holdfast[of](handle.id, options as object),
  })),
  {
    of: 'handle.result',
    names: { signal: optional(NONE), ...IN_PROJECT },
    call: ({ handle }, options) => handle.result(options as object),
  },
  ...(['read', 'explain', 'attachments'] as const).map((of) => ({
    of,
    names: IN_PROJECT,
    call: ({ holdfast, handle }: Given, options: unknown) =>
      holdfast[of](handle.id, options as object),
  })),
  ...(['cancel', 'pause', 'resume'] as const).map((of) => ({
    of,
    names: of === 'cancel' ? { ...OPERATION, force: optional(['true']) } : OPERATION,
    call: ({ holdfast, handle }: Given, options: unknown) =>
      holdfast[of](handle.id, options as object),
  })),
  {
    of: 'erase',
    with: { reason: 'r' },
    fits: NONE,
    names: { ...OPERATION, reason: TEXT },
    call: ({ holdfast, handle }, options) => holdfast.erase(handle.id, options as never),
  },
  {
    of: 'signal',
    with: { name: 's' },
    fits: NONE,
    names: { ...OPERATION, name: TEXT, value: VALUE, key: optional(TEXT), client: optional(NONE) },
    call: ({ holdfast, handle }, options) => holdfast.signal(handle.id, options as never),
  },
  ...(['update', 'sendUpdate'] as const).map((of) => ({
    of,
    with: { name: 's', timeoutMs: 0 },
    fits: NONE,
    names: {
      ...{ ...OPERATION, name: TEXT, value: VALUE, key: optional(TEXT) },
      ...{ timeoutMs: optional(NUMBER), signal: optional(NONE) },
    },
    call: ({ holdfast, handle }: Given, options: unknown) =>
      holdfast[of](handle.id, options as never),
  })),
  ...(['query', 'queried'] as const).map((of) => ({
    of,
    with: { name: 's' },
    fits: NONE,
    names: { ...IN_PROJECT, name: TEXT, value: VALUE },
    call: ({ holdfast, handle }: Given, options: unknown) =>
      holdfast[of](handle.id, options as never),
  })),
  ...(['published', 'publishedIn'] as const).map((of) => ({
    of,
    names: { ...IN_PROJECT, timeoutMs: optional(NUMBER), signal: optional(NONE) },
    call: ({ holdfast, handle }: Given, options: unknown) =>
      holdfast[of](handle.id, 'x', options as never),
  })),
  {
    of: 'list',
    names: {
      ...FILTER,
      sort: optional(NONE),
      cursor: optional(NONE),
      limit: optional(NUMBER),
    },
    call: ({ holdfast }, options) => holdfast.list(options as object),
  },
  {
    of: 'count',
    names: FILTER,
    call: ({ holdfast }, options) => holdfast.count(options as object),
  },
  {
    of: 'list: attribute',
    with: { name: 'n' },
    fits: ['nothing', 'an array'],
    names: {
      name: TEXT,
      equals: optional(LABEL),
      min: optional(['a number', 'a negative number', 'a fraction']),
      max: optional(['a number', 'a negative number', 'a fraction']),
    },
    call: ({ holdfast }, attribute) => holdfast.list({ attribute } as object),
  },
  {
    of: 'history',
    names: { after: optional(NUMBER), limit: optional(NUMBER), ...IN_PROJECT },
    call: ({ holdfast, handle }, options) => holdfast.history(handle.id, options as object),
  },
  {
    of: 'saveHistory',
    names: IN_PROJECT,
    call: ({ holdfast, handle }, options) => holdfast.saveHistory(handle.id, options as object),
  },
  {
    of: 'templates.put',
    with: { id: 't', version: 9, pipeline: 'p' },
    fits: NONE,
    names: {
      ...LIMITS,
      id: TEXT,
      version: NUMBER,
      pipeline: TEXT,
      defaults: VALUE,
      ...OPERATION,
    },
    call: ({ holdfast }, options) => holdfast.templates.put(options as never),
  },
  {
    of: 'templates.get',
    names: { ...IN_PROJECT, version: optional(NUMBER) },
    call: ({ holdfast }, options) => holdfast.templates.get('t', options as object),
  },
  {
    of: 'templates.list',
    names: {
      ...IN_PROJECT,
      id: optional(TEXT),
      cursor: optional(NONE),
      limit: optional(NUMBER),
    },
    call: ({ holdfast }, options) => holdfast.templates.list(options as object),
  },
  {
    of: 'schedules.put',
    with: { id: 's', every: 1_000, pipeline: 'p' },
    fits: NONE,
    names: {
      id: TEXT,
      project: optional(TEXT),
      every: NONE,
      cron: optional(NONE),
      timeZone: optional(NONE),
      pipeline: TEXT,
      template: optional(NONE),
      version: optional(NONE),
      input: VALUE,
      options: optional(['an object']),
      overlap: optional(NONE),
      catchUp: optional(NONE),
      jitterMs: optional(NUMBER),
      pauseOnFailure: optional(['true']),
      ifExists: optional(NONE),
      actor: optional(TEXT),
      reason: optional(['text', 'empty text']),
    },
    call: ({ holdfast }, options) => holdfast.schedules.put(options as never),
  },
  {
    of: 'schedules.put: options',
    names: (() => {
      const { delayMs: _, ...names } = PLACING;
      return names;
    })(),
    call: ({ holdfast }, options) =>
      holdfast.schedules.put({ id: 's', every: 1_000, pipeline: 'p', options: options as object }),
  },
  {
    of: 'schedules.list',
    names: { ...IN_PROJECT, cursor: optional(TEXT), limit: optional(NUMBER) },
    call: ({ holdfast }, options) => holdfast.schedules.list(options as object),
  },
  {
    of: 'schedules.trigger',
    names: { ...OPERATION, overlap: optional(NONE), key: optional(TEXT) },
    call: ({ holdfast }, options) => holdfast.schedules.trigger('s', options as object),
  },
  {
    of: 'schedules.backfill',
    with: { from: new Date(0), to: new Date(0) },
    names: { ...OPERATION, from: NONE, to: NONE },
    call: ({ holdfast }, options) => holdfast.schedules.backfill('s', options as never),
  },
  ...(['get', 'pause', 'resume', 'remove'] as const).map((of) => ({
    of: `schedules.${of}`,
    names: of === 'get' ? IN_PROJECT : OPERATION,
    call: ({ holdfast }: Given, options: unknown) => holdfast.schedules[of]('s', options as object),
  })),
];

const ID = (
  of:
    | 'read'
    | 'explain'
    | 'cancel'
    | 'pause'
    | 'resume'
    | 'attachments'
    | 'history'
    | 'saveHistory'
    | 'result'
    | 'ended',
): Argument<Given> => ({
  of,
  expected: /execution id/,
  fits: NONE,
  hand: ({ holdfast }, id) => holdfast[of](id as string),
});

const one = (
  of: string,
  expected: RegExp,
  rest: Pick<Argument<Given>, 'fits' | 'hand'>,
): Argument<Given> => ({ of, expected, ...rest });

const PLAIN: readonly Argument<Given>[] = [
  one('submit', /pipeline/, {
    fits: TEXT,
    hand: ({ holdfast }, wrong) => holdfast.submit(wrong as string, 1),
  }),
  one('submit', /input/, {
    fits: VALUE,
    hand: ({ holdfast }, wrong) => holdfast.submit('p', wrong),
  }),
  one('submit', /template/, {
    fits: TEXT,
    hand: ({ holdfast }, wrong) => holdfast.submit({ template: wrong as string }, {}),
  }),
  one('submit', /version/, {
    fits: optional(NUMBER),
    hand: ({ holdfast }, version) =>
      holdfast.submit({ template: 't', version: version as number }, {}),
  }),
  one('submit', /parameters|input/, {
    fits: ['nothing', 'an object', 'an object with an odd name'],
    hand: ({ holdfast }, wrong) => holdfast.submit({ template: 't' }, wrong),
  }),
  one('submitOrSignal', /pipeline/, {
    fits: TEXT,
    hand: ({ holdfast }, wrong) =>
      holdfast.submitOrSignal(wrong as string, 1, { key: 'k', signal: { name: 's' } }),
  }),
  one('submitOrSignal', /name/, {
    fits: TEXT,
    hand: ({ holdfast }, name) =>
      holdfast.submitOrSignal('p', 1, { key: 'k', signal: { name: name as string } }),
  }),
  one('submitOrSignal', /value of signal/, {
    fits: VALUE,
    hand: ({ holdfast }, value) =>
      holdfast.submitOrSignal('p', 1, { key: 'k', signal: { name: 's', value } }),
  }),
  one('decode', /payload/, {
    // The stored form of `undefined`.
    fits: ['an object'],
    hand: ({ holdfast }, wrong) => holdfast.decode(wrong as string),
  }),
  ...(['enc', 'ref', 'by', 'odd'] as const).map((name) =>
    one('decode', /payload/, {
      fits: name === 'by' ? ['text', 'text with NUL', 'half a character'] : ['nothing'],
      hand: ({ holdfast }, wrong) =>
        holdfast.decode({ ...(name === 'by' ? { enc: 'e30=' } : {}), [name]: wrong }),
    }),
  ),
  ID('read'),
  ID('explain'),
  ID('cancel'),
  ID('pause'),
  ID('resume'),
  ID('attachments'),
  ID('history'),
  ID('saveHistory'),
  ID('result'),
  ID('ended'),
  one('erase', /execution id/, {
    fits: NONE,
    hand: ({ holdfast }, id) => holdfast.erase(id as string, { reason: 'r' }),
  }),
  one('signal', /execution id/, {
    fits: NONE,
    hand: ({ holdfast }, id) => holdfast.signal(id as string, { name: 's' }),
  }),
  one('attachment', /execution id/, {
    fits: NONE,
    hand: ({ holdfast }, id) => holdfast.attachment(id as string, 'n'),
  }),
  one('attachment', /attachment/, {
    fits: TEXT,
    hand: ({ holdfast, handle }, name) => holdfast.attachment(handle.id, name as string),
  }),
  one('list', /status/, {
    fits: NONE,
    hand: ({ holdfast }, wrong) => holdfast.list({ status: [wrong as 'queued'] }),
  }),
  one('templates.get', /template/, {
    fits: TEXT,
    hand: ({ holdfast }, id) => holdfast.templates.get(id as string),
  }),
  ...(['get', 'pause', 'resume', 'remove'] as const).map((of) =>
    one(`schedules.${of}`, /schedule/, {
      fits: TEXT,
      hand: ({ holdfast }, id) => holdfast.schedules[of](id as string),
    }),
  ),
  one('schedules.put', /cron/, {
    fits: NONE,
    hand: ({ holdfast }, cron) =>
      holdfast.schedules.put({ id: 's', pipeline: 'p', cron: cron as string }),
  }),
  one('schedules.put', /timeZone|time zone/, {
    fits: ['nothing'],
    hand: ({ holdfast }, zone) =>
      holdfast.schedules.put({
        id: 's',
        pipeline: 'p',
        cron: '0 0 * * *',
        timeZone: zone as string,
      }),
  }),
  one('schedules.put', /template/, {
    fits: TEXT,
    hand: ({ holdfast }, template) =>
      holdfast.schedules.put({ id: 's', every: 1_000, template: template as string }),
  }),
  one('schedules.put', /version/, {
    fits: optional(NUMBER),
    hand: ({ holdfast }, version) =>
      holdfast.schedules.put({
        id: 's',
        every: 1_000,
        template: 't',
        version: version as number,
      }),
  }),
];

export const OF_HOLDFAST: readonly Argument<Given>[] = [
  ...OPTIONS.flatMap(argumentsOf),
  ...PLAIN,
  ...partsOfPlacing<Given>('submit', ({ holdfast }, options) => holdfast.submit('p', 1, options)),
  ...partsOfLimits<Given>('templates.put', ({ holdfast }, options) =>
    holdfast.templates.put({ id: 't', version: 9, pipeline: 'p', ...options }),
  ),
  ...partsOfPlacing<Given>('schedules.put', ({ holdfast }, options) =>
    holdfast.schedules.put({ id: 's', every: 1_000, pipeline: 'p', options }),
  ),
];
