// What a coordinator can be told, with what its values may be: the names of a file, of variables and of flags are made
// from it.

import { Type } from 'typebox';
import { QUOTAS, type QuotaName } from '../features/access/quota-model.ts';
import type { PushEndpoint } from '../protocol/push/push-options.ts';
import { DEFAULT_HTTP_LIMITS, HTTP_LIMIT_RANGES, type HttpLimits } from './server-options.ts';

const CLOSED = { additionalProperties: false } as const;

function limitOf(name: keyof HttpLimits): {
  readonly minimum: number;
  readonly maximum: number;
  readonly default: number;
} {
  const { min, max } = HTTP_LIMIT_RANGES[name];
  return { minimum: min, maximum: max, default: DEFAULT_HTTP_LIMITS[name] };
}

function quotaOf(name: QuotaName) {
  const { default: usual, max, of } = QUOTAS[name];
  const description = `How many ${of} one project may have (default ${usual})`;
  return Type.Integer({ minimum: 0, maximum: max, default: usual, description });
}

function days(which: string) {
  const description = `how long ${which} are kept; for ever unless said`;
  return Type.Optional(Type.Integer({ minimum: 0, maximum: 36_600, description }));
}

function words(description: string) {
  return Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description }));
}

/** Its names and values are looked at where it is used, which says what is nearest. */
export type ConfiguredEndpoint = Omit<PushEndpoint, 'signing'> & { readonly signingFile?: string };

const endpoint = Type.Unsafe<ConfiguredEndpoint>(Type.Object({}));

