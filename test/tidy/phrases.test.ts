import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bannedPhrases } from './phrases.ts';
import { projectFiles } from './project-files.ts';

const PAGES = '{README,ARCHITECTURE,CONTRIBUTING,CHANGELOG,SECURITY,docs/promises}.md';

test('core documents and specs have no banned phrase', () => {
  assert.deepEqual(bannedPhrases(projectFiles(PAGES, 'docs/{spec,reference}/*.md')), []);
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
