// No test file is missing from every tier.

import assert from 'node:assert/strict';
import { matchesGlob } from 'node:path';
import { test } from 'node:test';
import type { Plan } from '../../scripts/test/command-line.ts';
import { selectFiles } from '../../scripts/test/select-files.ts';
import { FAMILIES } from '../families.ts';
import { projectPaths } from './project-files.ts';

const PLAN: Plan = { tier: 'all', filters: [], without: [], seed: 0, part: { nth: 1, of: 1 } };

function select(plan: Partial<Plan>): readonly string[] {
  return selectFiles({ ...PLAN, ...plan }).files.toSorted();
}

test('every test file of the project is run by test:all, in one part of three', () => {
  const all = projectPaths('**/*.{test,spec}.{ts,mts,cts,tsx,js,mjs,cjs}');
  assert.deepEqual(select({}), all);
  const parts = [1, 2, 3].flatMap((nth) => select({ part: { nth, of: 3 } }));
  assert.deepEqual(parts.toSorted(), all);
});

test('a guard run begins with chaos, and then with the family that its seed chooses', () => {
  const others = FAMILIES.filter(({ isAlways }) => !isAlways).map(({ name }) => name);
  const runs = others.map((_, seed) => selectFiles({ ...PLAN, tier: 'guard', seed }).batches);
  assert.deepEqual(
    runs.map((batches) => batches.slice(0, 2).map(({ name }) => name)),
    others.map((name) => ['chaos', name]),
  );
});

test('the families of guard runs have every file that npm test leaves out', () => {
  const guard = new Set(select({ tier: 'guard' }));
  const inFamily = select({}).filter((path) => familiesOf(path).length > 0);
  assert.deepEqual([...guard].sort(), inFamily);
  const fullOnly = select({}).filter((path) => path.endsWith('.full.test.ts'));
  assert.deepEqual(
    fullOnly.filter((path) => !guard.has(path)),
    [],
  );
});

test('every glob of a family matches a file', () => {
  const all = select({});
  const globs = FAMILIES.flatMap(({ files }) => files);
  const dead = globs.filter((glob) => !all.some((path) => matchesGlob(path, glob)));
  assert.deepEqual(dead, []);
});

test('a path on the command line that matches no test file fails the run', () => {
  assert.throws(() => select({ filters: ['test/tidy', 'test/tydi'] }), /test\/tydi/);
});

function familiesOf(path: string) {
  return FAMILIES.filter(({ files }) => files.some((glob) => matchesGlob(path, glob)));
}
