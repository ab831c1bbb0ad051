import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InvalidInput } from './fault.ts';
import {
  boundedText,
  integerOption,
  nearestName,
  readEntries,
  readList,
  readOptions,
  rejectUnknownOptions,
  requireMethods,
  shown,
} from './options.ts';

const known = ['file', 'policy', 'clock'];

test('known options pass, whatever their value', () => {
  rejectUnknownOptions('openStore', { file: 'a', clock: undefined }, known);
  rejectUnknownOptions('openStore', {}, known);
});

test('an unknown option is refused with the most similar one', () => {
  assert.throws(
    () => rejectUnknownOptions('openStore', { polcy: {} }, known),
    /^InvalidInput: openStore: there is no option "polcy". Did you mean "policy"\?$/,
  );
});

test('an unknown option without a similar one is refused with the list', () => {
  assert.throws(
    () => rejectUnknownOptions('openStore', { temperature: 1 }, known),
    /Known options: file, policy, clock\./,
  );
});

test('a name from another library is refused with the name used here', () => {
  const known = ['url', 'pooler', 'ttlMs'];
  const expectHint = (name: string, hint: RegExp): void =>
    assert.throws(() => rejectUnknownOptions('openStore', { [name]: 1 }, known), hint);
  expectHint('connectionString', /Did you mean "url"\?/);
  expectHint('ttl', /Did you mean "ttlMs"\?/);
  expectHint('pool', /Known options: url, pooler, ttlMs\./);
  expectHint('filename', /Known options/);
});

test('each option is read once, inherited ones too; undefined means not given', () => {
  let reads = 0;
  const options = {
    get file() {
      reads += 1;
      return `${reads}`;
    },
    policy: undefined,
  };
  assert.deepEqual(readOptions('openStore', options, known), { file: '1' });
  assert.equal(reads, 1);
  const inherited = Object.create({ file: 'above' }) as { file: string };
  assert.deepEqual(readOptions('openStore', inherited, known), { file: 'above' });
});

test('a value that is not an options object is refused, not read as empty', () => {
  for (const wrong of [[], new Map(), Promise.resolve({}), new Date(0), () => 1, 'a', null]) {
    assert.throws(
      () => readOptions('openStore', wrong as object, known),
      /^InvalidInput: openStore: options must be an object, such as \{ file: … \}/,
    );
  }
});

test('an option that throws when it is read is named, and keeps its cause', () => {
  const cause = new RangeError('not now');
  const options = {
    get policy() {
      throw cause;
    },
  };
  assert.throws(() => readOptions('openStore', options, known), {
    name: 'InvalidInput',
    message: 'openStore: policy cannot be read: not now.',
    cause,
  });
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  assert.throws(() => readOptions('openStore', proxy, known), /options cannot be read/);
  assert.throws(() => readList('list', proxy), /list cannot be read/);
  assert.throws(() => readEntries('entries', proxy), /entries cannot be read/);
  assert.throws(() => requireMethods('clock', proxy, ['now']), /clock cannot be read/);
});

test('a list is copied item by item', () => {
  const list = [1, 2];
  const copy = readList('list', list);
  list.push(3);
  assert.deepEqual(copy, [1, 2]);
  assert.throws(() => readList('list', new Set()), /list must be an array/);
});

test('an object without the needed methods is refused, and not shown', () => {
  requireMethods('clock', { now: () => 1 }, ['now']);
  assert.throws(() => requireMethods('codec', { secret: 'x' }, ['encode', 'decode']), {
    message:
      'codec must be an object with the functions encode and decode; got an object without them.',
  });
  assert.throws(() => requireMethods('codec', 'secret', ['encode']), /got string\.$/);
});

test('a whole number within its range passes, both ends included', () => {
  for (const value of [1, 2, 3]) {
    assert.equal(integerOption('limit', value, { min: 1, max: 3 }), value);
  }
});

test('any other number is refused by name', () => {
  const range = { min: 1, max: 3 };
  assert.throws(() => integerOption('limit', 0, range), /limit must be between 1 and 3; got 0/);
  assert.throws(() => integerOption('limit', 4, range), /limit must be between 1 and 3; got 4/);
  for (const value of ['2', 1.5, Number.NaN, 2 ** 60, null, undefined, 2n]) {
    assert.throws(() => integerOption('limit', value, range), /limit must be a whole number/);
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

const names = ['ttlMs', 'graceMs', 'metadata', 'parent'];

test('a misspelt name finds the right one', () => {
  assert.equal(nearestName('ttlms', names), 'ttlMs');
  assert.equal(nearestName('gracMs', names), 'graceMs');
  assert.equal(nearestName('metdaata', names), 'metadata');
  assert.equal(nearestName('PARENT', names), 'parent');
});

test('two swapped letters are one slip, not two', () => {
  assert.equal(nearestName('lsit', ['init', 'list']), 'list');
  assert.equal(nearestName('ab', ['cd', 'ba']), 'ba');
});

test('a name without a similar one finds nothing', () => {
  assert.equal(nearestName('temperature', names), undefined);
  assert.equal(nearestName('x', ['metadata']), undefined);
  assert.equal(nearestName('anything', []), undefined);
});

test('a name that is too long for a slip is not compared', () => {
  const long = 'x'.repeat(65);
  assert.equal(nearestName(long, [`${long}y`]), undefined);
});

test('the nearest of several similar names is taken', () => {
  assert.equal(nearestName('limits', ['limited', 'limit', 'lists']), 'limit');
});
