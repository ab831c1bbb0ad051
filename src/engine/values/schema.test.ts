import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { jsonSchemaOf, type Schema } from './schema.ts';

function schemaThat(input: () => unknown): Schema {
  const standard = { jsonSchema: { input } };
  return {
    '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }), ...standard },
  };
}

describe('the JSON Schema of a schema', () => {
  test('comes from its library', () => {
    const json = { type: 'object', properties: { a: { type: 'string' } } };
    assert.deepEqual(jsonSchemaOf(schemaThat(() => json)), json);
  });

  test('is left out if the library has none, without an error', () => {
    const { jsonSchema: _, ...plain } = schemaThat(() => 1)['~standard'] as never as {
      jsonSchema: unknown;
    };
    assert.equal(jsonSchemaOf({ '~standard': plain } as never), undefined);
    assert.equal(jsonSchemaOf(undefined), undefined);
    const ring: { self?: unknown } = {};
    ring.self = ring;
    const wrong = [undefined, null, 'text', 7n, ring, { long: 'x'.repeat(10_000) }];
    for (const each of wrong) assert.equal(jsonSchemaOf(schemaThat(() => each)), undefined);
    const throwing = schemaThat(() => {
      throw new Error('no transforms in JSON Schema');
    });
    assert.equal(jsonSchemaOf(throwing), undefined);
  });
});
