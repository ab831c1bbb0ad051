import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CODE_GROUPS } from '../../src/support/codes/catalogue.ts';
import { codeProblems } from './codes.ts';
import { projectFiles } from './project-files.ts';

test('every stable code has one entry, and every entry has a code', () => {
  assert.deepEqual(codeProblems(projectFiles('src/**/*.ts'), CODE_GROUPS), []);
});

test('the state and the fix of an entry are sentences', () => {
  const entries = Object.values(CODE_GROUPS).flatMap((group) => Object.entries(group));
  for (const [code, { title, when, state, fix }] of entries) {
    for (const text of [when, state, fix]) assert.match(text, /^[A-Z`].*\.$/, code);
    assert.doesNotMatch(title, /\.$/, code);
  }
});

test('a code without an entry, an entry without a code and a second entry are found', () => {
  const groups = { Some: { held: {}, gone: {} }, More: { held: {} } };
  const text = "refuse('held'); fail({ category: 'permanent', code: 'new-code' });";
  const found = codeProblems([{ path: 'src/lease/lease.ts', text }], groups);
  assert.deepEqual(
    found.map((problem) => /[a-z-]+(?=:| has no entry)/.exec(problem.replace(/^src.*: /, ''))?.[0]),
    ['held', 'gone', 'new-code'],
  );
});
