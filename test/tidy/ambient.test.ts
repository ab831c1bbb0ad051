import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ambientUses } from './ambient.ts';
import { isTestFile, projectFiles } from './project-files.ts';

test('time, timers, randomness, environment, exit and console each have one home in src', () => {
  const sources = projectFiles('{src,contract}/**/*.ts').filter((file) => !isTestFile(file.path));
  assert.deepEqual(ambientUses(sources), []);
});

test('the rule bites', () => {
  const usesIn = (path: string, text: string) => ambientUses([{ path, text }]).length;
  const bad = [
    'const now = Date.now();',
    'const now = new Date(0);',
    'const tick = performance.now();',
    'setTimeout(f, 5);',
    "import { setTimeout as delay } from 'node:timers/promises';",
    'const id = randomUUID();',
    'const roll = Math.random();',
    'const level = process.env.LEVEL;',
    'process.exit(1);',
    'console.log(1);',
  ];
  for (const text of bad) {
    assert.ok(usesIn('src/engine/a.ts', text) > 0, text);
  }
  assert.equal(usesIn('src/engine/a.ts', "// Date.now() would be wrong\nlog('setTimeout');"), 0);
  assert.equal(usesIn('src/support/clock.ts', 'Date.now();'), 0);
  assert.equal(usesIn('src/cli/main.ts', 'console.log(1);'), 0);
});
