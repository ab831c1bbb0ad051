// Every option of openServer that is data has a flag, a variable and a file entry of `holdfast
// serve`. Another test compares the table of bad arguments, which names the options, with the code.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { serverOptionsOf } from '../../src/cli/run-server.ts';
import { startFindings } from '../../src/cli/start-findings.ts';
import {
  type Config,
  configFrom,
  environmentSources,
  fileSource,
  flagSources,
  hidden,
  SETTINGS,
} from '../../src/server/config.ts';
import { sqsOf } from '../../src/server/configured-transports.ts';
import { OPTIONS_OF_OPENINGS } from '../engine/bad-arguments/of-openings.ts';
import { inFolder } from './spawned.ts';

/**
 * Options that are objects of the caller's code, and `decode`, for which a coordinator has no codec.
 */
const CODE: readonly string[] = [
  ...['store', 'demo', 'log', 'clock', 'timers', 'random'],
  ...['sqs.client', 'retention.archive', 'retention.decode'],
];

const SIGNING = { keys: { k1: 's'.repeat(32) }, current: 'k1' };
const FILES: Readonly<Record<string, unknown>> = {
  'signing.json': SIGNING,
  'queue-keys.json': { k1: { secret: 's'.repeat(32) } },
  'key.pem': 'a key',
  'cert.pem': 'a certificate',
};

/** Values by the names of settings. None is a default. */
const GIVEN: Readonly<Record<string, unknown>> = {
  store: 'other.db',
  host: '::1',
  port: 1,
  auth: 'off',
  admin: '127.0.0.1:2',
  console: 'off',
  grpc: '127.0.0.1:3',
  maintenance: false,
  publicMetrics: true,
  docs: true,
  'links.signingFile': 'signing.json',
  'channels.signingFile': 'signing.json',
  'channels.hosts': ['*.example.com'],
  'channels.privateAddresses': true,
  'channels.allowHttp': true,
  'channels.queues': ['https://sqs.eu-central-1.amazonaws.com/1234/{project}-*'],
  'channels.answersQueueUrl': 'https://sqs.eu-central-1.amazonaws.com/1234/answers',
  'channels.timeoutMs': 200,
  'channels.keepDays': 7,
  'channels.alertsEveryMs': 2_000,
  'limits.bodyBytesMax': 2_000,
  'limits.jsonValuesMax': 70_000,
  'limits.requestsPerMinute': 7,
  'limits.projectRequestsPerMinute': 7,
  'limits.wrongKeysPerMinute': 7,
  'limits.connectionsMax': 7,
  'limits.connectionsPerAddressMax': 7,
  'limits.openMax': 7,
  'limits.historyEventsMax': 700,
  'limits.historyBytesMax': 2_000_000,
  'limits.requestMs': 700,
  'limits.relayAnswersMs': 700,
  'quotas.executions': 7,
  'quotas.schedules': 7,
  'quotas.sessions': 7,
  'quotas.leases': 7,
  'quotas.keys': 7,
  'quotas.views': 7,
  'quotas.channels': 7,
  'quotas.bytes': 7,
  'tls.keyFile': 'key.pem',
  'tls.certFile': 'cert.pem',
  'tls.minVersion': 'TLSv1.3',
  trustProxy: 'loopback',
  'postgres.schema': 'other',
  'postgres.connectionsMax': 3,
  'postgres.pooler': true,
  'postgres.directUrl': 'postgres://host/db',
  'sqs.requestQueueUrl': 'https://sqs.example/1/requests',
  'sqs.poisonQueueUrl': 'https://sqs.example/1/poison',
  'sqs.replyQueues': ['https://sqs.example/1/replies-*'],
  'sqs.keysFile': 'queue-keys.json',
  'sqs.region': 'eu-west-1',
  'sqs.endpoint': 'https://sqs.example',
  'sqs.visibleMs': 2_000,
  'push.endpoints': [
    {
      ...{ url: 'http://10.0.0.1/', pipelines: ['order'], project: 'shop', capacity: 3 },
      ...{ timeoutMs: 200, signingFile: 'signing.json' },
    },
  ],
  'push.hosts': ['10.0.0.1'],
  'push.signingFile': 'signing.json',
  'push.privateAddresses': true,
  'push.allowHttp': true,
  'push.probeMs': 20,
  'push.failuresMax': 2,
  'push.cooldownMs': 20,
  'archive.url': 'https://storage.example',
  'archive.bucket': 'bucket',
  'archive.region': 'eu-west-1',
  'archive.prefix': 'archive',
  'archive.accessKeyId': 'very-secret',
  'archive.secretAccessKey': 'very-secret',
  'archive.sessionToken': 'very-secret',
  'archive.timeoutMs': 200,
  'retention.completedDays': 1,
  'retention.failedDays': 1,
  'retention.cancelledDays': 1,
  'retention.quarantinedDays': 1,
  'retention.compensatedDays': 1,
  'retention.deadLetterDays': 1,
  'retention.everyMs': 100,
  'log.level': 'error',
  'log.requests': false,
  'log.idle': true,
  'log.format': 'json',
};
/** Settings that exclude another one in the list. */
const INSTEAD: readonly string[] = ['archive.folder', 'retention.withoutArchive'];

