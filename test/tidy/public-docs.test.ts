import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PublicExport, publicApi } from './public-api.ts';
import { documentationProblems } from './public-docs.ts';

test('every export of the package and every member of it has JSDoc', () => {
  const api = publicApi();
  assert.ok(api.length > 400, `the compiler found ${api.length} exports: are there so few?`);
  assert.deepEqual(documentationProblems(api), []);
});

test('the rule bites', () => {
  const documented = { place: 'src/a.ts:1', isDocumented: true, docs: 'Opens it.' };
  const open: PublicExport = {
    ...{ ...documented, entry: 'holdfast', name: 'open', isValue: true },
    ...{ sort: 'function', declaration: '', needsExample: false, members: [] },
  };
  const problems = (changes: Partial<PublicExport>) =>
    documentationProblems([{ ...open, ...changes }]);
  assert.deepEqual(problems({}), []);
  assert.deepEqual(problems({ isDocumented: false, docs: '' }), ['src/a.ts:1: open has no JSDoc']);
  assert.deepEqual(problems({ needsExample: true }), ['src/a.ts:1: open has no @example']);
  assert.deepEqual(problems({ docs: 'Opens it (A-3).' }), [
    'src/a.ts:1: open cites a rule of the specification',
  ]);
  const member = { name: 'open.key', place: 'src/a.ts:2', isDocumented: false, docs: '' };
  assert.deepEqual(problems({ members: [member] }), ['src/a.ts:2: open.key has no JSDoc']);
});
