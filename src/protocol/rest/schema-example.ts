// Example values for the description of the API. A schema carries its own `examples`; an object
// without one is composed of its required properties. A test checks each example against its schema.

import type { TSchema } from 'typebox';

interface Shape {
  readonly examples?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly TSchema[];
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly type?: string;
  readonly minimum?: number;
}

export function exampleOf(schema: TSchema): unknown {
  const shape = schema as Shape;
  const [first] = shape.examples ?? [];
  if (first !== undefined) return first;
  if (shape.const !== undefined) return shape.const;
  if (shape.default !== undefined) return shape.default;
  if (shape.enum !== undefined) return shape.enum[0];
  const [form] = shape.anyOf ?? [];
  return form === undefined ? exampleOfType(shape) : exampleOf(form);
}

function exampleOfType(shape: Shape): unknown {
  switch (shape.type) {
    case 'object':
      return exampleOfObject(shape);
    case 'array':
      return shape.items === undefined ? [] : [exampleOf(shape.items)];
    case 'integer':
    case 'number':
      return shape.minimum ?? 0;
    case 'boolean':
      return false;
    case 'string':
      return 'text';
    default:
      return null;
  }
}

function exampleOfObject({ properties = {}, required = [] }: Shape): object {
  const entries = Object.entries(properties).filter(([name]) => required.includes(name));
  return Object.fromEntries(entries.map(([name, each]) => [name, exampleOf(each)]));
}
