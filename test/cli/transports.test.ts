// holdfast serve with queues and endpoints, from a file, the environment and flags, and doctor's
// report about them.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { handlerAnywhere } from '../../contract/transport/fake-endpoint.ts';
import { startFindings } from '../../src/cli/start-findings.ts';
import { HoldfastClient } from '../../src/client/client.ts';
import { pipeline } from '../../src/index.ts';
import { configFrom, fileSource, flagSources } from '../../src/server/config.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { sqsTransport } from '../../src/worker/sqs-transport.ts';
import { mounted, SIGNING } from '../transport/push-stand.ts';
import { SqsStand } from '../transport/sqs-stand.ts';
import { holdfast, inFolder, startHoldfast } from './spawned.ts';

const queued = pipeline({ name: 'queued', run: (ctx) => ctx.step('one', () => 'by a queue') });
const pushed = pipeline({ name: 'pushed', run: (ctx) => ctx.step('one', () => 'by a call') });
const SECRET = 'q'.repeat(32);

test('serve takes messages from queues and calls endpoints, as configured', () =>
  inFolder(async (cwd, own) => {
    const stand = await SqsStand.open();
    const ofEndpoint = { keys: { own: 'o'.repeat(32) }, current: 'own' };
    const endpoint = await mounted(handlerAnywhere({ pipelines: [pushed], signing: ofEndpoint }));
    try {
      const { requestQueueUrl, poisonQueueUrl, replyQueues } = stand.options();
      await writeFile(join(cwd, 'queue-keys.json'), JSON.stringify({ k1: { secret: SECRET } }));
      await writeFile(join(cwd, 'push-keys.json'), JSON.stringify(SIGNING));
      await writeFile(join(cwd, 'own-keys.json'), JSON.stringify(ofEndpoint));
      const file = {
        sqs: { requestQueueUrl, poisonQueueUrl, replyQueues, keysFile: 'queue-keys.json' },
        push: {
          endpoints: [{ url: endpoint.url, pipelines: ['pushed'], signingFile: 'own-keys.json' }],
          allowHttp: true,
        },
      };
      await writeFile(join(cwd, 'holdfast.config.json'), JSON.stringify(file));
      const env = {
        ...{ AWS_ACCESS_KEY_ID: 'any', AWS_SECRET_ACCESS_KEY: 'any' },
        ...{ HOLDFAST_SQS_REGION: 'us-east-1', HOLDFAST_SQS_ENDPOINT: stand.url },
        ...{ HOLDFAST_PUSH_SIGNING_FILE: 'push-keys.json' },
      };
      const flags = ['--push-hosts', 'shop.example, 127.0.0.1', '--push-private-addresses', 'true'];
      const words = ['serve', '--port', '0', '--auth', 'off', ...flags];
      const url = await own(startHoldfast(words, { cwd, env })).url();
      const transport = await sqsTransport({
        ...{ client: stand.client, requestQueueUrl, replyQueueUrl: stand.queue('reply') },
        signing: { keys: { k1: SECRET }, current: 'k1' },
      });
      await using _worker = await openWorker({ transport, pipelines: [queued] });
      const { executions } = new HoldfastClient({ url });
      const results = await Promise.all(
        ['queued', 'pushed'].map(async (name) => {
          const { id } = await executions.submit({ pipeline: name });
          return (await executions.result(id)).output;
        }),
      );
      assert.deepEqual(results, ['by a queue', 'by a call']);
    } finally {
      endpoint.close();
      await stand.close();
    }
  }));

const QUEUES = {
  'sqs-request-queue-url': 'https://sqs.eu-west-1.amazonaws.com/1/requests',
  'sqs-poison-queue-url': 'https://sqs.eu-west-1.amazonaws.com/1/poison',
  'sqs-reply-queues': 'https://sqs.eu-west-1.amazonaws.com/1/replies-*',
  'sqs-keys-file': 'keys.json',
};
const CALLS = {
  'push-endpoints':
    '[{"url":"https://shop.example/hf?code=FUNCTION-KEY","pipelines":["order"],"capacity":3}]',
  'push-hosts': '*.example, shop.example',
  'push-signing-file': 'signing.json',
};

