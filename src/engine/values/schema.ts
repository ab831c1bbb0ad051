// Accepts any Standard Schema (zod, valibot, arktype, TypeBox adapters): one method, no dependency.

import { InvalidInput } from '../../support/fault.ts';
import { readList, shown, unreadable } from '../../support/options.ts';

/** A Standard Schema, as zod, valibot and arktype make them. */
export interface Schema<Output = unknown> {
  /**
   * The interface of the standard: its `version`, the `vendor`, and `validate`, which returns the
   * value or issues.
   */
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): SchemaResult<Output> | Promise<SchemaResult<Output>>;
  };
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export function requireSchema(what: string, schema: unknown): void {
  if (schema === undefined) return;
  try {
    const standard = (schema as Partial<Schema> | null)?.['~standard'];
    if (typeof standard?.validate === 'function') return;
  } catch (cause) {
    throw unreadable(what, cause);
  }
  throw new InvalidInput(
    `${what} must be a Standard Schema, such as one of zod, valibot or arktype.`,
  );
}

/** A schema that can be described as JSON Schema (Standard JSON Schema). */
interface Described {
  readonly jsonSchema?: { input(options: { readonly target: string }): unknown };
}

const DESCRIPTION_MAX = 8_192;

/**
 * The JSON Schema, for people and forms, never for checks. Undefined if the library cannot describe
 * it.
 */
export function jsonSchemaOf(schema: Schema | undefined): object | undefined {
  try {
    const { jsonSchema } = (schema?.['~standard'] ?? {}) as Described;
    const text = JSON.stringify(jsonSchema?.input({ target: 'draft-2020-12' }));
    if (text === undefined || text.length > DESCRIPTION_MAX) return undefined;
    const made: unknown = JSON.parse(text);
    return typeof made === 'object' && made !== null ? made : undefined;
  } catch {
    return undefined;
  }
}

/** A schema found issues in a value. */
export class ValueRefused extends InvalidInput {}

/** Returns the schema's output, or throws with the path of every issue. */
export function validated<Output>(
  what: string,
  schema: Schema<Output>,
  value: unknown,
): Output | Promise<Output> {
  const result = schema['~standard'].validate(value);
  return result instanceof Promise
    ? result.then((settled) => accepted(what, settled))
    : accepted(what, result);
}

function accepted<Output>(what: string, result: SchemaResult<Output>): Output {
  if (typeof result !== 'object' || result === null) {
    throw new InvalidInput(
      `${what} cannot be validated: its schema returned ${shown(result)}, neither a value nor issues.`,
    );
  }
  if (result.issues === undefined) return result.value;
  const issues = readList('The issues of a schema', result.issues).map(issueText);
  throw new ValueRefused(`${what} is not valid: ${issues.join('; ')}`);
}

function issueText(issue: unknown): string {
  const { message, path } = (issue ?? {}) as Partial<SchemaIssue>;
  return `${pathText(path)}${typeof message === 'string' ? message : shown(message)}`;
}

function pathText(path: SchemaIssue['path']): string {
  if (path === undefined || path.length === 0) return '';
  const parts = path.map((part) => String(typeof part === 'object' ? part.key : part));
  return `${parts.join('.')}: `;
}
