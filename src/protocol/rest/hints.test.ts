import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Hints } from './hints.ts';

test('who comes back learns whether anything changed, and not how much: that may be of other projects', () => {
  const listeners: (() => void)[] = [];
  const onRing = (listener: () => void): (() => void) => {
    listeners.push(listener);
    return () => undefined;
  };
  const hints = new Hints({ onRing }, 'life');
  const other = new Hints({ onRing }, 'life');
  const ring = (): void => {
    for (const each of listeners) each();
  };
  const ids = Array.from({ length: 12 }, () => {
    ring();
    assert.equal(hints.isBehind(hints.id), false);
    return hints.id;
  });
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(ids.slice(0, -1).every((id) => hints.isBehind(id) === true));
  assert.equal(hints.isBehind('of another life.7'), undefined);
  // The count is in none of them, and cannot be found by trying: the same count is told otherwise each time.
  for (const id of ids) assert.match(id, /^life\.[0-9a-f]{16}$/);
  assert.notEqual(other.id, hints.id);
});
