import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideOutcome, type RunFacts } from './outcome.ts';

const ended = (code: number | null, signal: NodeJS.Signals | null = null) =>
  ({ kind: 'ended', code, signal }) as const;

function codeAndExit(facts: Partial<RunFacts> & Pick<RunFacts, 'end'>): readonly unknown[] {
  const { code, exit } = decideOutcome({ isDrained: false, wasSignalled: false, ...facts });
  return [code, exit];
}

test('the end of the program decides code and exit', () => {
  assert.deepEqual(codeAndExit({ end: ended(0) }), [0, 'finished']);
  assert.deepEqual(codeAndExit({ end: ended(3) }), [3, 'failed']);
  assert.deepEqual(codeAndExit({ end: ended(null, 'SIGSEGV') }), [139, 'failed']);
});

test('only a program that ended with 0 after a request to stop has yielded', () => {
  for (const asked of [{ isDrained: true }, { wasSignalled: true }]) {
    assert.deepEqual(codeAndExit({ end: ended(0), ...asked })[1], 'yielded');
    assert.deepEqual(codeAndExit({ end: ended(3), ...asked })[1], 'failed');
    assert.deepEqual(codeAndExit({ end: ended(null, 'SIGTERM'), ...asked })[1], 'abandoned');
  }
  assert.equal(codeAndExit({ end: ended(0), isDrained: true })[0], 123);
  assert.equal(codeAndExit({ end: ended(0), wasSignalled: true })[0], 0);
});

test('a loss counts more than the end of the program', () => {
  assert.deepEqual(codeAndExit({ end: ended(0), lost: 'lapsed' }), [122, 'abandoned']);
  assert.deepEqual(codeAndExit({ end: { kind: 'killed' } }), [122, 'abandoned']);
  assert.deepEqual(codeAndExit({ end: ended(0), unsaved: 'too large' }), [125, 'abandoned']);
});
