// Secrets in the wrong place: no message shows them. Keys that several projects share are reported.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { holdfast, inFolder } from './spawned.ts';

const SECRET = 'very-secret-0123456789-0123456789-0123456789';

test('errors in the configuration are printed without values that may be secrets', () =>
  inFolder(async (cwd) => {
    const contents = [
      SECRET,
      `{"archive":{"secretAccessKey":${SECRET}}}`,
      `{"archive":{"secretAccessKey":"${SECRET}" "bucket":"b"}}`,
      JSON.stringify({ archive: [{ secretAccessKey: SECRET }] }),
      JSON.stringify({ push: { endpoints: [{ url: 'https://a.example/', keys: SECRET }] } }),
    ];
    for (const content of contents) {
      await writeFile(join(cwd, 'c.json'), content);
      for (const words of [['doctor'], ['serve', '--print-config']]) {
        const { out, problems } = await holdfast([...words, '--config', 'c.json'], { cwd });
        assert.doesNotMatch(out + problems, /very-secr/, content);
      }
    }
    await writeFile(join(cwd, 'c.json'), '{\n  "port": 1\n  "host": "h"\n}');
    const ran = await holdfast(['doctor', '--config', 'c.json'], { cwd });
    assert.match(ran.out, /c\.json is not valid JSON \(line 3 column 3\)/);
    for (const words of [
      ['serve', '--print-config', '--archive-url', `https://me:${SECRET}@storage.example/`],
      ['serve', '--store', `mysql://me:${SECRET}@host/db`],
      ['doctor', '--store', `postgres:me:${SECRET}@host/db`],
      ['doctor', '--sqs-keys-file', `{"k1":{"secret":"${SECRET}"}}`],
      ['list', '--url', `http://me:${SECRET}@127.0.0.1:1/?key=${SECRET}`],
    ]) {
      const { out, problems } = await holdfast(words, { cwd });
      assert.doesNotMatch(out + problems, /very-secr/, words.join(' '));
    }
  }));

test('doctor: endpoints of several projects with the same keys are named', () =>
  inFolder(async (cwd) => {
    const signing = (secret: string): string =>
      JSON.stringify({ keys: { k1: secret }, current: 'k1' });
    await writeFile(join(cwd, 'shared.json'), signing(SECRET));
    await writeFile(join(cwd, 'same.json'), signing(SECRET));
    await writeFile(join(cwd, 'own.json'), signing(SECRET.toUpperCase()));
    const found = async (signingFile: string | undefined, project: string): Promise<string> => {
      const pipelines = ['p'];
      const endpoints = [
        { url: 'https://a.example/', pipelines, project: 'a' },
        { url: 'https://b.example/', pipelines, project, ...(signingFile && { signingFile }) },
      ];
      const push = { endpoints, hosts: ['*.example'], signingFile: 'shared.json' };
      await writeFile(join(cwd, 'c.json'), JSON.stringify({ push }));
      return (await holdfast(['doctor', '--config', 'c.json'], { cwd })).out;
    };
    const warns = /projects "a", "b" share signing keys/;
    assert.match(await found(undefined, 'b'), warns);
    assert.match(await found('same.json', 'b'), warns);
    assert.doesNotMatch(await found('own.json', 'b'), /share signing keys/);
    assert.doesNotMatch(await found(undefined, 'a'), /share signing keys/);
  }));
