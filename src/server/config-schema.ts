// The settings of a coordinator and their values. The names in a file, of variables and of flags are made from this
// schema, and so is the help: it adds the default and the unit of each value.

import { Type } from 'typebox';
import { QUOTAS, type QuotaName } from '../features/access/model.ts';
import { closed } from '../protocol/messages/words.ts';
import type { PushEndpoint } from '../protocol/push/push-options.ts';
import { DEFAULT_HTTP_LIMITS, HTTP_LIMIT_RANGES, type HttpLimits } from './server-options.ts';

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
  const description = `Most ${of} that one project can have`;
  return Type.Integer({ minimum: 0, maximum: max, default: usual, description });
}

function days(which: string) {
  const description = `Days to keep ${which} (default for ever)`;
  return Type.Optional(Type.Integer({ minimum: 0, maximum: 36_600, description }));
}

function words(description: string) {
  return Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description }));
}

/** Its names and values are looked at where it is used, which says what is nearest. */
export type ConfiguredEndpoint = Omit<PushEndpoint, 'signing'> & { readonly signingFile?: string };

const endpoint = Type.Unsafe<ConfiguredEndpoint>(Type.Object({}));

export const configSchema = closed({
  store: Type.String({
    minLength: 1,
    default: './holdfast.db',
    description: 'URL of a PostgreSQL database, or path of a SQLite file',
  }),
  host: Type.String({ minLength: 1, default: '127.0.0.1', description: 'Address to listen on' }),
  port: Type.Integer({
    minimum: 0,
    maximum: 65_535,
    default: 7_433,
    description: 'Port to listen on; 0 takes a free one',
  }),
  auth: Type.Enum(['keys', 'off'], {
    default: 'keys',
    description: 'Require access keys; off allows every request and works only on loopback',
  }),
  admin: Type.String({
    pattern: '^(off|main|.+:\\d{1,5})$',
    default: 'off',
    description:
      'Listener for managing projects, keys and releases: off, main, or an address such as 127.0.0.1:7434',
  }),
  console: Type.Enum(['on', 'off'], {
    default: 'on',
    description: 'Serve the web console at /console',
  }),
  grpc: Type.String({
    pattern: '^(off|.+:\\d{1,5})$',
    default: 'off',
    description: 'Listener for workers over gRPC: off, or an address such as 127.0.0.1:7435',
  }),
  tends: Type.Boolean({
    default: true,
    description: 'Run schedules, deadlines, awaits and bulk jobs here; false only serves requests',
  }),
  publicMetrics: Type.Boolean({
    default: false,
    description: 'Serve /metrics without a key',
  }),
  links: closed({
    signingFile: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'JSON file with the keys that sign answer links: { keys: { id: secret }, current: id } (default none: no links)',
      }),
    ),
  }),
  limits: closed({
    bodyBytesMax: Type.Integer({
      ...limitOf('bodyBytesMax'),
      description: 'Largest request body, in bytes',
    }),
    requestsPerMinute: Type.Integer({
      ...limitOf('requestsPerMinute'),
      description: 'Requests per minute of one key, or of one address without a key',
    }),
    projectRequestsPerMinute: Type.Integer({
      ...limitOf('projectRequestsPerMinute'),
      description: 'Requests per minute of all keys of one project',
    }),
    wrongKeysPerMinute: Type.Integer({
      ...limitOf('wrongKeysPerMinute'),
      description:
        'Wrong keys per minute from one address before the coordinator stops looking keys up',
    }),
    connectionsMax: Type.Integer({
      ...limitOf('connectionsMax'),
      description: 'Open connections on all listeners; the coordinator closes new ones above it',
    }),
    connectionsPerAddressMax: Type.Integer({
      ...limitOf('connectionsPerAddressMax'),
      description:
        'Open connections of one address on all listeners; the coordinator closes new ones above it',
    }),
    openMax: Type.Integer({
      ...limitOf('openMax'),
      description: 'Long polls and streams open at once',
    }),
    requestMs: Type.Integer({
      ...limitOf('requestMs'),
      description: 'Time limit for receiving a request and for sending a response, in milliseconds',
    }),
    relayAnswersMs: Type.Integer({
      ...limitOf('relayAnswersMs'),
      description: 'Time limit for a worker to check an answer, in milliseconds',
    }),
  }),
  quotas: closed({
    executions: quotaOf('executions'),
    schedules: quotaOf('schedules'),
    sessions: quotaOf('sessions'),
    keys: quotaOf('keys'),
    bytes: quotaOf('bytes'),
  }),
  tls: closed({
    keyFile: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'PEM file with the TLS key; needs the certificate (default none: no TLS)',
      }),
    ),
    certFile: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'PEM file with the TLS certificate; needs the key (default none: no TLS)',
      }),
    ),
    minVersion: Type.Optional(
      Type.Enum(['TLSv1.2', 'TLSv1.3'], {
        description: 'Lowest TLS version (default TLSv1.2)',
      }),
    ),
  }),
  trustProxy: Type.Union([Type.Boolean(), Type.String({ minLength: 1 })], {
    default: false,
    description:
      'Addresses of proxies whose X-Forwarded-* headers to trust; true trusts every client',
  }),
  postgres: closed({
    schema: Type.Optional(
      Type.String({ description: 'Schema of the store in the database (default holdfast)' }),
    ),
    connectionsMax: Type.Optional(
      Type.Integer({
        ...{ minimum: 1, maximum: 1_000 },
        description: 'Connections of this coordinator to PostgreSQL (default 10)',
      }),
    ),
    pooler: Type.Optional(
      Type.Boolean({
        description: 'The URL leads to a pooler in transaction mode (default false)',
      }),
    ),
    directUrl: Type.Optional(
      Type.String({
        pattern: '^postgres(ql)?://',
        description:
          'URL that bypasses the pooler, for notifications (default none: the coordinator polls)',
      }),
    ),
  }),
  sqs: closed({
    requestQueueUrl: Type.Optional(
      Type.String({
        pattern: '^https?://',
        description: 'Queue that workers send requests to (default none: SQS is off)',
      }),
    ),
    poisonQueueUrl: Type.Optional(
      Type.String({
        pattern: '^https?://',
        description: 'Queue for messages that cannot be handled (default none)',
      }),
    ),
    replyQueues: words(
      'Queues that replies can go to; a trailing * matches any ending (default none)',
    ),
    keysFile: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'JSON file with the keys that sign messages: { id: { secret, project } } (default none)',
      }),
    ),
    region: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'AWS region (default the one in the queue URL)',
      }),
    ),
    endpoint: Type.Optional(
      Type.String({
        pattern: '^https?://',
        description: 'URL of an SQS-compatible server (default AWS)',
      }),
    ),
    visibleMs: Type.Optional(
      Type.Integer({
        ...{ minimum: 1_000, maximum: 43_200_000 },
        description:
          'Time until SQS delivers a message again whose handler is silent, in milliseconds (default 30000)',
      }),
    ),
  }),
  push: closed({
    endpoints: Type.Optional(
      Type.Array(endpoint, {
        description: 'Push endpoints, as JSON: [{ url, pipelines, … }] (default none)',
      }),
    ),
    hosts: words('Hosts that push can call; *.example.com allows all below it (default none)'),
    signingFile: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'JSON file with the keys that sign push calls: { keys: { id: secret }, current: id } (default none)',
      }),
    ),
    privateAddresses: Type.Boolean({
      default: false,
      description: 'Allow push to loopback, private and link-local addresses',
    }),
    plain: Type.Boolean({ default: false, description: 'Allow push over plain HTTP' }),
    probeMs: Type.Optional(
      Type.Integer({
        ...{ minimum: 10, maximum: 86_400_000 },
        description:
          'Time without a call before the coordinator probes an endpoint, in milliseconds (default 30000)',
      }),
    ),
    failuresMax: Type.Optional(
      Type.Integer({
        ...{ minimum: 1, maximum: 1_000 },
        description: 'Consecutive failures before the circuit opens (default 5)',
      }),
    ),
    openMs: Type.Optional(
      Type.Integer({
        ...{ minimum: 1, maximum: 86_400_000 },
        description: 'Pause after the circuit opens, in milliseconds (default 30000)',
      }),
    ),
  }),
  archive: closed({
    folder: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Folder for archived executions (default none: no archive)',
      }),
    ),
    url: Type.Optional(
      Type.String({
        pattern: '^https?://',
        description: 'URL of S3-compatible storage for archived executions (default none)',
      }),
    ),
    bucket: Type.Optional(
      Type.String({ minLength: 1, description: 'Bucket of the archive (default none)' }),
    ),
    region: Type.Optional(
      Type.String({ minLength: 1, description: 'Region of the archive (default us-east-1)' }),
    ),
    prefix: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Prefix of every key in the archive (default none)',
      }),
    ),
    accessKeyId: Type.Optional(
      Type.String({ minLength: 1, description: 'Access key id of the archive (default none)' }),
    ),
    secretAccessKey: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Secret access key of the archive; not safe as a flag (default none)',
      }),
    ),
    sessionToken: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Session token of temporary credentials; not safe as a flag (default none)',
      }),
    ),
    timeoutMs: Type.Optional(
      Type.Integer({
        ...{ minimum: 100, maximum: 3_600_000 },
        description: 'Time limit of one request to the archive, in milliseconds (default 30000)',
      }),
    ),
  }),
  retention: closed({
    completedDays: days('completed executions'),
    failedDays: days('failed executions that were re-driven'),
    cancelledDays: days('cancelled executions'),
    quarantinedDays: days('quarantined executions that were re-driven'),
    compensatedDays: days('compensated executions'),
    deadLetterDays: days('executions with an open dead letter'),
    everyMs: Type.Optional(
      Type.Integer({
        minimum: 10,
        maximum: 86_400_000,
        description: 'Time between two clean-ups, in milliseconds (default 60000)',
      }),
    ),
    withoutArchive: Type.Boolean({
      default: false,
      description: 'Delete executions without archiving them',
    }),
  }),
  log: closed({
    level: Type.Enum(['info', 'error', 'off'], {
      default: 'info',
      description: 'Lowest level to log',
    }),
    requests: Type.Boolean({
      default: true,
      description: 'Log each request, at level info',
    }),
    idle: Type.Boolean({
      default: false,
      description:
        'With log.requests, also log heartbeats, and polls and claims that found nothing',
    }),
    format: Type.Enum(['auto', 'json', 'text'], {
      default: 'auto',
      description: 'Format; auto prints text on a terminal and JSON lines otherwise',
    }),
  }),
});
