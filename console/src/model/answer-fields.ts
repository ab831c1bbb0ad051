// Turns a JSON Schema into form fields, and the typed text into an answer. Pure.

export interface FieldSchema {
  readonly name: string;
  readonly title: string;
  readonly about?: string;
  readonly kind: 'string' | 'number' | 'integer' | 'boolean';
  readonly options?: readonly string[];
  readonly isRequired: boolean;
}

interface JsonSchema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

const KINDS: ReadonlySet<string> = new Set(['string', 'number', 'integer', 'boolean']);

/** Undefined if plain fields cannot express every value that the schema allows. */
export function fieldsOf(schema: unknown): readonly FieldSchema[] | undefined {
  const { type, properties, required = [] } = (schema ?? {}) as JsonSchema;
  if (type !== 'object' || properties === undefined) return undefined;
  const fields = Object.entries(properties).map(([name, each]) =>
    fieldOf(name, each, required.includes(name)),
  );
  return fields.includes(undefined) ? undefined : (fields as readonly FieldSchema[]);
}

function fieldOf(name: string, schema: JsonSchema, isRequired: boolean): FieldSchema | undefined {
  const kind = schema.type ?? (schema.enum === undefined ? '' : 'string');
  if (!KINDS.has(kind)) return undefined;
  if (schema.enum?.some((each) => typeof each !== 'string')) return undefined;
  return {
    ...{ name, isRequired, kind: kind as FieldSchema['kind'] },
    title: schema.title ?? name,
    ...(schema.description === undefined ? {} : { about: schema.description }),
    ...(schema.enum === undefined ? {} : { options: schema.enum as readonly string[] }),
  };
}

/** The text of each field for a value; undefined if fields cannot express the value. */
export function textsOf(
  fields: readonly FieldSchema[],
  value: unknown,
): Readonly<Record<string, string>> | undefined {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null) return undefined;
  const texts: Record<string, string> = {};
  for (const [name, each] of Object.entries(value)) {
    const field = fields.find((other) => other.name === name);
    const kind = field?.kind === 'integer' ? 'number' : field?.kind;
    if (typeof each !== kind) return undefined;
    if (field?.options?.includes(each) === false) return undefined;
    texts[name] = String(each);
  }
  return texts;
}

/** Reads as an example: people take a bare value for one that is already typed. */
export const ANSWER_EXAMPLE = 'For example: {"accepted": true}';

/** Throws if the text area is blank: an answer cannot be taken back. */
export function requireAnswer(value: unknown): unknown {
  if (value === undefined) throw new Error('Type an answer. To send an empty one, type null.');
  return value;
}

/** Throws an error that names the invalid field. */
export function readAnswer(
  fields: readonly FieldSchema[],
  typed: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  const answer: Record<string, unknown> = {};
  for (const field of fields) {
    const text = typed[field.name] ?? '';
    if (text === '') {
      if (field.isRequired) throw new Error(`"${field.title}" is required.`);
    } else answer[field.name] = valueIn(field, text);
  }
  return answer;
}

function valueIn({ kind, title }: FieldSchema, text: string): unknown {
  if (kind === 'string') return text;
  if (kind === 'boolean') return text === 'true';
  const value = Number(text);
  const isValid = Number.isFinite(value) && (kind === 'number' || Number.isInteger(value));
  if (!isValid)
    throw new Error(`"${title}" must be ${kind === 'integer' ? 'a whole' : 'a'} number.`);
  return value;
}
