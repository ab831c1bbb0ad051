import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectFiles } from './project-files.ts';
import { sizeProblems } from './sizes.ts';

test('files and functions stay within the limits', () => {
  const files = projectFiles('{src,test,scripts,bench,examples,console}/**/*.{ts,tsx}');
  assert.deepEqual(sizeProblems(files), []);
});

test('the rule bites', () => {
  const problemsOf = (path: string, text: string, allowed = {}) =>
    sizeProblems([{ path, text }], allowed).length;
  const lines = (count: number, line: string) => `${line}\n`.repeat(count);
  assert.equal(problemsOf('src/lease/a.ts', lines(400, '//')), 0);
  assert.equal(problemsOf('src/lease/a.ts', lines(401, '//')), 1);
  assert.equal(problemsOf('src/lease/a.test.ts', lines(600, '//')), 0);
  assert.equal(problemsOf('src/lease/a.test.ts', lines(601, '//')), 1);
  assert.equal(problemsOf('src/store/memory/renew-lease.ts', lines(151, '//')), 1);
  assert.equal(problemsOf('src/store/memory/executions/claim.ts', lines(151, '//')), 1);
  assert.equal(problemsOf('src/store/memory/executions/state.ts', lines(151, '//')), 0);
  assert.equal(problemsOf('src/lease/a.ts', `function f() {\n${lines(69, '  f();')}}\n`), 1);
  assert.equal(
    problemsOf('src/lease/a.test.ts', `describe('', () => {\n${lines(69, '  //')}});`),
    0,
  );
});

test('an exemption lasts only as long as it is needed', () => {
  const allowed = { 'src/a.ts': 'a table that reads best in one piece' };
  const file = (count: number) => [{ path: 'src/a.ts', text: '//\n'.repeat(count) }];
  assert.equal(sizeProblems(file(500), allowed).length, 0);
  assert.equal(sizeProblems(file(10), allowed).length, 1);
  assert.equal(sizeProblems([], allowed).length, 1);
});
