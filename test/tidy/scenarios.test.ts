// The scenarios of other test suites: each is listed once, and the tests that they cite exist.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SUITES } from '../peers/index.ts';
import { quotable } from './citations.ts';
import { readProjectFile } from './project-files.ts';

const ALL = SUITES.flatMap(({ scenarios }) => scenarios);

test('every scenario is listed once, and at least 240 of 276 can be written', () => {
  const names = SUITES.flatMap(({ id, scenarios }) => scenarios.map(({ peer }) => `${id} ${peer}`));
  assert.equal(new Set(names).size, 276);
  assert.equal(names.length, 276);
  const written = ALL.filter(({ kind }) => kind !== 'missing');
  assert.ok(written.length >= 240, `${written.length} can be written`);
});

test('every test that a scenario cites exists', () => {
  const cited = ALL.flatMap((scenario) => (scenario.kind === 'cited' ? scenario.by : []));
  const missing = cited.filter(({ file, name }) => !quotable(readProjectFile(file)).includes(name));
  assert.deepEqual(missing, []);
  assert.ok(ALL.every((scenario) => scenario.kind !== 'cited' || scenario.by.length > 0));
});
