// The settings of a coordinator and their values. The names in the file, of variables and of flags
// derive from this schema, and so does the help, which adds each default and unit.

import { Type } from 'typebox';
import { QUOTAS, type QuotaName } from '../features/access/model.ts';
import { closed } from '../protocol/messages/words.ts';
import type { PushEndpoint } from '../protocol/push/push-options.ts';
import { DEFAULT_HTTP_LIMITS, HTTP_LIMIT_RANGES, type HttpLimits } from './server-options.ts';

function limitOf(name: keyof HttpLimits, description: string) {
  const { min, max } = HTTP_LIMIT_RANGES[name];
  const usual = DEFAULT_HTTP_LIMITS[name];
  return Type.Integer({ minimum: min, maximum: max, default: usual, description });
}

function quotaOf(name: QuotaName) {
  const { default: usual, max, of } = QUOTAS[name];
  const description = `Most ${of} that one project can have`;
  return Type.Integer({ minimum: 0, maximum: max, default: usual, description });
}

function isOn(usual: boolean, description: string) {
  return Type.Boolean({ default: usual, description });
}

// Settings without a default may be left out.

function integer(minimum: number, maximum: number, description: string) {
  return Type.Optional(Type.Integer({ minimum, maximum, description }));
}

function days(which: string) {
  return integer(0, 36_600, `Days to keep ${which} (default for ever)`);
}

function text(description: string) {
  return Type.Optional(Type.String({ minLength: 1, description }));
}

function url(description: string, pattern = '^https?://') {
  return Type.Optional(Type.String({ pattern, description }));
}

function words(description: string) {
  return Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description }));
}

/** The code that uses an endpoint checks its fields and suggests the nearest name. */
export type ConfiguredEndpoint = Omit<PushEndpoint, 'signing'> & { readonly signingFile?: string };

const endpoint = Type.Unsafe<ConfiguredEndpoint>(Type.Object({}));

