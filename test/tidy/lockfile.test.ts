import assert from 'node:assert/strict';
import { test } from 'node:test';
import { registryLines, unverified } from './lockfile.ts';
import { readProjectFile } from './project-files.ts';

const LOCK_FILES = ['package-lock.json', 'bench/peers/package-lock.json'].map(readProjectFile);

test('the lock files name no registry', () => {
  assert.deepEqual(LOCK_FILES.flatMap(registryLines), []);
});

test('every locked package has an integrity hash', () => {
  assert.deepEqual(LOCK_FILES.flatMap(unverified), []);
  const packages = {
    '': {},
    'node_modules/console': { link: true },
    'node_modules/pg': { version: '8.0.0' },
    'node_modules/a/node_modules/b': { integrity: 'sha1-x' },
  };
  assert.equal(unverified(JSON.stringify({ packages })).length, 2);
});

test('the rule bites', () => {
  assert.equal(registryLines('{\n  "resolved": "https://registry.example/pg.tgz"\n}').length, 1);
  assert.equal(registryLines('{ "resolved": "console", "link": true }').length, 0);
});
