import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cyclesIn, importCycles } from './cycles.ts';
import { LAYERS } from './layers.ts';
import { projectFiles } from './project-files.ts';

test('no files import each other in a ring', () => {
  assert.deepEqual(
    importCycles(projectFiles('{src,contract,test,scripts,bench,examples,console}/**/*.{ts,tsx}')),
    [],
  );
});

test('layers import each other in no ring, types included', () => {
  // Another test checks that no file leaves this table, types included.
  assert.deepEqual(cyclesIn(new Map(Object.entries(LAYERS))), []);
});

test('the rule bites', () => {
  const cycle = (c: string) => [
    { path: 'src/a.ts', text: "import { b } from './b.ts';" },
    { path: 'src/b.ts', text: "export { c } from './c.ts';" },
    { path: 'src/c.ts', text: c },
  ];
  assert.deepEqual(importCycles(cycle("import { a } from './a.ts';")), [
    'src/a.ts → src/b.ts → src/c.ts → src/a.ts',
  ]);
  assert.deepEqual(importCycles(cycle("import type { a } from './a.ts';")), []);
});
