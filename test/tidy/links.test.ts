import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { linkProblems } from './links.ts';
import { projectFiles } from './project-files.ts';

const ROOT = join(import.meta.dirname, '../..');

test('every relative link in a document leads somewhere', () => {
  const exists = (path: string) => existsSync(join(ROOT, path));
  assert.deepEqual(linkProblems({ documents: projectFiles('**/*.md'), exists }), []);
});

test('every file that the bug list cites exists', () => {
  const [bugs] = projectFiles('docs/bugs.md');
  const cited = [...(bugs?.text ?? '').matchAll(/`((?:src|test|contract)\/[\w/.-]+\.\w+)`/g)];
  assert.ok(cited.length > 100);
  assert.deepEqual(
    cited.flatMap(([, path = '']) => (existsSync(join(ROOT, path)) ? [] : [path])),
    [],
  );
});

test('the rule bites', () => {
  const guide = { path: 'docs/guide.md', text: '# Two Words\n\n## `Fence`, again\n' };
  const problemsOf = (text: string) => {
    const documents = [{ path: 'docs/a.md', text }, guide];
    const paths = ['docs/a.md', 'docs/guide.md', 'src/index.ts', 'docs'];
    return linkProblems({ documents, exists: (path) => paths.includes(path) }).length;
  };
  assert.equal(problemsOf('[a](guide.md) [b](../src/index.ts) [c](https://example.com/x)'), 0);
  assert.equal(problemsOf('[a](guide.md#two-words) [b](./guide.md#fence-again) [c](../docs/)'), 0);
  assert.equal(problemsOf('`[a](missing.md)`\n```\n[a](missing.md)\n```\n'), 0);
  assert.equal(problemsOf('[a](missing.md)'), 1);
  assert.equal(problemsOf('[a](guide.md#three)'), 1);
  assert.equal(problemsOf('[a](#here)'), 1);
  assert.equal(problemsOf('[a][b]\n\n[b]: missing.md\n'), 1);
});