test('doctor: names problems with queues and endpoints, each with its fix', () =>
  inFolder(async (cwd) => {
    const at = (name: string): string => join(cwd, name);
    await writeFile(at('keys.json'), JSON.stringify({ k1: { secret: SECRET } }));
    await writeFile(at('short.json'), JSON.stringify({ k1: { secret: 'hush' } }));
    await writeFile(at('signing.json'), JSON.stringify(SIGNING));
    await writeFile(at('broken.json'), '{"keys":');
    await writeFile(at('swapped.json'), JSON.stringify({ k1: 'hush'.repeat(10) }));
    const fine = { ...QUEUES, ...CALLS, 'sqs-keys-file': at('keys.json') };
    const all = { ...fine, 'push-signing-file': at('signing.json') };
    const found = (flags: Readonly<Record<string, string>>) =>
      startFindings(configFrom(flagSources(flags)).config);
    assert.deepEqual(await found(all), [
      { what: 'sqs', found: QUEUES['sqs-request-queue-url'] },
      { what: 'push', found: 'https://shop.example/hf' },
    ]);
    const wrong: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
      [
        { 'sqs-keys-file': at('gone.json') },
        /sqs\.keysFile: .*gone\.json cannot be read \(ENOENT\)/,
      ],
      [{ 'sqs-keys-file': at('short.json') }, /32 bytes/],
      [{ 'sqs-keys-file': at('swapped.json') }, /sqs\.keys: key 1 must be .* got text/],
      [{ 'push-signing-file': at('swapped.json') }, /push\.signing must be .* hidden/],
      [
        { 'push-signing-file': at('broken.json') },
        /push\.signingFile: .*broken\.json is not valid JSON/,
      ],
      [
        { 'push-hosts': 'other.example' },
        /push\.endpoints: url: "shop\.example" is not an allowed host\. Add it to push\.hosts/,
      ],
      [
        { 'push-endpoints': '[{"url":"https://shop.example/","signing":{"k":"hush"}}]' },
        /Pass its path as signingFile/,
      ],
      [
        { 'push-endpoints': '[{"url":"http://shop.example/","pipelines":["order"]}]' },
        /must be https/,
      ],
      [
        { 'push-endpoints': '[{"url":"https://shop.example/","pipelnes":["order"]}]' },
        /"pipelnes".*Did you mean "pipelines"/,
      ],
    ];
    for (const [flags, sentence] of wrong) {
      const changes = (await found({ ...all, ...flags })).flatMap(({ change }) => change ?? []);
      assert.equal(changes.length, 1, String(sentence));
      assert.match(changes[0] ?? '', sentence);
      assert.doesNotMatch(changes[0] ?? '', /hush|FUNCTION-KEY/);
    }
    const { config } = configFrom(flagSources(all));
    const without = await startFindings(config, {
      sqs: () => Promise.reject(new Error('not installed')),
    });
    assert.match(without[0]?.change ?? '', /npm install @aws-sdk\/client-sqs/);
    const half = await found({ 'sqs-request-queue-url': QUEUES['sqs-request-queue-url'] });
    assert.match(
      half[0]?.change ?? '',
      /sqs\.poisonQueueUrl and sqs\.replyQueues and sqs\.keysFile/,
    );
    const bare = await found({ 'push-hosts': 'shop.example' });
    assert.match(bare[0]?.change ?? '', /without push\.endpoints/);
    const served = await holdfast(['serve', '--port', '0', '--push-hosts', 'shop.example'], {
      cwd,
    });
    assert.equal(served.code, 2);
    assert.match(served.problems, /^push: cannot be used\. .*without push\.endpoints/);
  }));

test('settings that are lists: words with commas or JSON; in a file, lists', () => {
  const hosts = (text: string) => configFrom(flagSources({ 'push-hosts': text })).config.push.hosts;
  assert.deepEqual(hosts('a.example, *.b.example'), ['a.example', '*.b.example']);
  assert.deepEqual(hosts('["a.example"]'), ['a.example']);
  assert.throws(() => hosts('["a.example"'), /--push-hosts is not valid JSON/);
  assert.throws(() => fileSource('f', { push: { hosts: 'a' } }), /f: push\.hosts must be a list/);
  assert.throws(
    () => fileSource('f', { push: { host: ['a'] } }),
    /"push\.host"\. Did you mean "push\.hosts"/,
  );
});
