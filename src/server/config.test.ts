import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withoutSecrets } from '../support/hidden-options.ts';
import {
  configFrom,
  environmentSources,
  fileSource,
  flagSources,
  hidden,
  SETTINGS,
} from './config.ts';

const SECRET = 'hf_abcdefghijklmnop_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ';

describe('configuration', () => {
  test('flags win over the environment, which wins over the file, which wins over defaults', () => {
    const file = fileSource('holdfast.config.json', {
      port: 1,
      host: '::1',
      limits: { openMax: 7 },
    });
    const sources = [
      file,
      ...environmentSources({ HOLDFAST_PORT: '2', HOLDFAST_LOG_LEVEL: 'error' }),
      ...flagSources({ port: '3' }),
    ];
    const { config, settings } = configFrom(sources);
    assert.deepEqual(
      [config.port, config.host, config.limits.openMax, config.log.level, config.auth],
      [3, '::1', 7, 'error', 'keys'],
    );
    const from = (name: string) => settings.find((each) => each.name === name)?.from;
    assert.deepEqual(['port', 'log.level', 'limits.openMax', 'auth'].map(from), [
      '--port',
      'HOLDFAST_LOG_LEVEL',
      'holdfast.config.json',
      'default',
    ]);
  });

  test('a setting has one name in three spellings, and no two settings share one', () => {
    const { variable, flag } = SETTINGS.find(({ name }) => name === 'limits.bodyBytesMax') ?? {};
    assert.deepEqual([variable, flag], ['HOLDFAST_LIMITS_BODY_BYTES_MAX', 'limits-body-bytes-max']);
    assert.equal(new Set(SETTINGS.map((each) => each.variable)).size, SETTINGS.length);
    assert.equal(new Set(SETTINGS.map((each) => each.flag)).size, SETTINGS.length);
  });

  test('an unknown name is an error that suggests the nearest', () => {
    assert.throws(
      () => fileSource('f', { prot: 1 }),
      /f: there is no setting "prot". Did you mean "port"\?/,
    );
    assert.throws(
      () => fileSource('f', { limits: { openMx: 1 } }),
      /"limits.openMx". Did you mean "limits.openMax"\?/,
    );
    assert.throws(
      () => environmentSources({ HOLDFAST_PROT: '1' }),
      /Did you mean "HOLDFAST_PORT"\?/,
    );
    assert.deepEqual(environmentSources({ HOLDFAST_KEY: SECRET, HOLDFAST_URL: 'x' }), []);
  });

  test('an invalid value is an error that names the valid ones', () => {
    assert.throws(
      () => flagSources({ port: 'soon' }),
      /--port must be a whole number between 0 and 65535; got "soon"/,
    );
    assert.throws(
      () => flagSources({ auth: 'none' }),
      /--auth must be "keys" or "off"; got "none"/,
    );
    assert.throws(
      () => fileSource('f', { limits: 3 }),
      /f: limits must be an object; got number 3/,
    );
    assert.throws(() => fileSource('f', []), /f: The configuration must be an object/);
    assert.throws(
      () => flagSources({ 'postgres-direct-url': 'tcp://u:hush@h/d' }),
      (error: Error) => {
        assert.doesNotMatch(error.message, /hush/);
        return true;
      },
    );
  });

  test('variables that Kubernetes sets for a Service named holdfast are not taken for settings', () => {
    for (const variables of [
      { HOLDFAST_PORT: 'tcp://10.0.0.1:7433' },
      { HOLDFAST_SERVICE_HOST: '10.0.0.1' },
      { HOLDFAST_PORT_7433_TCP_ADDR: '10.0.0.1' },
    ]) {
      assert.throws(() => environmentSources(variables), /enableServiceLinks: false/);
    }
  });

  test('true and false are not text, unless the setting is text', () => {
    const trusts = (text: string) =>
      configFrom(flagSources({ 'trust-proxy': text })).config.trustProxy;
    assert.deepEqual(['true', 'false', '10.0.0.0/8'].map(trusts), [true, false, '10.0.0.0/8']);
  });

  test('secrets are left out of messages', () => {
    assert.equal(
      withoutSecrets(`postgres://me:a:b/c@d@host:5432/db?password=hush&x=1 and ${SECRET}.`),
      'postgres://me:…@host:5432/db?password=…&x=1 and hf_abcdefghijklmnop_….',
    );
  });

  test('secrets are left out in linear time, whatever a worker wrote', () => {
    const letters = 'a'.repeat(2 ** 21);
    const urls = 'a://b:'.repeat(2 ** 18);
    for (const text of [letters, urls, `${urls} @`]) assert.equal(withoutSecrets(text), text);
    assert.equal(withoutSecrets(`${urls}c@d`), 'a://b:…@d');
  });

  test('secrets in addresses of a store, of queues and of an archive are never shown', () => {
    const places = [
      ['store', 'postgres://me:very-secret and more@host/db'],
      ['store', 'postgres:me:very-secret@host/db'],
      ['store', 'Postgres://me:very/secret-very-secret@host/db'],
      ['archive.url', 'https://me:very-secret@storage.example/a'],
      ['archive.url', 'https://storage.example/a?signature=very-secret'],
      ['archive.url', '//me:very-secret@storage.example/a'],
      ['archive.accessKeyId', 'very-secret'],
      ['sqs.endpoint', 'https://me:very-secret@queues.example/'],
      ['sqs.requestQueueUrl', 'https://me:very-secret@queues.example/1/requests'],
      ['sqs.replyQueues', ['https://me:very-secret@queues.example/1/replies-*']],
      ['sqs.keysFile', '{ "k1": { "secret": "very-secret" } }'],
      ['push.signingFile', '{ "keys": { "k1": "very-secret" } }'],
      ['tls.keyFile', '-----BEGIN PRIVATE KEY-----\nvery-secret'],
      ['push.endpoints', [{ url: 'https://a.example/', signingFile: { keys: 'very-secret' } }]],
      ['push.endpoints', [{ url: 'https://a.example/', keys: { k1: 'very-secret' } }]],
      ['push.endpoints', [{ url: 'https://a.example/', project: { secret: 'very-secret' } }]],
    ] as const;
    for (const [name, value] of places) {
      assert.doesNotMatch(
        JSON.stringify(hidden(name, value)),
        /very-secret/,
        JSON.stringify(value),
      );
    }
    assert.equal(hidden('archive.url', 'https://storage.example/a'), 'https://storage.example/a');
    const endpoint = { url: 'https://a.example/', pipelines: ['p'], signingFile: 'keys.json' };
    assert.deepEqual(hidden('push.endpoints', [endpoint]), [endpoint]);
  });

  test('a value in place of a group is not shown', () => {
    for (const group of ['archive', 'sqs', 'push', 'postgres']) {
      for (const content of ['very-secret', [{ secretAccessKey: 'very-secret' }]]) {
        const wrong = (): unknown => fileSource('f', { [group]: content });
        assert.throws(wrong, ({ message }: Error) => !message.includes('very-secret'));
      }
    }
    assert.throws(() => fileSource('f', 'very-secret'), /got text, which is hidden/);
  });

  test('the secret of an archive is never shown', () => {
    const flags = flagSources({ 'archive-secret-access-key': 'very-secret' });
    const { config, settings } = configFrom(flags);
    assert.equal(config.archive.secretAccessKey, 'very-secret');
    const shown = settings.map(({ name, value }) => hidden(name, value));
    assert.ok(!shown.includes('very-secret'));
  });

  test('keys of endpoints and queues are never shown, in whatever place', () => {
    const url = 'https://shop.example/hf?code=very-secret';
    const flags = flagSources({ 'push-endpoints': JSON.stringify([{ url, pipelines: ['p'] }]) });
    const shown = configFrom(flags).settings.map(({ name, value }) => hidden(name, value));
    assert.match(JSON.stringify(shown), /shop\.example\/hf"/);
    assert.doesNotMatch(JSON.stringify(shown), /very-secret/);
    for (const text of [url, `["${url}"]`, `[{"url":"${url}"`, `{"url":"${url}"}`, `[{]${url}`]) {
      const wrong = (): unknown => configFrom(flagSources({ 'push-endpoints': text }));
      assert.throws(wrong, ({ message }: Error) => !message.includes('very-secret'), text);
    }
    for (const content of [{ push: { signingFile: [url] } }, { sqs: { keysFile: [url] } }]) {
      const wrong = (): unknown => fileSource('f', content);
      assert.throws(wrong, ({ message }: Error) => !message.includes('very-secret'));
    }
  });
});
