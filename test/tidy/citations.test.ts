import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CitingPage, COLUMNS, citationProblems } from './citations.ts';
import { projectFiles } from './project-files.ts';

const PAGES = Object.keys(COLUMNS) as readonly CitingPage[];

test('every test name that docs/bugs.md and test/README.md quote exists', () => {
  const tests = projectFiles('contract/**/*.ts', 'test/**/*.ts', 'src/**/*.test.ts').filter(
    ({ path }) => !path.startsWith('test/tidy/'),
  );
  const problems = PAGES.flatMap((path) =>
    projectFiles(path).flatMap((page) => citationProblems({ ...page, path }, tests)),
  );
  assert.deepEqual(problems, []);
});

const REPORTED = 31;

test('every reported defect has a row in test/README.md, whose files exist', () => {
  const [{ text = '' } = {}] = projectFiles('test/README.md');
  const rows = [...text.matchAll(/^\| (\d+) \| .* \| (.*) \|$/gm)];
  assert.deepEqual(
    rows.map(([, number]) => Number(number)),
    Array.from({ length: REPORTED }, (_, nth) => nth + 1),
  );
  const cited = rows.flatMap(([, , tests = '']) => [...tests.matchAll(/`([\w./-]+\.ts)`/g)]);
  const paths = new Set(
    projectFiles('contract/**/*.ts', 'test/**/*.ts', 'src/**/*.test.ts').map(({ path }) => path),
  );
  const missing = cited
    .map(([, file = '']) => file)
    .filter((file) => !paths.has(file) && !paths.has(`test/${file}`));
  assert.deepEqual(missing, []);
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
