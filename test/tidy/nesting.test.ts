import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NESTING_MAX, nestingProblems } from './nesting.ts';
import { projectFiles } from './project-files.ts';

test('branches and loops stay shallow', () => {
  assert.deepEqual(
    nestingProblems(projectFiles('{src,test,scripts,bench,examples,console}/**/*.{ts,tsx}')),
    [],
  );
});

test('the rule bites', () => {
  const problemsOf = (text: string) => nestingProblems([{ path: 'src/a.ts', text }]).length;
  const nested = (depth: number, inner: string) =>
    `${'for (const a of b) {\n'.repeat(depth)}${inner}${'}\n'.repeat(depth)}`;
  assert.equal(problemsOf(`function f() {\n${nested(NESTING_MAX, '')}}\n`), 0);
  assert.equal(problemsOf(`function f() {\n${nested(NESTING_MAX + 1, '')}}\n`), 1);
  assert.equal(problemsOf(nested(NESTING_MAX, 'try {\n} catch {\n}\n')), 1);
  assert.equal(problemsOf(nested(NESTING_MAX, 'const g = () => {\nif (a) {\n}\n};\n')), 0);
  assert.equal(problemsOf(nested(NESTING_MAX, 'const shape = { key: { inner: 1 } };\n')), 0);
});
