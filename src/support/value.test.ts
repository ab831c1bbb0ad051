import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromParsed, toText, viewOf } from './value.ts';

function jsonOf(value: unknown): string | undefined {
  return toText('It', value)?.json;
}

test('plain values become their JSON, without tags', () => {
  const plain = { a: [1, 'x', null, true], b: undefined, $c: { $date: 1 } };
  assert.deepEqual(toText('It', plain), {
    json: '{"a":[1,"x",null,true],"$c":{"$date":1}}',
    tagged: false,
  });
  assert.equal(toText('It', undefined), undefined);
  assert.equal(jsonOf(Object.assign(Object.create(null), { a: 1 })), '{"a":1}');
});

test('X-48: values beyond JSON are tagged, and data that looks like a tag is not taken for one', () => {
  const value = { at: new Date(0), n: 1n, odd: { $date: 'x' } };
  const { json, tagged } = toText('It', value) ?? { json: '', tagged: false };
  assert.equal(
    json,
    '{"at":{"$date":"1970-01-01T00:00:00.000Z"},"n":{"$bigint":"1"},"odd":{"$object":{"$date":"x"}}}',
  );
  assert.deepStrictEqual(fromParsed(JSON.parse(json), tagged), value);
  assert.deepEqual(fromParsed({ $date: 'x' }, undefined), { $date: 'x' });
});

test('X-48, X-89: an unknown or malformed tag is a fault, not a guess', () => {
  const bad = [{ $url: 'x' }, { $bigint: 'x' }, { $map: 7 }, { $bytes: ['Float64Array', 'AA=='] }];
  for (const each of [...bad, { $bytes: ['Function', ''] }, { $set: null }, { $map: [1] }]) {
    assert.throws(() => fromParsed([each], true), { code: 'codec-refused' });
  }
});

test('for readers without tags, a value is the nearest JSON', () => {
  const value = {
    at: new Date(0),
    n: 10n,
    map: new Map([[new Date(0), undefined]]),
    set: new Set([1]),
    bytes: new Uint8Array([255]),
    gone: undefined,
  };
  assert.deepEqual(viewOf(value), {
    at: '1970-01-01T00:00:00.000Z',
    n: '10',
    map: [['1970-01-01T00:00:00.000Z', null]],
    set: [1],
    bytes: '/w==',
  });
});

test('a value that would be read back as something else is refused with its path', () => {
  class Money {
    readonly cents = 5;
  }
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [{ a: { b: [0, new WeakMap()] } }, /value\.a\.b\[1\] is a WeakMap/],
    [new (class Prices extends Map {})(), /it is a Prices/],
    [new Money(), /it is a Money/],
    [{ 'a b': Symbol('x') }, /value\["a b"\] is a symbol/],
    [Number.POSITIVE_INFINITY, /it is Infinity/],
    [{ f: () => 1 }, /value\.f is a function/],
  ];
  for (const [value, message] of cases) assert.throws(() => toText('The input', value), message);
});

test('a value that refers to itself is refused with the place, not followed for ever', () => {
  const loop: Record<string, unknown> = { a: 1 };
  loop['items'] = [new Map([['back', loop]])];
  assert.throws(() => toText('It', { loop }), {
    message:
      'It cannot be stored: value.loop.items[0].back is a value that contains itself. Store a copy without the cycle, or an id.',
  });
  let deep: unknown = 1;
  for (let depth = 0; depth < 300; depth += 1) deep = [deep];
  assert.throws(() => toText('It', deep), /it is nested more than 200 deep/);
});

test('values that JSON drops or rounds are changed in the live value too, which is copied only then', () => {
  const cases: readonly (readonly [unknown, unknown])[] = [
    [{ a: 1, b: undefined }, { a: 1 }],
    [-0, 0],
    [[[-0]], [[0]]],
    [Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ['a1'.match(/\d/), ['1']],
  ];
  for (const [value, expected] of cases) {
    const live = { value };
    toText('It', value, live);
    assert.deepEqual(live.value, expected);
  }
  const whole = { a: [1, 'x', null, true, { b: 0 }] };
  const live = { value: whole };
  toText('It', whole, live);
  assert.equal(live.value, whole);
  toText('It', { b: undefined });
  toText('It', whole, live);
  assert.equal(live.value, whole, 'one value does not affect the next');
});

test('a value that throws when it is read is refused', () => {
  const throwing = {
    get total(): number {
      throw new RangeError('no total');
    },
  };
  assert.throws(() => toText('It', { deep: [throwing] }), {
    name: 'InvalidInput',
    message: 'It cannot be stored: reading it threw: no total.',
  });
  const hidden = Object.defineProperty({}, 'toJSON', { value: () => undefined });
  assert.throws(() => toText('It', hidden), /its toJSON returns nothing/);
});
