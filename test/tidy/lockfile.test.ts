import assert from 'node:assert/strict';
import { test } from 'node:test';
import { registryLines } from './lockfile.ts';
import { readProjectFile } from './project-files.ts';

test('the lock file names no registry', () => {
  assert.deepEqual(registryLines(readProjectFile('package-lock.json')), []);
});

test('the rule bites', () => {
  assert.equal(registryLines('{\n  "resolved": "https://registry.example/pg.tgz"\n}').length, 1);
  assert.equal(registryLines('{ "resolved": "console", "link": true }').length, 0);
});