export const configSchema = closed({
  store: Type.String({
    minLength: 1,
    default: './holdfast.db',
    description:
      'URL of a PostgreSQL database (several hosts: the primary), or path of a SQLite file',
  }),
  host: Type.String({
    minLength: 1,
    default: '127.0.0.1',
    description: 'Address to listen on',
    placeholder: 'address',
  }),
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
    placeholder: 'off|main|address',
  }),
  console: Type.Enum(['on', 'off'], {
    default: 'on',
    description: 'Serve the web console at /console',
  }),
  grpc: Type.String({
    pattern: '^(off|.+:\\d{1,5})$',
    default: 'off',
    description: 'Listener for workers over gRPC: off, or an address such as 127.0.0.1:7435',
    placeholder: 'off|address',
  }),
  maintenance: isOn(
    true,
    'Run schedules, deadlines, awaits and bulk jobs here; false only serves requests',
  ),
  publicMetrics: isOn(false, 'Serve /metrics without a key'),
  docs: isOn(false, 'Serve the documentation at /docs'),
  links: closed({
    signingFile: text(
      'JSON file with the keys that sign answer links: { keys: { id: secret }, current: id } (default none: no links)',
    ),
  }),
  channels: closed({
    signingFile: text(
      'JSON file with the keys from which the secrets of channels are derived: { keys: { id: secret }, current: id } (default none: no channels)',
    ),
    hosts: words('Hosts that channels can call; *.example.com allows all below it (default any)'),
    privateAddresses: isOn(false, 'Allow channels to loopback, private and link-local addresses'),
    allowHttp: isOn(false, 'Allow channels over plain HTTP'),
    queues: words(
      'SQS queues that channels can send to; a trailing * matches any ending, {project} the name of the project (default none)',
    ),
    answersQueueUrl: text(
      'SQS queue from which to read signed answers to questions (default none)',
    ),
    timeoutMs: Type.Integer({
      minimum: 100,
      maximum: 60_000,
      default: 15_000,
      description: 'Time limit of one attempt to deliver a message, in milliseconds',
    }),
    keepDays: Type.Integer({
      minimum: 1,
      maximum: 3_660,
      default: 30,
      description: 'Days to keep the messages of channels and their log',
    }),
    alertsEveryMs: Type.Integer({
      minimum: 1_000,
      maximum: 3_600_000,
      default: 30_000,
      description: 'Time between two checks of the alerts of a channel, in milliseconds',
    }),
  }),
  limits: closed({
    bodyBytesMax: limitOf('bodyBytesMax', 'Largest request body, in bytes'),
    jsonValuesMax: limitOf('jsonValuesMax', 'Names and values in a JSON body or a decoded value'),
    requestsPerMinute: limitOf(
      'requestsPerMinute',
      'Requests per minute of one key, or of one address without a key',
    ),
    projectRequestsPerMinute: limitOf(
      'projectRequestsPerMinute',
      'Requests per minute of all keys of one project',
    ),
    wrongKeysPerMinute: limitOf(
      'wrongKeysPerMinute',
      'Wrong keys per minute from one address; above it, further wrong keys get 429',
    ),
    connectionsMax: limitOf(
      'connectionsMax',
      'Open connections of each listener; the coordinator closes new ones above it',
    ),
    connectionsPerAddressMax: limitOf(
      'connectionsPerAddressMax',
      'Open connections of one address on all listeners; the coordinator closes new ones above it',
    ),
    openMax: limitOf('openMax', 'Long polls and streams open at once'),
    requestMs: limitOf(
      'requestMs',
      'Time limit for receiving a request and for sending a response, in milliseconds',
    ),
    historyEventsMax: limitOf('historyEventsMax', 'Events that workers may write to one execution'),
    historyBytesMax: limitOf(
      'historyBytesMax',
      'Bytes of events that workers may write to one execution',
    ),
    relayAnswersMs: limitOf(
      'relayAnswersMs',
      'Time limit for a worker to check an answer, in milliseconds',
    ),
  }),
  quotas: closed({
    executions: quotaOf('executions'),
    schedules: quotaOf('schedules'),
    sessions: quotaOf('sessions'),
    leases: quotaOf('leases'),
    keys: quotaOf('keys'),
    views: quotaOf('views'),
    channels: quotaOf('channels'),
    bytes: quotaOf('bytes'),
  }),
  tls: closed({
    keyFile: text('PEM file with the TLS key; needs the certificate (default none: no TLS)'),
    certFile: text('PEM file with the TLS certificate; needs the key (default none: no TLS)'),
    minVersion: Type.Optional(
      Type.Enum(['TLSv1.2', 'TLSv1.3'], { description: 'Lowest TLS version (default TLSv1.2)' }),
    ),
  }),
  trustProxy: Type.Union([Type.Boolean(), Type.String({ minLength: 1 })], {
    default: false,
    description:
      'Addresses of proxies whose X-Forwarded-* headers to trust; true trusts every client',
    placeholder: 'true|false|addresses',
  }),
  postgres: closed({
    schema: Type.Optional(
      Type.String({ description: 'Schema of the store in the database (default holdfast)' }),
    ),
    connectionsMax: integer(1, 1_000, 'Most connections to PostgreSQL (default 10)'),
    pooler: Type.Optional(
      Type.Boolean({
        description:
          'The URL leads to a pooler in transaction mode (default detected at the start)',
      }),
    ),
    directUrl: url(
      'URL that bypasses the pooler, for notifications (default none: the coordinator polls)',
      '^postgres(ql)?://',
    ),
  }),
  sqs: closed({
    requestQueueUrl: url('Queue that workers send requests to (default none: SQS is off)'),
    poisonQueueUrl: url('Queue for messages that cannot be handled (default none)'),
    replyQueues: words(
      'Queues that replies can go to; a trailing * matches any ending (default none)',
    ),
    keysFile: text(
      'JSON file with the keys that sign messages: { id: { secret, project, requestQueueUrl } } (default none)',
    ),
    region: text('AWS region (default the one in the queue URL)'),
    endpoint: url('URL of an SQS-compatible server (default AWS)'),
    visibleMs: integer(
      1_000,
      43_200_000,
      'Time after which SQS delivers an unhandled message again, in milliseconds (default 30000)',
    ),
  }),
  push: closed({
    endpoints: Type.Optional(
      Type.Array(endpoint, {
        description: 'Push endpoints: [{ url, pipelines, … }] (default none)',
        placeholder: 'json',
      }),
    ),
    hosts: words('Hosts that push can call; *.example.com allows all below it (default none)'),
    signingFile: text(
      'JSON file with the keys that sign push calls: { keys: { id: secret }, current: id } (default none)',
    ),
    privateAddresses: isOn(false, 'Allow push to loopback, private and link-local addresses'),
    allowHttp: isOn(false, 'Allow push over plain HTTP'),
    probeMs: integer(
      10,
      86_400_000,
      'Time without a call before the coordinator probes an endpoint, in milliseconds (default 30000)',
    ),
    failuresMax: integer(1, 1_000, 'Consecutive failures before the circuit opens (default 5)'),
    cooldownMs: integer(
      1,
      86_400_000,
      'Pause after the circuit opens, in milliseconds (default 30000)',
    ),
  }),
  archive: closed({
    folder: text('Folder for archived executions (default none: no archive)'),
    url: url('URL of S3-compatible storage for archived executions (default none)'),
    bucket: text('Bucket of the archive (default none)'),
    region: text('Region of the archive (default us-east-1)'),
    prefix: text('Prefix of every key in the archive (default none)'),
    accessKeyId: text('Access key id of the archive (default none)'),
    secretAccessKey: text('Secret access key of the archive; not safe as a flag (default none)'),
    sessionToken: text('Session token of temporary credentials; not safe as a flag (default none)'),
    timeoutMs: integer(
      100,
      3_600_000,
      'Time limit of one request to the archive, in milliseconds (default 30000)',
    ),
  }),
  retention: closed({
    completedDays: days('completed executions'),
    failedDays: days('failed executions that were re-driven'),
    cancelledDays: days('cancelled executions'),
    quarantinedDays: days('quarantined executions that were re-driven'),
    compensatedDays: days('compensated executions'),
    deadLetterDays: days('executions with an open dead letter'),
    everyMs: integer(10, 86_400_000, 'Time between two clean-ups, in milliseconds (default 60000)'),
    withoutArchive: isOn(false, 'Delete executions without archiving them'),
  }),
  log: closed({
    level: Type.Enum(['info', 'warn', 'error', 'off'], {
      default: 'info',
      description: 'Lowest level to log',
    }),
    requests: isOn(true, 'Log each request, at level info'),
    idle: isOn(
      false,
      'With log.requests, also log heartbeats, and polls and claims that found nothing',
    ),
    format: Type.Enum(['auto', 'json', 'text'], {
      default: 'auto',
      description: 'Format; auto prints text on a terminal and JSON lines otherwise',
    }),
  }),
});
