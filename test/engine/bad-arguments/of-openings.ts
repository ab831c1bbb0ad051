// Every argument of what is called before there is a Holdfast: opening one, pipelines, codecs, errors.

import { HoldfastClient } from '../../../src/client/client.ts';
import { openHoldfast } from '../../../src/embedded/open-holdfast.ts';
import { aesCodec } from '../../../src/engine/aes-codec.ts';
import { StepError } from '../../../src/engine/failures.ts';
import { Holdfast } from '../../../src/engine/holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { hostStep, remoteStep } from '../../../src/engine/remote-step.ts';
import { openServer } from '../../../src/server/serve.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { openTestHoldfast } from '../../../src/testing/test-holdfast.ts';
import { openWorker } from '../../../src/worker/open-worker.ts';
import { type Argument, argumentsOf, type Fits, type Options } from './argument.ts';
import { CARRIERS, PUSH, SQS } from './of-carriers.ts';
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
/** Nobody listens there. */
const NOWHERE = 'http://127.0.0.1:1';

const HOLDFAST: Fits = {
  store: NONE,
  observer: optional(NONE),
  codec: optional(NONE),
  payloads: optional(['an object']),
  parkAfterMs: optional(NONE),
  fruitlessClaimsMax: optional(NUMBER),
  clock: optional(NONE),
  timers: optional(NONE),
  random: optional(NONE),
  pipelines: optional(['an array']),
  links: optional(NONE),
  relayAnswersMs: optional(NUMBER),
};
const RETRY: Fits = {
  attempts: optional(NUMBER),
  initialMs: optional(NUMBER),
  factor: optional(['a number', 'a fraction']),
  maxMs: optional(NUMBER),
  jitter: optional(NONE),
  rules: optional(['an array']),
};

const TLS = { key: 'a key', cert: 'a certificate' };
const SERVER = { store: openMemoryStore(), port: 0, tends: false };

/** Of a coordinator and of those who call it. */
const remote: readonly Options<void>[] = [
  ...CARRIERS,
  {
    of: 'openServer',
    with: SERVER,
    fits: NONE,
    names: {
      store: NONE,
      host: optional(TEXT),
      port: optional(NUMBER),
      auth: optional(NONE),
      admin: optional(NONE),
      grpc: optional(NONE),
      sqs: optional(NONE),
      push: optional(NONE),
      tends: optional(['true']),
      limits: optional(['an object']),
      trustProxy: optional([...TEXT, 'true']),
      tls: optional(NONE),
      links: optional(NONE),
      publicMetrics: optional(['true']),
      log: optional(NONE),
      clock: optional(NONE),
      timers: optional(NONE),
      random: optional(NONE),
    },
    call: (_, options) => openServer(options as never),
  },
  {
    of: 'openServer: admin',
    with: { port: 0 },
    fits: ['nothing'],
    names: { host: optional(TEXT), port: NUMBER },
    call: (_, admin) => openServer({ ...SERVER, admin } as never),
  },
  {
    of: 'openServer: grpc',
    with: { port: 0 },
    fits: ['nothing'],
    names: { host: optional(TEXT), port: NUMBER },
    call: (_, grpc) => openServer({ ...SERVER, grpc } as never),
  },
  {
    of: 'openServer: sqs',
    with: SQS,
    fits: ['nothing'],
    names: {
      client: NONE,
      requestQueueUrl: TEXT,
      poisonQueueUrl: TEXT,
      replyQueues: ['an array'],
      keys: NONE,
      visibleMs: optional(NONE),
    },
    call: (_, sqs) => openServer({ ...SERVER, sqs } as never).then((server) => server.close()),
  },
  {
    of: 'openServer: push',
    with: PUSH,
    fits: ['nothing'],
    names: {
      endpoints: ['an array'],
      signing: NONE,
      allow: NONE,
      circuit: optional(['an object']),
    },
    call: (_, push) => openServer({ ...SERVER, push } as never),
  },
  {
    of: 'openServer: push.endpoints',
    with: { url: 'https://x.example', pipelines: ['p'] },
    fits: NONE,
    names: {
      url: NONE,
      pipelines: NONE,
      project: optional(TEXT),
      capacity: optional(NUMBER),
      timeoutMs: optional(NONE),
    },
    call: (_, endpoint) =>
      openServer({ ...SERVER, push: { ...PUSH, endpoints: [endpoint] } } as never),
  },
  {
    of: 'openServer: limits',
    names: {
      bodyBytesMax: optional(NONE),
      requestsPerMinute: optional(NUMBER),
      openMax: optional(NUMBER),
      requestMs: optional(NONE),
      relayAnswersMs: optional(NUMBER),
    },
    call: (_, limits) => openServer({ ...SERVER, limits } as never),
  },
  {
    of: 'openServer: tls',
    with: TLS,
    fits: ['nothing'],
    names: { key: ANY_TEXT.filter((name) => name !== 'empty text'), cert: TEXT },
    call: (_, tls) => openServer({ ...SERVER, tls } as never),
  },
  {
    of: 'openWorker',
    with: { url: NOWHERE, pipelines: [idle] },
    fits: NONE,
    names: {
      url: NONE,
      carrier: optional(NONE),
      key: optional(TEXT),
      project: optional(TEXT),
      codec: optional(NONE),
      observer: optional(NONE),
      payloads: optional(['an object']),
      pipelines: NONE,
      concurrency: optional(NUMBER),
      owner: optional(TEXT),
      ttlMs: optional(NUMBER),
      pollMs: optional(NONE),
      stopGraceMs: optional(NUMBER),
    },
    call: (_, options) => openWorker(options as never),
  },
  {
    of: 'HoldfastClient',
    with: { url: NOWHERE },
    fits: NONE,
    names: {
      url: NONE,
      key: optional(TEXT),
      project: optional(TEXT),
      fetch: optional(FUNCTION),
    },
    call: (_, options) => new HoldfastClient(options as never),
  },
];

const openings: readonly Options<void>[] = [
  {
    of: 'remoteStep',
    with: { name: 'r' },
    fits: NONE,
    names: { name: TEXT, input: optional(NONE), output: optional(NONE) },
    call: async (_, options) => remoteStep(options as never),
  },
  {
    of: 'hostStep',
    names: { retry: optional(['an object']), timeoutMs: optional(NUMBER) },
    call: async (_, options) => hostStep(elsewhere, () => 1, options as never),
  },
  ...remote,
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
    of: 'openTestHoldfast',
    with: { pipelines: [idle] },
    fits: NONE,
    names: {
      ...(() => {
        const { store: _store, clock: _clock, timers: _timers, ...rest } = HOLDFAST;
        const { links: _links, relayAnswersMs: _relay, ...own } = rest;
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
      name: TEXT,
      run: FUNCTION,
      input: optional(NONE),
      output: optional(NONE),
      retry: optional(['an object']),
      checkpoint: optional(NONE),
      validateCheckpoint: optional(FUNCTION),
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
  says: RegExp,
  rest: Pick<Argument<void>, 'fits' | 'hand'>,
): Argument<void> => ({ of, says, ...rest });

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
