// Every argument of transports, for workers and push endpoints.

import { pipeline } from '../../../src/engine/pipeline.ts';
import { grpcTransport } from '../../../src/worker/grpc-transport.ts';
import { pushHandler } from '../../../src/worker/push-handler.ts';
import { sqsTransport } from '../../../src/worker/sqs-transport.ts';
import type { Options } from './argument.ts';
import { NONE, NUMBER, optional, TEXT } from './wrong-values.ts';

const idle = pipeline({ name: 'idle', run: () => 1 });
const SECRET = 'a secret of at least 32 bytes, text';
/** A queue without messages, which answers late. */
const NO_QUEUE = { send: () => new Promise((resolve) => setTimeout(resolve, 10, {})) };
const QUEUE = { client: NO_QUEUE, requestQueueUrl: 'x' };
export const SQS = {
  ...QUEUE,
  poisonQueueUrl: 'x',
  replyQueues: [],
  keys: { a: { secret: SECRET } },
};

export const PUSH = {
  endpoints: [],
  signing: { keys: { a: SECRET }, current: 'a' },
  allow: { hosts: ['x.example'] },
};

export const TRANSPORTS: readonly Options<void>[] = [
  {
    of: 'grpcTransport',
    with: { address: '127.0.0.1:1' },
    fits: NONE,
    names: {
      address: NONE,
      key: optional(TEXT),
      project: optional(TEXT),
      mode: optional(NONE),
      ca: optional(TEXT),
      bytesMax: optional(NONE),
    },
    call: (_, options) => grpcTransport(options as never),
  },
  {
    of: 'sqsTransport',
    with: { ...QUEUE, replyQueueUrl: 'x', signing: { keys: { a: SECRET }, current: 'a' } },
    fits: NONE,
    names: {
      client: NONE,
      requestQueueUrl: TEXT,
      replyQueueUrl: TEXT,
      signing: NONE,
      writesGoodMs: optional(NONE),
      replyTimeoutMs: optional(NUMBER),
    },
    call: (_, options) => sqsTransport(options as never).then((transport) => transport.close()),
  },
  {
    of: 'pushHandler',
    with: { pipelines: [idle], signing: PUSH.signing, audience: 'https://x.example/' },
    fits: NONE,
    names: {
      pipelines: NONE,
      signing: NONE,
      coordinator: optional(NONE),
      release: optional(NONE),
      codec: optional(NONE),
      observer: optional(NONE),
      payloads: optional(['an object']),
      audience: NONE,
      project: optional(TEXT),
    },
    call: async (_, options) => pushHandler(options as never),
  },
  {
    of: 'pushHandler: coordinator',
    with: { url: 'http://127.0.0.1:1' },
    fits: ['nothing'],
    names: { url: TEXT, key: optional(TEXT), transport: optional(NONE) },
    call: async (_, coordinator) =>
      pushHandler({
        ...{ pipelines: [idle], signing: PUSH.signing, audience: 'https://x.example/' },
        coordinator,
      } as never),
  },
];
