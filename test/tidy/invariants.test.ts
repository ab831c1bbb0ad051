import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invariantProblems } from './invariants.ts';
import { isTestFile, projectFiles } from './project-files.ts';

test('every cited invariant is defined once, briefly, and a test names it', () => {
  const sources = projectFiles('{src,contract}/**/*.{ts,sql}').filter(
    (file) => !isTestFile(file.path),
  );
  // The samples of these tests are not tests of invariants.
  const tests = projectFiles('contract/**/*.ts', 'src/**/*.test.ts', 'test/**/*.ts').filter(
    (file) => !file.path.startsWith('test/tidy/'),
  );
  assert.deepEqual(
    invariantProblems({ spec: projectFiles('docs/spec/**/*.md'), sources, tests }),
    [],
  );
});

test('the rule bites', () => {
  const problems = (spec: string, source: string, tested: string) =>
    invariantProblems({
      spec: [{ path: 'docs/spec/lease.md', text: spec }],
      sources: [{ path: 'src/lease/a.ts', text: source }],
      tests: [{ path: 'src/lease/a.test.ts', text: tested }],
    });
  const spec = '# Leases\n\n- **A-5** A fence only grows.\n';
  const tested = "test('A-5: a fence only grows', f);";
  assert.deepEqual(problems(spec, '// Upholds A-5.\n', tested), []);
  assert.deepEqual(problems('## A-5 Fences\n\nThey grow.\n', '', tested), []);
  assert.deepEqual(problems('**A-5** Disks work. (no case: it is a premise)', '', ''), []);
  assert.deepEqual(problems(spec, "const text = 'ids such as B-9';", tested), []);
  assert.deepEqual(problems(spec, '// Bytes are UTF-8.\n', tested), []);
  assert.equal(problems(spec, '// Upholds B-9.\n', tested).length, 1);
  assert.equal(problems(spec, 'query(`select 1 -- upholds B-9\n`);', tested).length, 1);
  assert.equal(problems(spec, '', '// A-5 in a comment is no test\n').length, 1);
  assert.equal(problems('**A-5** One.\n**A-6** Two. (no case: x)\n', '', '').length, 1);
  assert.deepEqual(problems('**A-5** One.\n\n**A-5** Another.\n', '', tested), [
    'docs/spec/lease.md:3: defines A-5 again, after docs/spec/lease.md:1',
  ]);
  const words = (count: number): string => 'word '.repeat(count);
  const ofSixty = `**A-5** ${words(58)}[two words](far/away.md). (no case: ${words(9)})\n`;
  assert.deepEqual(problems(`${ofSixty}\n${words(99)}`, '', ''), []);
  assert.deepEqual(problems(`**A-5** ${words(61)}`, '', tested), [
    'docs/spec/lease.md:1: A-5 has 61 words, more than 60: split it, or explain it below the rule',
  ]);
});
