import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectFiles } from './project-files.ts';
import { conflictMarkers, leftoverNotes, sleepingTests } from './unfinished.ts';

test('no test is skipped, singled out or left to do', () => {
  assert.deepEqual(sleepingTests(projectFiles('{src,contract,test,console}/**/*.{ts,tsx}')), []);
});

test('no shipped file has leftover notes', () => {
  assert.deepEqual(
    leftoverNotes(projectFiles('{src,contract,scripts,examples,bench,console}/**/*.{ts,tsx,sql}')),
    [],
  );
});

test('no merge is left half done', () => {
  assert.deepEqual(conflictMarkers(projectFiles('**/*.{md,ts,tsx,sql,json}')), []);
});

test('the rules bite', () => {
  const file = (text: string) => [{ path: 'src/a.test.ts', text }];
  // Not tests but texts, each of which the rule must find.
  for (const text of ["test.skip('x', f);", "test.only('x', f);", "t.todo('later');"]) {
    assert.equal(sleepingTests(file(text)).length, 1, text);
  }
  assert.equal(sleepingTests(file("test('says .skip( in its title', f);")).length, 0);
  assert.equal(leftoverNotes(file('// TODO: later')).length, 1);
  assert.equal(conflictMarkers(file('a\n<<<<<<< HEAD\nb\n')).length, 1);
});
