import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameProblems } from './names.ts';
import { projectPaths } from './project-files.ts';

test('files and folders have telling names in kebab-case', () => {
  const paths = projectPaths(
    '{src,contract,test,scripts,bench,examples,console,docs,api,proto}/**/*',
  );
  assert.deepEqual(nameProblems(paths), []);
});

test('no file is left over from a merge or an editor', () => {
  const problems = nameProblems(projectPaths('**/*'));
  assert.deepEqual(
    problems.filter((problem) => problem.includes('left-over')),
    [],
  );
});

test('the rule bites', () => {
  assert.deepEqual(
    nameProblems(['src/lease/heartbeat-loop.test.ts', 'docs/adr/0001-use-sql.md']),
    [],
  );
  assert.deepEqual(nameProblems(['examples/first/README.md', 'src/.gitkeep']), []);
  for (const path of ['src/a.ts.orig', 'README.md.rej', 'docs/a.md.bak', 'src/a.ts~']) {
    assert.match(nameProblems([path]).join(), /left-over/, path);
  }
  for (const path of ['src/utils.ts', 'src/lib/a.ts', 'src/LeaseQueue.ts', 'src/a_b.ts']) {
    assert.equal(nameProblems([path]).length, 1, path);
  }
});
