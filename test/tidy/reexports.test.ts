import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTestFile, projectFiles, readProjectFile } from './project-files.ts';
import { reexportProblems } from './reexports.ts';

test('only entry files of the package pass names on', () => {
  const sources = projectFiles('{src,contract}/**/*.ts').filter(({ path }) => !isTestFile(path));
  assert.deepEqual(reexportProblems(sources, JSON.parse(readProjectFile('package.json'))), []);
});

test('the rule bites', () => {
  const manifest = { exports: { '.': './dist/index.js' } };
  const text = "export type { Lease } from './lease.ts';\n";
  assert.equal(reexportProblems([{ path: 'src/index.ts', text }], manifest).length, 0);
  assert.equal(reexportProblems([{ path: 'src/lease/all.ts', text }], manifest).length, 1);
});
