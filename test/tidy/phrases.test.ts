import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bannedInTestNames, bannedOnPages, bannedPhrases } from './phrases.ts';
import { projectFiles } from './project-files.ts';

const PAGES = '{README,ARCHITECTURE,CONTRIBUTING,CHANGELOG,SECURITY,docs/promises}.md';

test('core documents and specs have no banned phrase', () => {
  assert.deepEqual(bannedPhrases(projectFiles(PAGES, 'docs/{spec,reference}/*.md')), []);
});

test('names of tests and contract cases have no banned phrase', () => {
  const files = projectFiles('{contract,test}/**/*.ts', 'src/**/*.test.ts');
  assert.deepEqual(
    bannedInTestNames(files.filter(({ path }) => !path.startsWith('test/tidy/'))),
    [],
  );
});

test('the pages of the console show no banned phrase', () => {
  assert.deepEqual(bannedOnPages(projectFiles('console/src/**/*.{ts,tsx}')), []);
});

test('a text of a page with a banned phrase is found, in a string and in markup', () => {
  const found = (text: string) => bannedOnPages([{ path: 'a.tsx', text }]).length;
  assert.equal(found("const about = 'Nothing waits that nobody wants.';"), 1);
  assert.equal(found('<p>The store refuses, and nobody may enter.</p>'), 1);
  assert.equal(found('<p>\n  Who writes late is refused by the store.\n</p>'), 1);
  assert.equal(found('<p>The store refuses a late write.</p>'), 0);
});

test('a test name with a banned phrase is found, with or without rules', () => {
  const found = (text: string) => bannedInTestNames([{ path: 'a.test.ts', text }]).length;
  assert.equal(found("test('A-5: what is older than the newest fence is refused', f);"), 1);
  assert.equal(found("{ name: 'a key that nobody holds is free' }"), 1);
  assert.equal(found("test('A-5: an older fence is refused', f);"), 0);
});

test('a sentence with a banned phrase is found, a question is not', () => {
  const found = (text: string) => bannedPhrases([{ path: 'a.md', text }]).length;
  assert.equal(found('What is larger goes through the store.'), 1);
  assert.equal(found('The store refuses, and nobody may enter.'), 1);
  assert.equal(found('The client is told of the end.'), 1);
  assert.equal(found('It waits 30 s unless said otherwise.'), 1);
  assert.equal(found('Who may call this? Any key with the role `work`.'), 0);
  assert.equal(found('That is why the store checks the fence.'), 0);
});
