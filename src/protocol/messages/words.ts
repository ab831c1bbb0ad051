// Schemas that all messages share. One schema checks input, types the code, and describes the API.

import { type TObject, type TObjectOptions, type TProperties, type TSchema, Type } from 'typebox';
import { LANES, STATUSES } from '../../execution/execution.ts';
import { SEQ_MAX } from '../../execution/history.ts';

/** Rejects fields that are not named, so that a misspelt field is an error and not a default. */
export function closed<Properties extends TProperties>(
  properties: Properties,
  options: TObjectOptions = {},
): TObject<Properties> {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/**
 * The same schema, with a description and examples for one of its uses. Validators ignore both.
 * TypeBox keeps the kind of a schema in hidden properties, which a spread would lose.
 */
export function documented<Schema extends TSchema>(
  schema: Schema,
  description: string,
  ...examples: readonly unknown[]
): Schema {
  const added = { description, ...(examples.length > 0 && { examples }) };
  const properties = {
    ...Object.getOwnPropertyDescriptors(schema),
    ...Object.getOwnPropertyDescriptors(added),
    [BASE]: { value: (schema as { [BASE]?: TSchema })[BASE] ?? schema },
  };
  return Object.defineProperties({}, properties) as Schema;
}

/** A property that may be absent. A description documents this use of its schema. */
export function optional<Schema extends TSchema>(
  schema: Schema,
  ...[description, ...examples]: readonly [description?: string, ...examples: readonly unknown[]]
) {
  return Type.Optional(
    description === undefined ? schema : documented(schema, description, ...examples),
  );
}

export function text(description: string, ...examples: readonly string[]) {
  return documented(Type.String(), description, ...examples);
}

export function flag(description: string, ...examples: readonly boolean[]) {
  return documented(Type.Boolean(), description, ...examples);
}

export function textWithin(
  minLength: number,
  maxLength: number,
  ...about: readonly [description: string, ...examples: readonly string[]]
) {
  return documented(Type.String({ minLength, maxLength }), ...about);
}

export function textLike(pattern: string, description: string, ...examples: readonly string[]) {
  return documented(Type.String({ pattern }), description, ...examples);
}

export function integer(description: string, ...examples: readonly number[]) {
  return documented(Type.Integer(), description, ...examples);
}

export function integerWithin(
  minimum: number,
  maximum: number,
  ...about: readonly [description: string, ...examples: readonly number[]]
) {
  return documented(Type.Integer({ minimum, maximum }), ...about);
}

export function choice<Values extends string[]>(values: readonly [...Values], description: string) {
  return Type.Enum(values, { description });
}

export function decimal(description: string, ...examples: readonly number[]) {
  return documented(Type.Number(), description, ...examples);
}

export function json(description: string, ...examples: readonly unknown[]) {
  return documented(Type.Unknown(), description, ...examples);
}

export function listOf<Item extends TSchema>(item: Item, description: string) {
  return Type.Array(item, { description });
}

/** The options of an object that the API description names. */
export function titled(title: string, ...examples: readonly unknown[]) {
  return { title, examples };
}

/** The options of an object with an example. */
export function withExample(...examples: readonly unknown[]) {
  return { examples };
}

/** The schema that one use describes. Hidden from JSON, as the marks of TypeBox are. */
export const BASE = '~base';

export const NAME_MAX = 256;
export const REASON_MAX = 4_096;

export const executionId = Type.String({
  title: 'ExecutionId',
  pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
  description: 'Id of an execution: a UUID of version 7. Later ids sort after earlier ones.',
  examples: ['01890a5d-ac96-774b-bcce-b302099a8057'],
});

export const executionRef = Type.String({
  title: 'ExecutionRef',
  pattern: '^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|key:[\\s\\S]{1,256})$',
  description:
    'An execution: its id, or `key:` and its key, as in `key:order-17`. Encode slashes of a key as `%2F`.',
  examples: ['01890a5d-ac96-774b-bcce-b302099a8057', 'key:order-17'],
});

export const uuid = Type.String({
  pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
  examples: ['01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e'],
});

export const name = Type.String({ minLength: 1, maxLength: NAME_MAX });
export const pipelineName = documented(name, 'Name of the pipeline.', 'order');
export const releaseName = Type.String({
  pattern: '^[\\w.+:-]+$',
  minLength: 1,
  maxLength: 128,
  description: 'Name of a release.',
  examples: ['v2'],
});
export const auditReason = Type.String({
  minLength: 1,
  maxLength: 2_048,
  description: 'Reason of the caller. Stored in the audit record.',
  examples: ['Host is being replaced.'],
});

export const reason = Type.String({
  maxLength: REASON_MAX,
  description: 'Reason of the caller. Stored in the audit record. Default: empty.',
  examples: ['Customer cancelled the order.'],
});

export const instant = Type.String({
  title: 'Instant',
  format: 'date-time',
  description: 'UTC, with milliseconds.',
  examples: ['2026-11-17T09:30:00.000Z'],
});

export const status = Type.Enum([...STATUSES], {
  title: 'Status',
  description:
    'State of an execution. `queued`, `running` and `waiting` are open; the others are final.',
});
export const lane = Type.Enum([...LANES], {
  title: 'Lane',
  description:
    'Priority class. Workers take `interactive` executions first and never starve `batch`.',
});
export const durationMs = Type.Integer({
  minimum: 0,
  maximum: 100 * 366 * 86_400_000,
  description: 'Milliseconds.',
  examples: [60_000],
});

/** The longest time to hold a long poll. */
const WAIT_MS_MAX = 60_000;
export const waitMs = Type.Integer({
  minimum: 0,
  maximum: WAIT_MS_MAX,
  description: 'Longest time to wait for the response, in milliseconds. Default: 0.',
  examples: [30_000],
});

export const value = Type.Unknown({ description: 'Any JSON value.', examples: [{ amount: 4200 }] });

export const tagged = Type.Optional(
  Type.Boolean({
    description:
      'True if values in this body use tags for types that JSON lacks. Default: false. Tags: `{"$date":"…"}`, `{"$bigint":"…"}`, `{"$map":[[key,value],…]}`, `{"$set":[…]}`, `{"$bytes":[class,base64]}`, `{"$undefined":true}`. To send an object that looks like a tag, wrap it: `{"$object":{…}}`.',
  }),
);

export const sealed = Type.Boolean({
  description:
    'True if this coordinator cannot decode a value: it lacks the codec, the value was erased, or it has more names and values than `limits.jsonValuesMax`. The value is then absent.',
});

export const fence = Type.Integer({
  title: 'Fence',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Ordered number of one grant or claim. A store never issues a number twice.',
  examples: [1_099_511_627_777],
});
export const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
/** A position in a history or an inbox, or a count within one row. */
export const seq = Type.Integer({ minimum: 0, maximum: SEQ_MAX });

export const limit = Type.Integer({
  minimum: 1,
  maximum: 1_000,
  default: 100,
  description: 'Largest number of items in the page. Default: 100.',
});

export function pageOf<Item extends TSchema>(item: Item) {
  return closed({
    items: Type.Array(item, { description: 'The items of this page.' }),
    cursor: Type.Optional(
      Type.String({
        description: 'Pass it to read the next page, which may be empty. Absent on the last page.',
      }),
    ),
  });
}

export function paging<Cursor extends TSchema>(cursor: Cursor) {
  const { examples = ['next-page'] } = cursor as { readonly examples?: readonly unknown[] };
  return {
    cursor: Type.Optional(
      documented(cursor, 'The `cursor` of the page before. Default: the first page.', ...examples),
    ),
    limit: Type.Optional(limit),
  };
}
