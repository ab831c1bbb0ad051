import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bannedNames } from './plain-names.ts';
import { projectFiles } from './project-files.ts';

const FILES = '{src,contract,console/src,test,bench,scripts,examples}/**/*.{ts,tsx}';

test('names of identifiers and files are plain words', () => {
  const files = projectFiles(FILES).filter(({ path }) => path !== 'test/tidy/plain-names.ts');
  assert.deepEqual(bannedNames(files), []);
});

test('a banned word is found in every part of a name, with the word to use instead', () => {
  const found = (text: string, path = 'src/a.ts') => bannedNames([{ path, text }]);
  assert.deepEqual(found('const toldRows = 1;'), [
    'src/a.ts:1: "told" in toldRows: use deliver, report, notify or print',
  ]);
  for (const name of ['ToldClaims', 'UNTOLD_MAX', 'isSaid', 'letGoOf', '#heard', 'lookAtStore']) {
    assert.equal(found(`class A { ${name}; }`).length, 1, name);
  }
  assert.equal(found('', 'src/store/call-desk.ts').length, 2, 'a file name');
  assert.deepEqual(found('const outlet = lookUp(golden, essay);'), [], 'parts of other words');
  assert.deepEqual(found("// It is told.\nconst text = 'said';"), [], 'comments and strings');
  assert.equal(found('row.news').length, 1);
  assert.deepEqual(found('row.news', 'src/store/rows.ts'), [], 'a column');
});
