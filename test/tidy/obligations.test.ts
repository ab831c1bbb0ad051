import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withObligations } from '../../scripts/obligations/figures.ts';
import { obligationProblems, obligations, readCovered } from '../../scripts/obligations/rows.ts';
import { readProjectFile } from './project-files.ts';

const rows = obligations();

test('each rule, transition, crash point and race of the specs has a test, or is a known gap', () => {
  assert.deepEqual(obligationProblems(rows), [], 'see npm run obligations');
});

test('docs/verification.md has the figures of the obligations', () => {
  const document = readProjectFile('docs/verification.md');
  assert.equal(withObligations(document, rows), document, 'run npm run obligations -- --write');
});

test('the rule bites', () => {
  const covered = readCovered();
  const [first = ''] = Object.keys(covered.tests);
  const { [first]: _, ...tests } = covered.tests;
  const without = { ...covered, tests };
  assert.notDeepEqual(obligationProblems(obligations(without), without), []);
  const wrong = { ...covered, tests: { ...covered.tests, [first]: `no such ${'test'}` } };
  assert.deepEqual(obligationProblems(rows, wrong), [
    `"${first}": no test is called "no such test"`,
  ]);
  const stale = { ...covered, knownGaps: [...covered.knownGaps, 'lock of nothing'] };
  assert.deepEqual(obligationProblems(rows, stale), [
    '"lock of nothing" of covered.json is no obligation',
  ]);
});
