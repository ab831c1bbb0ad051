import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Continuations } from './history.ts';
import type { ExecutionId } from './names.ts';

const id = (n: number): ExecutionId => `${n}` as ExecutionId;

test('a circle of continuations is found, however long the way there and the circle are', () => {
  for (let before = 0; before < 12; before += 1) {
    for (let round = 1; round < 12; round += 1) {
      const continuations = new Continuations(id(0));
      const walk = (): void => {
        for (let n = 1; n < 100; n += 1) {
          continuations.step(id(n < before + round ? n : before + ((n - before) % round)));
        }
      };
      assert.throws(walk, { code: 'continued-in-circle' }, `${before} and ${round}`);
    }
  }
});

test('an endless chain without a circle is followed', () => {
  const continuations = new Continuations(id(0));
  for (let n = 1; n < 10_000; n += 1) assert.equal(continuations.step(id(n)), id(n));
});
