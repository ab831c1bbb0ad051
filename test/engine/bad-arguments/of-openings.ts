// Every argument of calls that come before a Holdfast: opening one, pipelines, codecs, errors.

import { openTestHoldfast } from '../../../contract/testing/test-holdfast.ts';
import { openFolderArchive } from '../../../src/archive/folder.ts';
import { openS3Archive } from '../../../src/archive/s3.ts';
import { openHoldfast } from '../../../src/embedded/open-holdfast.ts';
import { StepError } from '../../../src/engine/failures.ts';
import { Holdfast } from '../../../src/engine/holdfast.ts';
import { aesCodec } from '../../../src/engine/values/aes-codec.ts';
import { KEEP_NAMES } from '../../../src/features/retention/model.ts';
import { hostStep, pipeline, remoteStep } from '../../../src/index.ts';
import { openMemoryStore } from '../../../src/store/sqlite/open-memory.ts';
import { type Argument, argumentsOf, type Fits, type Options } from './argument.ts';
import { OPTIONS_OF_COORDINATORS } from './of-coordinators.ts';
import { OPTIONS_OF_EXPORTS } from './of-exports.ts';
import {
  ANY_TEXT,
  FUNCTION,
  NONE,
  NUMBER,
  optional,
  TEXT,
  type WrongName,
} from './wrong-values.ts';

const elsewhere = remoteStep({ name: 'elsewhere' });
const idle = pipeline({ name: 'idle', run: () => 1 });
const key = new Uint8Array(32);
/** No server listens at this address. */
const NOWHERE = 'http://127.0.0.1:1';

const HOLDFAST: Fits = {
  store: NONE,
  observer: optional(NONE),
  codec: optional(NONE),
  payloads: optional(['an object']),
  parkAfterMs: optional(NONE),
  maxClaimsWithoutProgress: optional(NUMBER),
  clock: optional(NONE),
  timers: optional(NONE),
  random: optional(NONE),
  pipelines: optional(['an array']),
  links: optional(NONE),
  relayAnswersMs: optional(NUMBER),
  jobLimits: optional(NONE),
  retention: optional(NONE),
};
const RETRY: Fits = {
  attempts: optional(NUMBER),
  initialMs: optional(NUMBER),
  factor: optional(['a number', 'a fraction']),
  maxMs: optional(NUMBER),
  jitter: optional(NONE),
  rules: optional(['an array']),
};

/** Any text is valid, since secrets are not inspected. */
const SECRET = ANY_TEXT.filter((name) => name !== 'empty text');

