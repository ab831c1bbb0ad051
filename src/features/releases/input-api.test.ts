import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContractSchema } from './contract-model.ts';
import { misfitOf } from './input-api.ts';

const ORDER: ContractSchema = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    lines: { type: 'array', items: { $ref: '#/$defs/line' } },
    size: { enum: ['s', 'm', null] },
    pay: {
      oneOf: [
        { type: 'string', format: 'email' },
        { type: 'object', required: ['card'] },
      ],
    },
  },
  required: ['id'],
  additionalProperties: false,
  $defs: {
    line: { type: 'object', properties: { n: { type: ['number', 'null'] } }, required: ['n'] },
  },
};

test('an input that misses its schema is reported with the place and the reason', () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [[], 'it must be object; got object []'],
    [{}, '"id" is required'],
    [{ id: 1.5 }, '"id" must be integer; got number 1.5'],
    [{ id: 1, lines: [{ n: 1 }, { n: '2' }] }, '"lines[1].n" must be number or null; got "2"'],
    [{ id: 1, lines: [{}] }, '"lines[0].n" is required'],
    [{ id: 1, size: 'l' }, '"size" must be "s" or "m" or null; got "l"'],
    [{ id: 1, pay: 7 }, '"pay" must be string; got number 7'],
    [{ id: 1, more: 1 }, '"more" is unknown'],
  ];
  for (const [value, why] of cases) assert.equal(misfitOf(ORDER, value), why);
});

test('a value that may fit is accepted: the worker checks the rest', () => {
  const fits: readonly unknown[] = [
    { id: 1, lines: [{ n: null }], size: null, pay: 'not an address' },
    { id: 1, pay: { card: new Map() } },
    undefined,
    new Date(0),
  ];
  for (const value of fits) assert.equal(misfitOf(ORDER, value), undefined);
  const any = [true, { opaque: 'a library' }, { $ref: 'elsewhere' }, { not: {} }] as const;
  for (const schema of any) assert.equal(misfitOf(schema, { a: 1 }), undefined);
});

test('a schema that refers to itself without end is left to the worker', () => {
  const endless: ContractSchema = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } };
  assert.equal(misfitOf(endless, 1), undefined);
  const wide: ContractSchema = { allOf: [{ $ref: '#' }, { $ref: '#' }, { $ref: '#' }] };
  assert.equal(misfitOf(wide, 1), undefined);
});
