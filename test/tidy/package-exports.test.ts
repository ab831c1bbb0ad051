import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { exportProblems, type Manifest, sourceOf } from './package-exports.ts';
import { readProjectFile } from './project-files.ts';

const ROOT = join(import.meta.dirname, '../..');

test('every path the package exports has its source', () => {
  const manifest = JSON.parse(readProjectFile('package.json'));
  assert.deepEqual(
    exportProblems(manifest, (path) => existsSync(join(ROOT, path))),
    [],
  );
});

test('the compiler finds each entry point of the package in its source', () => {
  const { exports } = JSON.parse(readProjectFile('package.json')) as Manifest;
  const { compilerOptions } = JSON.parse(readProjectFile('tsconfig.json')) as {
    readonly compilerOptions: { readonly paths: object };
  };
  const entries = Object.entries(exports).flatMap(([subpath, target]) =>
    typeof target === 'string'
      ? []
      : [[`holdfast${subpath.slice(1)}`, [`./${sourceOf(target['default'] ?? '')}`]]],
  );
  assert.deepEqual(compilerOptions.paths, Object.fromEntries(entries));
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
