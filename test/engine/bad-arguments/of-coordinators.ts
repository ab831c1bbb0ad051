// Every option of a coordinator and of its callers.

import { HoldfastClient } from '../../../src/client/client.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { openServer } from '../../../src/server/serve.ts';
import { openMemoryStore } from '../../../src/store/sqlite/open-memory.ts';
import { openCoordinator } from '../../../src/worker/open-coordinator.ts';
import { openWorker } from '../../../src/worker/open-worker.ts';
import type { Options } from './argument.ts';
import { PUSH, SQS, TRANSPORTS } from './of-transports.ts';
import { ANY_TEXT, FUNCTION, NONE, NUMBER, optional, TEXT } from './wrong-values.ts';

const idle = pipeline({ name: 'idle', run: () => 1 });
/** No server listens at this address. */
const NOWHERE = 'http://127.0.0.1:1';

const TLS = { key: 'a key', cert: 'a certificate' };
const SERVER = { store: openMemoryStore(), port: 0, maintenance: false };

/** For a coordinator and its callers. */
export const OPTIONS_OF_COORDINATORS: readonly Options<void>[] = [
  ...TRANSPORTS,
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
      maintenance: optional(['true']),
      console: optional(['true']),
      docs: optional(['true']),
      demo: optional(NONE),
      limits: optional(['an object']),
      quotas: optional(['an object']),
      trustProxy: optional([...TEXT, 'true']),
      tls: optional(NONE),
      links: optional(NONE),
      channels: optional(NONE),
      retention: optional(NONE),
      publicMetrics: optional(['true']),
      logRequests: optional(['true']),
      logIdle: optional(['true']),
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
      signing: optional(NONE),
      allow: NONE,
      circuit: optional(['an object']),
      probeMs: optional(NUMBER),
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
      signing: optional(NONE),
    },
    call: (_, endpoint) =>
      openServer({ ...SERVER, push: { ...PUSH, endpoints: [endpoint] } } as never),
  },
  {
    of: 'openServer: channels',
    with: { signing: { keys: { k1: 's'.repeat(32) }, current: 'k1' } },
    fits: ['nothing'],
    names: {
      signing: NONE,
      allow: optional(['an object']),
      sqs: optional(NONE),
      timeoutMs: optional(NONE),
      keepDays: optional(NUMBER),
      alertsEveryMs: optional(NUMBER),
    },
    call: (_, channels) => openServer({ ...SERVER, channels } as never),
  },
  {
    of: 'openServer: limits',
    names: {
      bodyBytesMax: optional(NONE),
      jsonValuesMax: optional(NONE),
      requestsPerMinute: optional(NUMBER),
      projectRequestsPerMinute: optional(NUMBER),
      wrongKeysPerMinute: optional(NUMBER),
      connectionsMax: optional(NUMBER),
      connectionsPerAddressMax: optional(NUMBER),
      historyBytesMax: optional(NUMBER),
      historyEventsMax: optional(NUMBER),
      openMax: optional(NUMBER),
      requestMs: optional(NONE),
      relayAnswersMs: optional(NUMBER),
    },
    call: (_, limits) => openServer({ ...SERVER, limits } as never),
  },
  {
    of: 'openServer: quotas',
    names: {
      executions: optional(NUMBER),
      schedules: optional(NUMBER),
      sessions: optional(NUMBER),
      keys: optional(NUMBER),
      leases: optional(NUMBER),
      bytes: optional(NUMBER),
      views: optional(NUMBER),
      channels: optional(NUMBER),
    },
    call: (_, quotas) => openServer({ ...SERVER, quotas } as never),
  },
  {
    of: 'openServer: tls',
    with: TLS,
    fits: ['nothing'],
    names: {
      key: ANY_TEXT.filter((name) => name !== 'empty text'),
      cert: TEXT,
      minVersion: optional(NONE),
    },
    call: (_, tls) => openServer({ ...SERVER, tls } as never),
  },
  {
    of: 'openWorker',
    with: { url: NOWHERE, pipelines: [idle], connectMs: 0 },
    fits: NONE,
    names: {
      url: NONE,
      transport: optional(NONE),
      key: optional(TEXT),
      project: optional(TEXT),
      stream: optional(['true']),
      connectMs: optional(NUMBER),
      codec: optional(NONE),
      observer: optional(NONE),
      payloads: optional(['an object']),
      pipelines: NONE,
      concurrency: optional(NUMBER),
      owner: optional(TEXT),
      ttlMs: optional(NUMBER),
      pollMs: optional(NONE),
      stopGraceMs: optional(NUMBER),
      release: optional(NONE),
      probeMs: optional(NONE),
    },
    call: (_, options) => openWorker(options as never),
  },
  {
    of: 'openCoordinator',
    with: { url: NOWHERE, connectMs: 0 },
    fits: NONE,
    names: {
      url: NONE,
      transport: optional(NONE),
      key: optional(TEXT),
      project: optional(TEXT),
      stream: optional(['true']),
      connectMs: optional(NUMBER),
    },
    call: (_, options) => openCoordinator(options as never),
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
      stream: optional(['true']),
      timeoutMs: optional(NUMBER),
    },
    call: (_, options) => new HoldfastClient(options as never),
  },
];
