// The largest value that a schema allows within a number of characters: `many` small items, one
// `deep` item with many inside, or one with `long` texts.

import type { TSchema } from 'typebox';

export const SHAPES = ['many', 'deep', 'long'] as const;

export interface Largest {
  readonly of: (typeof SHAPES)[number];
  /** Characters as JSON, roughly. */
  readonly chars: number;
  /** Texts and numbers that mean something, by the name of their property. */
  readonly known: Readonly<Record<string, string | number>>;
}

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly TSchema[];
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly patternProperties?: Readonly<Record<string, TSchema>>;
  readonly items?: TSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxProperties?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly format?: string;
}

const TIME = '2026-01-01T00:00:00Z';
const UUID = '01a1e190-0000-7000-8000-000000000000';
/** One of these fits every pattern of the protocol. */
const TEXTS = ['rich', UUID, 'a'.repeat(64), 'a'.repeat(16), TIME, '{"v":1}', 'a/b'];

export function largestOf(given: TSchema, largest: Largest, name = ''): unknown {
  const schema = given as Schema;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf !== undefined) return largestOf(schema.anyOf[0] as TSchema, largest, name);
  switch (schema.type) {
    case 'object':
      return objectOf(schema, largest);
    case 'array':
      return listOf(schema, largest, name);
    case 'string':
      return textOf(schema, largest, name);
    case 'integer':
    case 'number':
      return Number(largest.known[name] ?? schema.minimum ?? 0);
    case 'boolean':
      return false;
    default:
      return largest.of === 'long' ? 'v'.repeat(largest.chars) : items(largest, () => 1);
  }
}

/**
 * The first list or text that may be long takes all the room; the others are as short as possible.
 */
function objectOf(schema: Schema, largest: Largest): object {
  const entries = Object.entries(schema.properties ?? {});
  const [records] = Object.values(schema.patternProperties ?? {});
  if (records !== undefined) {
    const count = Math.min(schema.maxProperties ?? Infinity, largest.chars / 12);
    const names = Array.from({ length: Math.floor(count) }, (_, nth) => `n${nth}`);
    return Object.fromEntries(names.map((each) => [each, largestOf(records, short(largest))]));
  }
  const large = entries.find(([, each]) => isLarge(each as Schema, largest.of))?.[0];
  return Object.fromEntries(
    entries.map(([name, each]) => {
      return [name, largestOf(each, name === large ? largest : short(largest), name)];
    }),
  );
}

function isLarge({ type, pattern, enum: words }: Schema, of: Largest['of']): boolean {
  if (of !== 'long') return type === 'array' || type === undefined;
  return (type === 'string' && pattern === undefined) || (type ?? words) === undefined;
}

function short(largest: Largest): Largest {
  return { ...largest, chars: 0 };
}

function listOf(schema: Schema, largest: Largest, name: string): readonly unknown[] {
  const { items: item, minItems = 0, maxItems = Infinity } = schema;
  if (item === undefined) return [];
  const isOne = largest.of === 'long' || (largest.of === 'deep' && hasList(item as Schema));
  if (isOne) return [largestOf(item, largest, name)];
  const all = items(largest, () => largestOf(item, short(largest), name), maxItems);
  return all.length < minItems ? [largestOf(item, short(largest), name)] : all;
}

function hasList({ properties, anyOf }: Schema): boolean {
  if (anyOf !== undefined) return hasList(anyOf[0] as Schema);
  return Object.values(properties ?? {}).some((each) => (each as Schema).type === 'array');
}

function items(largest: Largest, make: () => unknown, max = Infinity): readonly unknown[] {
  const chars = JSON.stringify(make()).length + 1;
  return Array.from({ length: Math.min(max, Math.floor(largest.chars / chars)) }, make);
}

function textOf(
  { pattern, format, minLength = 0, maxLength = Infinity }: Schema,
  largest: Largest,
  name: string,
): string {
  const known = largest.known[name];
  const fits = (text: string): boolean => pattern === undefined || new RegExp(pattern).test(text);
  if (typeof known === 'string' && fits(known)) return known;
  if (format === 'date-time') return TIME;
  if (pattern !== undefined) return TEXTS.find(fits) ?? '';
  const chars = largest.of === 'long' ? Math.min(largest.chars, maxLength) : 0;
  return 'x'.repeat(Math.max(chars, minLength, 1));
}
