import assert from 'node:assert/strict';
import { test } from 'node:test';
import { citationProblems } from './citations.ts';
import { projectFiles } from './project-files.ts';

test('every test name that docs/bugs.md quotes exists', () => {
  const tests = projectFiles('contract/**/*.ts', 'test/**/*.ts', 'src/**/*.test.ts').filter(
    ({ path }) => !path.startsWith('test/tidy/'),
  );
  const problems = projectFiles('docs/bugs.md').flatMap((page) => citationProblems(page, tests));
  assert.deepEqual(problems, []);
});

test('the rule bites', () => {
  const problems = (quoted: string): readonly string[] =>
    citationProblems({ path: 'docs/bugs.md', text: `| 1 | It broke. | a test | ${quoted} | x |` }, [
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a template in a source
      { path: 'a.test.ts', text: "test('A-5: a fence only grows'); test(`a ${verb} is refused`);" },
    ]);
  assert.deepEqual(problems('"A-5: a fence only grows"'), []);
  assert.deepEqual(problems('`a.test.ts`: "fence only", "a … is refused"'), []);
  assert.deepEqual(problems('"a fence shrinks"'), [
    'docs/bugs.md:1: no test is called "a fence shrinks"',
  ]);
});
