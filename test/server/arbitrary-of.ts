// Values that a schema allows, mostly, and spoilt ones: requests that callers send by mistake or on
// purpose.

import fc from 'fast-check';
import type { TSchema } from 'typebox';

interface Shape {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly TSchema[];
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly items?: TSchema;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Existing ids: without them most requests would only find nothing. */
export type Known = readonly string[];

const ODD: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[
      null,
      '',
      ' ',
      '\0',
      'a\0b',
      '\ud800',
      '../../etc/passwd',
      '{"__proto__":{}}',
      'constructor',
    ],
    ...[-1, 0, 1.5, 1e308, 2 ** 53, -(2 ** 63), '9'.repeat(400), 'x'.repeat(5_000)],
    ...[true, [], {}, [[[[]]]], { $ref: '#' }, { toString: 1 }, ['a', 1, null]],
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

export function arbitraryOf(schema: TSchema | undefined, known: Known): fc.Arbitrary<unknown> {
  if (schema === undefined) return fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, ODD);
  return fc.oneof(
    { weight: 6, arbitrary: fitting(schema as Shape, known) },
    { weight: 1, arbitrary: ODD },
  );
}

function fitting(schema: Shape, known: Known): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.anyOf !== undefined) {
    return fc.oneof(...schema.anyOf.map((each) => arbitraryOf(each, known)));
  }
  switch (schema.type) {
    case 'object':
      return objectOf(schema, known);
    case 'array':
      return fc.array(arbitraryOf(schema.items, known), { maxLength: 3 });
    case 'string':
      return fc.oneof(fc.constantFrom(...known, '{"v":1}', 'name', 'a b'), fc.string());
    case 'integer':
    case 'number':
      return fc.oneof(
        fc.constantFrom(schema.minimum ?? 0, schema.maximum ?? 1),
        fc.integer({ min: 0, max: 50 }),
      );
    case 'boolean':
      return fc.boolean();
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function objectOf(schema: Shape, known: Known): fc.Arbitrary<unknown> {
  const { properties = {}, required = [] } = schema;
  const fields = Object.entries(properties).map(
    ([name, each]) => [name, arbitraryOf(each, known)] as const,
  );
  const record = fc.record(Object.fromEntries(fields), { requiredKeys: [...required] });
  const extra = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), ODD, { maxKeys: 2 });
  return fc.oneof(
    { weight: 6, arbitrary: record },
    { weight: 1, arbitrary: fc.tuple(record, extra).map(([a, b]) => ({ ...a, ...b })) },
  );
}