export const configSchema = Type.Object(
  {
    store: Type.String({
      minLength: 1,
      default: './holdfast.db',
      description: 'postgres://…, or the path of a SQLite file',
    }),
    host: Type.String({ minLength: 1, default: '127.0.0.1', description: 'where it listens' }),
    port: Type.Integer({
      minimum: 0,
      maximum: 65_535,
      default: 7_433,
      description: '0: any that is free',
    }),
    auth: Type.Enum(['keys', 'off'], {
      default: 'keys',
      description: 'off: everybody may do everything; on loopback only',
    }),
    admin: Type.String({
      pattern: '^(off|main|.+:\\d{1,5})$',
      default: 'off',
      description:
        'where projects, keys and releases are managed: off, main, or a listener such as 127.0.0.1:7434',
    }),
    console: Type.Enum(['on', 'off'], { default: 'on', description: 'the pages at /console' }),
    grpc: Type.String({
      pattern: '^(off|.+:\\d{1,5})$',
      default: 'off',
      description: 'where workers are heard over gRPC: off, or a listener such as 127.0.0.1:7435',
    }),
    tends: Type.Boolean({
      default: true,
      description:
        'Run schedules, deadlines, awaits and bulk jobs; false: only answer requests (default true)',
    }),
    publicMetrics: Type.Boolean({
      default: false,
      description: 'Serve /metrics without a key (default false)',
    }),
    links: Type.Object(
      {
        signingFile: Type.Optional(
          Type.String({
            minLength: 1,
            description:
              'JSON file with the keys that sign answer links: { keys: { id: secret }, current: id } (default none: no links)',
          }),
        ),
      },
      CLOSED,
    ),
    limits: Type.Object(
      {
        bodyBytesMax: Type.Integer({
          ...limitOf('bodyBytesMax'),
          description: 'of one request',
        }),
        requestsPerMinute: Type.Integer({
          ...limitOf('requestsPerMinute'),
          description: 'of one key, or of one address without one',
        }),
        projectRequestsPerMinute: Type.Integer({
          ...limitOf('projectRequestsPerMinute'),
          description: 'Requests of all keys of one project in a minute (default 1200000)',
        }),
        wrongKeysPerMinute: Type.Integer({
          ...limitOf('wrongKeysPerMinute'),
          description: 'of one address; more are not looked up',
        }),
        connectionsMax: Type.Integer({
          ...limitOf('connectionsMax'),
          description: 'more are closed as they come',
        }),
        connectionsPerAddressMax: Type.Integer({
          ...limitOf('connectionsPerAddressMax'),
          description: 'Connections of one address on all listeners; more are closed',
        }),
        openMax: Type.Integer({
          ...limitOf('openMax'),
          description: 'long polls and streams that are held open at once',
        }),
        requestMs: Type.Integer({
          ...limitOf('requestMs'),
          description: 'how long a request may take to arrive, and an answer to be taken',
        }),
        relayAnswersMs: Type.Integer({
          ...limitOf('relayAnswersMs'),
          description: 'Time a worker has to check an answer, in milliseconds (default 10000)',
        }),
      },
      CLOSED,
    ),
    quotas: Type.Object(
      {
        executions: quotaOf('executions'),
        schedules: quotaOf('schedules'),
        sessions: quotaOf('sessions'),
        keys: quotaOf('keys'),
        bytes: quotaOf('bytes'),
      },
      CLOSED,
    ),
    tls: Type.Object(
      {
        keyFile: Type.Optional(Type.String({ minLength: 1, description: 'PEM; with certFile' })),
        certFile: Type.Optional(Type.String({ minLength: 1, description: 'PEM; with keyFile' })),
        minVersion: Type.Optional(
          Type.Enum(['TLSv1.2', 'TLSv1.3'], { description: 'TLSv1.2 unless said' }),
        ),
      },
      CLOSED,
    ),
    trustProxy: Type.Union([Type.Boolean(), Type.String({ minLength: 1 })], {
      default: false,
      description: 'believe X-Forwarded-* of proxies at these addresses; true: of anybody',
    }),
    postgres: Type.Object(
      {
        schema: Type.Optional(Type.String({ description: 'its own in the database' })),
        connectionsMax: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
        pooler: Type.Optional(
          Type.Boolean({ description: 'the store is reached through one in transaction mode' }),
        ),
        directUrl: Type.Optional(
          Type.String({ pattern: '^postgres(ql)?://', description: 'past the pooler, to listen' }),
        ),
      },
      CLOSED,
    ),
    sqs: Type.Object(
      {
        requestQueueUrl: Type.Optional(
          Type.String({ pattern: '^https?://', description: 'where workers send what they ask' }),
        ),
        poisonQueueUrl: Type.Optional(
          Type.String({ pattern: '^https?://', description: 'what nobody can handle, for people' }),
        ),
        replyQueues: words('where replies may go; all that begin so where one ends with *'),
        keysFile: Type.Optional(
          Type.String({ minLength: 1, description: 'JSON: { id: { secret, project } }' }),
        ),
        region: Type.Optional(
          Type.String({ minLength: 1, description: 'as its URL says unless said' }),
        ),
        endpoint: Type.Optional(
          Type.String({ pattern: '^https?://', description: 'of an SQS that is not of AWS' }),
        ),
        visibleMs: Type.Optional(
          Type.Integer({
            ...{ minimum: 1_000, maximum: 43_200_000 },
            description:
              'Time until a message whose handler is silent is delivered again, in milliseconds (default 30000)',
          }),
        ),
      },
      CLOSED,
    ),
    push: Type.Object(
      {
        endpoints: Type.Optional(
          Type.Array(endpoint, { description: 'JSON: [{ url, pipelines, … }], which are called' }),
        ),
        hosts: words('those that may be called, by name; *.example.com for all below'),
        signingFile: Type.Optional(
          Type.String({ minLength: 1, description: 'JSON: { keys: { id: secret }, current: id }' }),
        ),
        privateAddresses: Type.Boolean({
          default: false,
          description: 'also loopback, private and link-local addresses',
        }),
        plain: Type.Boolean({ default: false, description: 'also http' }),
        probeMs: Type.Optional(
          Type.Integer({
            ...{ minimum: 10, maximum: 86_400_000 },
            description:
              'an endpoint that was not heard of for so long is asked; 30000 unless said',
          }),
        ),
        failuresMax: Type.Optional(
          Type.Integer({
            ...{ minimum: 1, maximum: 1_000 },
            description: 'so many without an answer, and an endpoint is left alone; 5 unless said',
          }),
        ),
        openMs: Type.Optional(
          Type.Integer({
            ...{ minimum: 1, maximum: 86_400_000 },
            description: 'for so long; 30000 unless said',
          }),
        ),
      },
      CLOSED,
    ),
    archive: Type.Object(
      {
        folder: Type.Optional(
          Type.String({ minLength: 1, description: 'where executions go before they are removed' }),
        ),
        url: Type.Optional(
          Type.String({ pattern: '^https?://', description: 'of S3-compatible storage instead' }),
        ),
        bucket: Type.Optional(Type.String({ minLength: 1, description: 'in that storage' })),
        region: Type.Optional(Type.String({ minLength: 1, description: 'us-east-1 unless said' })),
        prefix: Type.Optional(Type.String({ minLength: 1, description: 'in front of every key' })),
        accessKeyId: Type.Optional(Type.String({ minLength: 1, description: 'of that storage' })),
        secretAccessKey: Type.Optional(
          Type.String({ minLength: 1, description: 'of that storage; better not as a flag' }),
        ),
        sessionToken: Type.Optional(
          Type.String({
            minLength: 1,
            description:
              'Session token of temporary credentials; not safe as a flag (default none)',
          }),
        ),
        timeoutMs: Type.Optional(
          Type.Integer({
            ...{ minimum: 100, maximum: 3_600_000 },
            description:
              'Time limit of one request to that storage, in milliseconds (default 30000)',
          }),
        ),
      },
      CLOSED,
    ),
    retention: Type.Object(
      {
        completedDays: days('those that completed'),
        failedDays: days('those that failed and were driven again'),
        cancelledDays: days('those that were cancelled'),
        quarantinedDays: days('those that were quarantined and driven again'),
        compensatedDays: days('those that were compensated'),
        deadLetterDays: days('those whose dead letter is open'),
        everyMs: Type.Optional(
          Type.Integer({ minimum: 10, maximum: 86_400_000, description: 'how often it looks' }),
        ),
        withoutArchive: Type.Boolean({
          default: false,
          description: 'what is removed is gone for good: there is no archive',
        }),
      },
      CLOSED,
    ),
    log: Type.Object(
      {
        level: Type.Enum(['info', 'error', 'off'], { default: 'info', description: 'how much' }),
        requests: Type.Boolean({
          default: true,
          description: 'a line for each request that was answered, at level info',
        }),
        idle: Type.Boolean({
          default: false,
          description:
            'With log.requests, also log heartbeats, and long polls and claims that found nothing (default false)',
        }),
        format: Type.Enum(['auto', 'json', 'text'], {
          default: 'auto',
          description: 'auto: text on a terminal, JSON lines otherwise',
        }),
      },
      CLOSED,
    ),
  },
  CLOSED,
);
