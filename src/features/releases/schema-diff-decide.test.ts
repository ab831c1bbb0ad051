import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContractSchema } from './contract-model.ts';
import { diffSchemas } from './schema-diff-decide.ts';

const price: ContractSchema = {
  type: 'object',
  properties: { price: { type: 'integer', minimum: 0 }, note: { type: 'string' } },
  required: ['price'],
};

interface Row {
  readonly of: string;
  readonly before: ContractSchema;
  readonly after: ContractSchema;
  readonly changes: readonly string[];
}

const ROWS: readonly Row[] = [
  {
    of: 'the same in another order',
    before: { type: 'object', title: 'a' },
    after: { title: 'b', type: 'object' },
    changes: [],
  },
  { of: 'anything, then something', before: true, after: price, changes: [' narrower'] },
  { of: 'something, then anything', before: price, after: true, changes: [' wider'] },
  {
    of: 'another type',
    before: { type: 'string' },
    after: { type: 'boolean' },
    changes: [' narrower', ' wider'],
  },
  {
    of: 'one type more',
    before: { type: 'string' },
    after: { type: ['string', 'null'] },
    changes: [' wider'],
  },
  {
    of: 'a number instead of a whole one',
    before: { type: 'integer' },
    after: { type: 'number' },
    changes: [' wider'],
  },
  {
    of: 'a whole number instead of any',
    before: { type: 'number' },
    after: { type: 'integer' },
    changes: [' narrower'],
  },
  {
    of: 'one value more',
    before: { enum: ['a'] },
    after: { enum: ['a', 'b'] },
    changes: [' wider'],
  },
  {
    of: 'one value less',
    before: { enum: ['a', 'b'] },
    after: { const: 'a' },
    changes: [' narrower'],
  },
  { of: 'a higher least', before: { minimum: 1 }, after: { minimum: 2 }, changes: [' narrower'] },
  { of: 'a lower least', before: { minimum: 2 }, after: { minimum: 1 }, changes: [' wider'] },
  {
    of: 'a longest',
    before: { type: 'string' },
    after: { type: 'string', maxLength: 9 },
    changes: [' narrower'],
  },
  {
    of: 'a longer longest',
    before: { maxLength: 9 },
    after: { maxLength: 10 },
    changes: [' wider'],
  },
  {
    of: 'a new property that may be left out',
    before: { type: 'object' },
    after: { type: 'object', properties: { a: { type: 'string' } } },
    changes: ['.a narrower'],
  },
  {
    of: 'a property that must be there',
    before: price,
    after: { ...price, required: ['price', 'note'] },
    changes: ['.note narrower'],
  },
  {
    of: 'a property that need not be there',
    before: price,
    after: { ...price, required: [] },
    changes: ['.price wider'],
  },
  {
    of: 'deep inside',
    before: { items: price },
    after: {
      items: {
        ...price,
        properties: { price: { type: 'integer', minimum: 1 }, note: { type: 'string' } },
      },
    },
    changes: ['[].price narrower'],
  },
  {
    of: 'nothing but what is listed',
    before: price,
    after: { ...price, additionalProperties: false },
    changes: ['.* narrower'],
  },
  {
    of: 'a property goes where nothing else is allowed',
    before: { ...price, additionalProperties: false },
    after: {
      type: 'object',
      properties: { price: { type: 'integer', minimum: 0 } },
      required: ['price'],
      additionalProperties: false,
    },
    changes: ['.note narrower'],
  },
  {
    of: 'a variant more',
    before: { anyOf: [{ type: 'string' }] },
    after: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    changes: [' wider'],
  },
  {
    of: 'a variant less',
    before: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    after: { anyOf: [{ type: 'null' }] },
    changes: [' narrower'],
  },
  { of: 'a pattern', before: { pattern: 'a' }, after: { pattern: 'b' }, changes: [' changed'] },
  {
    of: 'a library that does not say',
    before: { opaque: 'x' },
    after: { opaque: 'y' },
    changes: [' changed'],
  },
];

for (const { of, before, after, changes } of ROWS) {
  test(`schemas: ${of}`, () => {
    const found = diffSchemas(before, after).map(({ path, effect }) => `${path} ${effect}`);
    assert.deepEqual(found, changes);
  });
}

test('what is no schema is a change, whatever it is called, and nothing is thrown', () => {
  for (const odd of [null, 5, 'x', [], [null]]) {
    const [change] = diffSchemas({ properties: { a: odd } } as never, { properties: { a: {} } });
    assert.deepEqual([change?.path, change?.effect], ['.a', 'changed'], JSON.stringify(odd));
  }
  const named = JSON.parse(
    '{"properties":{"constructor":{"type":"string"},"__proto__":{"type":"string"}}}',
  );
  const found = diffSchemas({ properties: {} }, named);
  assert.deepEqual(
    found.map(({ path, what }) => [path, what]),
    ['.__proto__', '.constructor'].map((path) => [
      path,
      'could be anything before, or left out; if it is there now, it must be string',
    ]),
  );
  diffSchemas(
    { type: [{}], required: [1], enum: [{}], minimum: {} } as never,
    { required: {} } as never,
  );
});

test('schemas that are compared with each other over and over are compared so far, and that is said', () => {
  const of = (letter: string, schema: object): object =>
    Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`${letter}${n}`, schema]));
  const before = { properties: of('a', {}) };
  const after = { additionalProperties: { properties: of('b', { type: 'string' }) } };
  const found = diffSchemas(before as never, after as never);
  assert.ok(found.length <= 10_001, `${found.length} changes`);
  assert.match(found.at(-1)?.what ?? '', /the rest was not/);
});
