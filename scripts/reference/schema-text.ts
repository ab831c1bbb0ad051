import { plain } from './markdown.ts';

/** The parts of JSON Schema that the API uses. */
export interface ApiSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly ApiSchema[];
  readonly oneOf?: readonly ApiSchema[];
  readonly items?: ApiSchema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, ApiSchema>>;
  readonly additionalProperties?: boolean | ApiSchema;
  readonly patternProperties?: Readonly<Record<string, ApiSchema>>;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly format?: string;
}

/** The type of a value in a few words. The page of schemas shows the properties of a named schema. */
export function typeText(schema: ApiSchema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    return `[${name}](schemas.md#${name.toLowerCase()})`;
  }
  const among = schema.anyOf ?? schema.oneOf;
  if (among !== undefined) return [...new Set(among.map(typeText))].join(' or ');
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(code).join(', ');
  if (schema.items !== undefined) return `list of ${typeText(schema.items)}`;
  const values = valuesOf(schema);
  if (values !== undefined) return `object; each value: ${typeText(values)}`;
  return [schema.type ?? 'any'].flat().join(' or ');
}

function valuesOf({ additionalProperties, patternProperties }: ApiSchema): ApiSchema | undefined {
  if (typeof additionalProperties === 'object') return additionalProperties;
  return patternProperties === undefined ? undefined : Object.values(patternProperties)[0];
}

function code(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

const DEPTH_MAX = 3;

/** One row per property. Properties of inner objects have their path as a prefix. */
export function schemaRows(
  schema: ApiSchema,
  prefix = '',
  depth = 0,
): readonly (readonly string[])[] {
  const variants = schema.anyOf ?? schema.oneOf ?? [];
  if (schema.properties === undefined && variants.some((each) => each.properties !== undefined)) {
    return unique(variants.flatMap((each) => schemaRows(each, prefix, depth)));
  }
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const inner = property.items ?? property;
    const path = `${prefix}${name}`;
    const row = [
      `\`${path}\``,
      typeText(property),
      schema.required?.includes(name) === true ? 'yes' : 'no',
      plain(property.description ?? ''),
    ];
    const isList = property.items !== undefined;
    const rows =
      depth >= DEPTH_MAX ? [] : schemaRows(inner, `${path}${isList ? '[]' : ''}.`, depth + 1);
    return [row, ...rows];
  });
}

function unique(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  return [...new Map(rows.map((row) => [row.join('|'), row])).values()];
}
