import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { subjectProblems } from './commits.ts';

/** Older subjects are from before the rule. */
const NEWEST = 20;

test('the newest commits have a subject with one area and an imperative', () => {
  const log = execFileSync('git', ['log', '--no-merges', `-${NEWEST}`, '--format=%s'], {
    cwd: import.meta.dirname,
    encoding: 'utf8',
  });
  assert.deepEqual(subjectProblems(log.trim().split('\n')), []);
});

test('a subject without an area, too long or not imperative is refused', () => {
  const good = ['server: close unused connections', 'cli: process one page', 'docs: feed search'];
  assert.deepEqual(subjectProblems(good), []);
  const bad = [
    'Close unused connections',
    'cli, server: name a command once',
    'server: closes unused connections',
    'server: closed unused connections',
    'server: closing unused connections',
    `server: ${'close '.repeat(12)}`,
  ];
  for (const subject of bad) assert.equal(subjectProblems([subject]).length, 1, subject);
});
