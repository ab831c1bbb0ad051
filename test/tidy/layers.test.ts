import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layerOf, layerViolations } from './layers.ts';
import { isTestFile, projectFiles } from './project-files.ts';

test('imports in src follow the layers', () => {
  const sources = projectFiles('src/**/*.ts').filter((file) => !isTestFile(file.path));
  assert.deepEqual(layerViolations(sources), []);
});

test('the layer of a file is its folder, its parent folder’s shared layer, or the last word of a feature’s file', () => {
  assert.equal(layerOf('src/lease/heartbeat-loop.ts'), 'lease');
  assert.equal(layerOf('src/execution/decide/claim.ts'), 'execution');
  assert.equal(layerOf('src/store/codec.ts'), 'store/contract');
  assert.equal(layerOf('src/store/postgres/open.ts'), 'store/postgres');
  assert.equal(layerOf('src/index.ts'), 'index');
  assert.equal(layerOf('src/features/releases/contract-model.ts'), 'execution');
  assert.equal(layerOf('src/features/releases/routes.ts'), 'protocol/rest');
});

test('the rule bites', () => {
  const problemsOf = (path: string, text: string) => layerViolations([{ path, text }]);
  assert.deepEqual(problemsOf('src/lease/a.ts', "import { b } from '../support/b.ts';"), []);
  assert.deepEqual(problemsOf('src/store/postgres/a.ts', "import pg from 'pg';"), []);
  const bad: readonly (readonly [string, string])[] = [
    ['src/support/a.ts', "import { b } from '../lease/b.ts';"],
    ['src/lease/a.ts', "import type { b } from '../store/contract/b.ts';"],
    ['src/store/postgres/a.ts', "import {\n  b,\n} from '../sqlite/b.ts';"],
    ['src/store/sqlite/a.ts', "import { b } from '../../engine/b.ts';"],
    ['src/engine/run/a.ts', "import type { b } from '../worker/b.ts';"],
    ['src/engine/a.ts', "export { b } from '../store/postgres/b.ts';"],
    ['src/engine/a.ts', "const b = await import('../protocol/rest/b.ts');"],
    ['src/worker/a.ts', "import '../../test/services/postgres.ts';"],
    ['src/plugins/a.ts', ''],
    ['src/features/audit/helpers.ts', ''],
    ['src/features/audit/model.ts', "import { b } from './api.ts';"],
  ];
  for (const [path, text] of bad) {
    assert.equal(problemsOf(path, text).length, 1, `${path}: ${text}`);
  }
});
