import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidInput } from './fault.ts';
import { boundedText, rejectUnknownOptions, shown, wholeNumber } from './options.ts';

const known = ['file', 'policy', 'clock'];

test('known options pass, whatever their value', () => {
  rejectUnknownOptions('openStore', { file: 'a', clock: undefined }, known);
  rejectUnknownOptions('openStore', {}, known);
});

test('an unknown option is refused with the one that was probably meant', () => {
  assert.throws(
    () => rejectUnknownOptions('openStore', { polcy: {} }, known),
    /^InvalidInput: openStore: there is no option "polcy". Did you mean "policy"\?$/,
  );
});

test('an unknown option that is like no other is answered with the list', () => {
  assert.throws(
    () => rejectUnknownOptions('openStore', { temperature: 1 }, known),
    /Known options: file, policy, clock\./,
  );
});

test('a name that other libraries use is answered with the one it has here', () => {
  const known = ['url', 'pooler', 'ttlMs'];
  const says = (name: string, hint: RegExp): void =>
    assert.throws(() => rejectUnknownOptions('openStore', { [name]: 1 }, known), hint);
  says('connectionString', /Did you mean "url"\?/);
  says('ttl', /Did you mean "ttlMs"\?/);
  says('pool', /Known options: url, pooler, ttlMs\./);
  says('filename', /Known options/);
});

test('a whole number within its range passes, both ends included', () => {
  for (const value of [1, 2, 3]) {
    assert.equal(wholeNumber('limit', value, { min: 1, max: 3 }), value);
  }
});

test('anything else is refused by name', () => {
  const range = { min: 1, max: 3 };
  assert.throws(() => wholeNumber('limit', 0, range), /limit must be between 1 and 3; got 0/);
  assert.throws(() => wholeNumber('limit', 4, range), /limit must be between 1 and 3; got 4/);
  for (const value of ['2', 1.5, Number.NaN, 2 ** 60, null, undefined, 2n]) {
    assert.throws(() => wholeNumber('limit', value, range), /limit must be a whole number/);
  }
});

test('text is bounded in bytes of UTF-8, not in characters', () => {
  assert.equal(boundedText('name', 'éé', 4), 'éé');
  assert.throws(() => boundedText('name', 'éé', 3), /at most 3 bytes of UTF-8; got 4/);
  assert.throws(() => boundedText('name', '', 3), /must not be empty/);
  assert.throws(() => boundedText('name', 'a\0', 3), /NUL/);
  assert.throws(() => boundedText('name', '\udc00', 9), /surrogate/);
  assert.throws(() => boundedText('name', ['a'], 9), InvalidInput);
});

test('any value can be shown in a message', () => {
  const circular: { self?: object } = {};
  circular.self = circular;
  const values = ['a"b', 1, Number.NaN, 2n, true, null, undefined, { a: 1 }, circular, Symbol('s')];
  assert.deepEqual(values.map(shown), [
    '"a\\"b"',
    'number 1',
    'number NaN',
    '2',
    'true',
    'null',
    'undefined',
    'object {"a":1}',
    'object',
    'Symbol(s)',
  ]);
  assert.ok(shown({ long: 'x'.repeat(1_000) }).length < 200);
});