async function inFilledFolder(body: (given: typeof GIVEN) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    for (const [name, content] of Object.entries(FILES)) {
      const text = typeof content === 'string' ? content : JSON.stringify(content);
      await writeFile(join(folder, name), text);
    }
    const isFile = (value: unknown): value is string =>
      typeof value === 'string' && Object.hasOwn(FILES, value);
    const placed = (value: unknown): unknown => {
      if (isFile(value)) return join(folder, value);
      if (!Array.isArray(value)) return value;
      return value.map((each) =>
        typeof each === 'string'
          ? each
          : Object.fromEntries(Object.entries(each as object).map(([k, v]) => [k, placed(v)])),
      );
    };
    await body(
      Object.fromEntries(Object.entries(GIVEN).map(([name, value]) => [name, placed(value)])),
    );
  });
}

const asText = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

/** The same configuration, in each of the three forms. */
function configsOf(given: typeof GIVEN): readonly Config[] {
  const known = SETTINGS.filter(({ name }) => Object.hasOwn(given, name));
  const file: Record<string, Record<string, unknown>> = {};
  for (const { name } of known) {
    const [first = '', second] = name.split('.');
    if (second === undefined) file[first] = given[name] as never;
    else file[first] = { ...file[first], [second]: given[name] };
  }
  const byVariable = known.map(({ name, variable }) => [variable, asText(given[name])] as const);
  const byFlag = known.map(({ name, flag }) => [flag, asText(given[name])] as const);
  return [
    [fileSource('file', file)],
    environmentSources(Object.fromEntries(byVariable)),
    flagSources(Object.fromEntries(byFlag)),
  ].map((sources) => configFrom(sources).config);
}

/** Names of options with a value, and of the options inside them: `push.circuit.cooldownMs`. */
function namesIn(value: unknown, path = ''): readonly string[] {
  if (Array.isArray(value)) return [path, ...namesIn(value[0], path)];
  if (typeof value !== 'object' || value === null) return [path];
  const inside = Object.entries(value).flatMap(([name, part]) =>
    namesIn(part, path === '' ? name : `${path}.${name}`),
  );
  return [path, ...inside];
}

/** In the form of the table: `openServer: push.endpoints` has `url`. */
function optionNames(): readonly string[] {
  return OPTIONS_OF_OPENINGS.flatMap(({ of, names }) => {
    const group = /^(?:openServer|openHoldfast: (?=retention))(?:: )?(.*)$/.exec(of)?.[1];
    if (group === undefined) return [];
    return Object.keys(names).map((name) => (group === '' ? name : `${group}.${name}`));
  });
}

test('every option of openServer that is data has a flag, a variable and a file entry', () =>
  inFilledFolder(async (given) => {
    const settings = SETTINGS.map(({ name }) => name);
    assert.deepEqual([...Object.keys(given), ...INSTEAD].toSorted(), settings.toSorted());
    for (const config of configsOf(given)) {
      const queues = await sqsOf(config.sqs);
      queues?.client.destroy();
      const sqs = { ...queues?.sqs, client: undefined };
      const options = await serverOptionsOf(config);
      options.channels?.sqs?.client.destroy();
      const channels = { ...options.channels, sqs: options.channels?.sqs?.queues };
      const set = namesIn({ ...options, channels, sqs });
      const wanted = optionNames().filter((name) => !CODE.includes(name));
      assert.ok(wanted.includes('links') && wanted.includes('retention.keepMs.deadLetter'));
      assert.deepEqual(
        wanted.filter((name) => !set.includes(name)),
        [],
      );
    }
  }));

test('keys of answer links come from a file, which doctor and serve check and never print', () =>
  inFolder(async (folder) => {
    const file = join(folder, 'links.json');
    const found = async (content: string) => {
      await writeFile(file, content);
      const { config } = configFrom(flagSources({ 'links-signing-file': file }));
      return startFindings(config);
    };
    assert.deepEqual(await found(JSON.stringify(SIGNING)), [
      { what: 'links', found: 'signed with key k1' },
    ]);
    for (const [content, sentence] of [
      ['{', /links\.signingFile: .*links\.json is not valid JSON/],
      ['"hush-hush-hush"', /links must be an object such as \{ keys, current \}; got text/],
      ['{"keys":{"k1":"hush"},"current":"k1"}', /secret of key 1 must be .* 32 bytes/],
      [`{"keys":{"k1":"${'hush'.repeat(8)}"},"current":"hush"}`, /links: current must be the id/],
      [`{"k1":"${'hush'.repeat(8)}"}`, /links must be an object such as/],
    ] as const) {
      const [finding] = await found(content);
      assert.match(finding?.change ?? '', sentence);
      assert.doesNotMatch(finding?.change ?? '', /hush/);
    }
    assert.equal(hidden('links.signingFile', '{"keys":{}}'), '…');
    assert.equal(hidden('archive.sessionToken', 'very-secret'), '…');
  }));
