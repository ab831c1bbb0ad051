import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toJson } from './value.ts';

test('plain values become their JSON', () => {
  assert.equal(toJson('It', { a: [1, 'x', null, true], b: undefined }), '{"a":[1,"x",null,true]}');
  assert.equal(toJson('It', undefined), undefined);
  assert.equal(toJson('It', Object.assign(Object.create(null), { a: 1 })), '{"a":1}');
});

test('what would come back as something else is refused with its path', () => {
  class Money {
    readonly cents = 5;
  }
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [{ a: { b: [0, new Map()] } }, /value\.a\.b\[1\] is a Map/],
    [new Money(), /it is a Money/],
    [{ 'a b': Symbol('x') }, /value\["a b"\] is a symbol/],
    [Number.POSITIVE_INFINITY, /it is Infinity/],
    [[undefined], /value\[0\] is undefined/],
    [{ f: () => 1 }, /value\.f is a function/],
  ];
  for (const [value, message] of cases) assert.throws(() => toJson('The input', value), message);
});

test('a value that refers to itself is refused, not followed for ever', () => {
  const loop: Record<string, unknown> = {};
  loop['self'] = loop;
  assert.throws(() => toJson('It', loop), /value\.\w+ is a value that contains itself\./);
});

test('what JSON leaves out or rounds off is left out of the live value too, and only then is it copied', () => {
  const cases: readonly (readonly [unknown, unknown])[] = [
    [{ a: 1, b: undefined }, { a: 1 }],
    [-0, 0],
    [[[-0]], [[0]]],
    [Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ['a1'.match(/\d/), ['1']],
  ];
  for (const [value, expected] of cases) {
    const live = { value };
    toJson('It', value, live);
    assert.deepEqual(live.value, expected);
  }
  const whole = { a: [1, 'x', null, true, { b: 0 }] };
  const live = { value: whole };
  toJson('It', whole, live);
  assert.equal(live.value, whole);
  toJson('It', { b: undefined });
  toJson('It', whole, live);
  assert.equal(live.value, whole, 'what one value has does not matter to the next');
});

test('a value that throws when it is read is refused', () => {
  const throwing = {
    get total(): number {
      throw new RangeError('no total');
    },
  };
  assert.throws(() => toJson('It', { deep: [throwing] }), {
    name: 'InvalidInput',
    message: 'It cannot be stored: reading it threw: no total.',
  });
  const hidden = Object.defineProperty({}, 'toJSON', { value: () => undefined });
  assert.throws(() => toJson('It', hidden), /its toJSON gives nothing/);
});
