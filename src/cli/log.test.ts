import assert from 'node:assert/strict';
import { test } from 'node:test';
import { described } from './log.ts';

test('a long message is cut, and no part of a secret is left at its end', () => {
  const at = 8_192 - 'Error: postgres://me:hus'.length;
  const text = described(
    new Error(`${'x'.repeat(at)} postgres://me:hush-hush@host and ${'y'.repeat(9_000)}`),
  );
  assert.ok(text.length <= 8_193 && text.endsWith('…'));
  assert.ok(!text.includes('hus'), text.slice(-50));
});
