// Removes each kind of comparison once; a test of guards-etcd.test.ts must fail.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { isFullRun, sample } from '../services/tier.ts';
import { GUARDS } from './without-guard.ts';

const TESTS = join(import.meta.dirname, 'guards-etcd.test.ts');
const PRELOADED = join(import.meta.dirname, 'without-guard.ts');

/** The names of the tests that fail without this guard. */
async function failing(guard: string): Promise<readonly string[]> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const flags = ['--test', '--test-isolation=none', '--test-reporter=tap', '--import', PRELOADED];
  const child = spawn(process.execPath, [...flags, TESTS], {
    env: { ...env, HOLDFAST_WITHOUT_GUARD: guard },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await once(child, 'close');
  assert.match(output, /^# tests \d+/m, output);
  return [...output.matchAll(/^not ok \d+ - (.*)$/gm)].map(([, name]) => name ?? '');
}

if (isFullRun()) {
  test('with all guards every test passes', async () => {
    assert.deepEqual(await failing('none'), []);
  });
}

for (const guard of sample('mutants, etcd', Object.keys(GUARDS), 1)) {
  test(`without the guard "${guard}" a test fails`, async (t) => {
    const names = await failing(guard);
    assert.ok(names.length > 0);
    for (const name of names) t.diagnostic(name);
  });
}
