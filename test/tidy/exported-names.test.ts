import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SHARED_NAMES, sharedNames } from './exported-names.ts';
import { isTestFile, projectFiles } from './project-files.ts';

test('an exported name has one meaning', () => {
  const sources = projectFiles('src/**/*.ts').filter(({ path }) => !isTestFile(path));
  assert.deepEqual(sharedNames(sources, SHARED_NAMES), []);
});

test('the rule bites', () => {
  const files = (...paths: readonly string[]) =>
    paths.map((path) => ({ path, text: 'export interface Line {}\nexport const NO_LINE = {};' }));
  const problems = (paths: string) => [
    `Line is exported by ${paths}: rename all but one`,
    `NO_LINE is exported by ${paths}: rename all but one`,
  ];
  assert.deepEqual(sharedNames(files('src/a.ts'), {}), []);
  assert.deepEqual(sharedNames(files('src/a.ts', 'src/b.ts'), {}), problems('src/a.ts, src/b.ts'));
  assert.deepEqual(sharedNames(files('src/store/etcd/a.ts', 'src/store/redis/b.ts'), {}), []);
  const twice = ['src/store/etcd/a.ts', 'src/store/etcd/b.ts'];
  assert.deepEqual(sharedNames(files(...twice), {}), problems(twice.join(', ')));
  assert.deepEqual(sharedNames(files('src/a.ts'), { Line: 'why' }), [
    'Line has one meaning now: take it off the list',
  ]);
});
