import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { exportProblems } from './package-exports.ts';
import { readProjectFile } from './project-files.ts';

const ROOT = join(import.meta.dirname, '../..');

test('every path the package exports has its source', () => {
  const manifest = JSON.parse(readProjectFile('package.json'));
  assert.deepEqual(
    exportProblems(manifest, (path) => existsSync(join(ROOT, path))),
    [],
  );
});

test('the rule bites', () => {
  const manifest = {
    exports: {
      '.': { types: './dist/index.d.ts', default: './dist/index.js' },
      './package.json': './package.json',
    },
  };
  const has = (...paths: string[]) =>
    exportProblems(manifest, (path) => paths.includes(path)).length;
  assert.equal(has('src/index.ts', 'package.json'), 0);
  assert.equal(has('package.json'), 2);
});
