import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importCycles } from './cycles.ts';
import { projectFiles } from './project-files.ts';

test('no files import each other in a ring', () => {
  assert.deepEqual(
    importCycles(projectFiles('{src,contract,test,scripts,bench,examples,console}/**/*.{ts,tsx}')),
    [],
  );
});

test('the rule bites', () => {
  const ring = (c: string) => [
    { path: 'src/a.ts', text: "import { b } from './b.ts';" },
    { path: 'src/b.ts', text: "export { c } from './c.ts';" },
    { path: 'src/c.ts', text: c },
  ];
  assert.deepEqual(importCycles(ring("import { a } from './a.ts';")), [
    'src/a.ts → src/b.ts → src/c.ts → src/a.ts',
  ]);
  assert.deepEqual(importCycles(ring("import type { a } from './a.ts';")), []);
});
