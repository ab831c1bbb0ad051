import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decisionProblems } from './decisions.ts';
import { projectFiles, projectPaths } from './project-files.ts';

test('every decision record cited exists, and their numbers have no gaps', () => {
  const files = projectFiles(
    '*.md',
    '{docs,src,test,scripts,bench,examples,console}/**/*.{md,ts,tsx,sql}',
  );
  const readable = files.filter((file) => !file.path.startsWith('test/tidy/'));
  assert.deepEqual(decisionProblems(projectPaths('docs/adr/*.md'), readable), []);
});

test('the rule bites', () => {
  const records = ['docs/adr/0001-a.md', 'docs/adr/0002-b.md'];
  const citing = (text: string) => [{ path: 'src/a.ts', text }];
  assert.deepEqual(
    decisionProblems(records, citing('// See ADR 0002 and docs/adr/0001-a.md.')),
    [],
  );
  assert.equal(decisionProblems(records, citing('// See ADR 0003.')).length, 1);
  assert.equal(decisionProblems(records, citing('[x](adr/0009-z.md)')).length, 1);
  assert.equal(decisionProblems([...records, 'docs/adr/0004-d.md'], []).length, 1);
  assert.equal(decisionProblems([...records, 'docs/adr/0002-c.md'], []).length, 1);
  assert.equal(decisionProblems(['docs/adr/0003-c.md'], []).length, 1);
});