const openings: readonly Options<void>[] = [
  ...OPTIONS_OF_EXPORTS,
  {
    of: 'remoteStep',
    with: { name: 'r' },
    fits: NONE,
    names: { name: TEXT, input: optional(NONE), output: optional(NONE) },
    call: async (_, options) => remoteStep(options as never),
  },
  {
    of: 'hostStep',
    names: {
      retry: optional(['an object']),
      timeoutMs: optional(NUMBER),
      heartbeatTimeoutMs: optional(NUMBER),
    },
    call: async (_, options) => hostStep(elsewhere, () => 1, options as never),
  },
  ...OPTIONS_OF_COORDINATORS,
  {
    of: 'openHoldfast',
    with: { store: openMemoryStore() },
    fits: NONE,
    names: { ...HOLDFAST, store: TEXT },
    call: (_, options) => openHoldfast(options as never),
  },
  {
    of: 'new Holdfast',
    with: { store: openMemoryStore() },
    fits: NONE,
    names: HOLDFAST,
    call: (_, options) => new Holdfast(options as never),
  },
  {
    of: 'openHoldfast: payloads',
    names: { inlineBytesMax: optional(NONE), bytesMax: optional(NONE) },
    call: (_, payloads) => openHoldfast({ store: openMemoryStore(), payloads } as never),
  },
  {
    of: 'openHoldfast: retention',
    with: { archive: 'none' },
    fits: ['nothing'],
    names: {
      archive: NONE,
      keepMs: optional(['an object']),
      decode: optional(['true']),
      everyMs: optional(NONE),
    },
    call: (_, retention) => openHoldfast({ store: openMemoryStore(), retention } as never),
  },
  {
    of: 'openHoldfast: retention.keepMs',
    names: Object.fromEntries(KEEP_NAMES.map((name) => [name, optional([...NUMBER, 'null'])])),
    call: (_, keepMs) =>
      openHoldfast({ store: openMemoryStore(), retention: { archive: 'none', keepMs } } as never),
  },
  {
    of: 'openFolderArchive',
    with: { folder: 'x' },
    fits: NONE,
    names: { folder: TEXT },
    call: (_, options) => openFolderArchive(options as never),
  },
  {
    of: 'openS3Archive',
    with: { url: NOWHERE, bucket: 'bucket', accessKeyId: 'a', secretAccessKey: 'b' },
    fits: NONE,
    names: {
      url: NONE,
      bucket: NONE,
      accessKeyId: SECRET,
      secretAccessKey: SECRET,
      sessionToken: optional(SECRET),
      region: optional(TEXT),
      prefix: optional(TEXT),
      timeoutMs: optional(NONE),
    },
    call: (_, options) => openS3Archive(options as never),
  },
  {
    of: 'openTestHoldfast',
    with: { pipelines: [idle] },
    fits: NONE,
    names: {
      ...(() => {
        const { store: _store, clock: _clock, timers: _timers, ...own } = HOLDFAST;
        return own;
      })(),
      pipelines: NONE,
      start: optional(NONE),
    },
    call: (_, options) => openTestHoldfast(options as never),
  },
  {
    of: 'pipeline',
    with: { name: 'p', run: () => 1 },
    fits: NONE,
    names: {
      awaits: optional(['an array']),
      remoteSteps: optional(['an array']),
      messages: optional(['an object']),
      queries: optional(['an array']),
      name: TEXT,
      run: FUNCTION,
      input: optional(NONE),
      output: optional(NONE),
      retry: optional(['an object']),
      executionRetry: optional(['an object']),
      ifKeyTaken: optional(NONE),
      checkpoint: optional(NONE),
      validateCheckpoint: optional(FUNCTION),
      isBug: optional(FUNCTION),
    },
    call: (_, options) => pipeline(options as never),
  },
  {
    of: 'pipeline: retry',
    names: RETRY,
    call: (_, retry) => pipeline({ name: 'p', run: () => 1, retry } as never),
  },
  {
    of: 'pipeline: retry.rules',
    with: { when: 'x', do: 'retry' },
    fits: NONE,
    names: { when: [...ANY_TEXT, 'a function'], do: NONE, afterMs: optional(NUMBER) },
    call: (_, rule) => pipeline({ name: 'p', run: () => 1, retry: { rules: [rule] } } as never),
  },
  {
    of: 'pipeline: checkpoint of steps',
    with: { every: 'steps', steps: 2 },
    fits: ['nothing'],
    names: { every: NONE, steps: NUMBER },
    call: (_, checkpoint) => pipeline({ name: 'p', run: () => 1, checkpoint } as never),
  },
  {
    of: 'pipeline: checkpoint of each step',
    with: { every: 'step', runAhead: true },
    fits: ['nothing'],
    names: { every: NONE, runAhead: optional(['true']) },
    call: (_, checkpoint) => pipeline({ name: 'p', run: () => 1, checkpoint } as never),
  },
  {
    of: 'pipeline: checkpoint of time',
    with: { every: 'time', ms: 2 },
    fits: ['nothing'],
    names: { every: NONE, ms: NUMBER },
    call: (_, checkpoint) => pipeline({ name: 'p', run: () => 1, checkpoint } as never),
  },
  {
    of: 'aesCodec: key',
    with: { id: 'k', key },
    fits: NONE,
    names: { id: TEXT, key: NONE },
    call: (_, each) => aesCodec([each as never]),
  },
  {
    of: 'StepError',
    with: { category: 'permanent' },
    fits: NONE,
    names: {
      category: NONE,
      code: optional(TEXT),
      cause: ['nothing'],
      retryAfterMs: optional([
        ...['a number', 'a negative number', 'a fraction', 'NaN', 'infinity'],
      ]),
    },
    call: (_, options) => new StepError('no', options as never),
  },
];

/** A cause may be anything. */
const isChecked = (options: Options<void>): Options<void> => {
  const { cause: _, ...names } = options.names as Record<string, readonly WrongName[]>;
  return { ...options, names };
};

export const OPTIONS_OF_OPENINGS: readonly Options<void>[] = openings;

const one = (
  of: string,
  expected: RegExp,
  rest: Pick<Argument<void>, 'fits' | 'hand'>,
): Argument<void> => ({ of, expected, ...rest });

export const OF_OPENINGS: readonly Argument<void>[] = [
  ...openings.map(isChecked).flatMap(argumentsOf),
  one('aesCodec', /keys/, { fits: NONE, hand: (_, keys) => aesCodec(keys as never) }),
  one('StepError', /message/, {
    fits: ANY_TEXT,
    hand: (_, message) => new StepError(message as string, { category: 'permanent' }),
  }),
  one('TestHoldfast.advance', /advance/, {
    fits: NUMBER,
    async hand(_, ms) {
      await using time = await openTestHoldfast({ pipelines: [idle] });
      await time.advance(ms as number);
    },
  }),
];
