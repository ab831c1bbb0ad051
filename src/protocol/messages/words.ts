// Schemas that all messages share. One schema checks input, types the code, and describes the API.

import { type TObject, type TObjectOptions, type TProperties, type TSchema, Type } from 'typebox';
import { LANES, STATUSES } from '../../execution/execution.ts';
import { SEQ_MAX } from '../../execution/history.ts';

/** Rejects unknown fields, so that a misspelt field is an error and not a default. */
export function closed<Properties extends TProperties>(
  properties: Properties,
  options: TObjectOptions = {},
): TObject<Properties> {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

export const NAME_MAX = 256;
export const REASON_MAX = 4_096;

export const executionId = Type.String({
  pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
  description: 'A UUID of version 7; ids that were made later sort later.',
});

export const uuid = Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' });

export const name = Type.String({ minLength: 1, maxLength: NAME_MAX });
export const releaseName = Type.String({ pattern: '^[\\w.+:-]+$', minLength: 1, maxLength: 128 });
export const reason = Type.String({ maxLength: REASON_MAX });

export const instant = Type.String({
  format: 'date-time',
  description: 'UTC, with milliseconds.',
});

export const status = Type.Enum([...STATUSES]);
export const lane = Type.Enum([...LANES]);
export const durationMs = Type.Integer({ minimum: 0, maximum: 100 * 366 * 86_400_000 });

/** The longest time to hold a long poll. */
export const waitMs = Type.Integer({ minimum: 0, maximum: 60_000 });

export const value = Type.Unknown({ description: 'Any JSON.' });

export const tagged = Type.Optional(
  Type.Boolean({
    description:
      'The value has tags for what JSON has not: `{"$date":"…"}`, `{"$bigint":"…"}`, `{"$map":[[key,value],…]}`, `{"$set":[…]}`, `{"$bytes":[class,base64]}`, `{"$undefined":true}`; an object of the caller’s that looks like a tag is `{"$object":{…}}`.',
  }),
);

export const sealed = Type.Boolean({
  description: 'A value went through a codec that this coordinator does not have.',
});

export const fence = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
export const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
/** A position in a history or an inbox, or a count within one row. */
export const seq = Type.Integer({ minimum: 0, maximum: SEQ_MAX });

export const limit = Type.Integer({ minimum: 1, maximum: 1_000, default: 100 });

export function pageOf<Item extends TSchema>(item: Item) {
  return closed({
    items: Type.Array(item),
    cursor: Type.Optional(
      Type.String({
        description: 'For the next page, which may be empty; absent when there is none.',
      }),
    ),
  });
}

export function paging<Cursor extends TSchema>(cursor: Cursor) {
  return { cursor: Type.Optional(cursor), limit: Type.Optional(limit) };
}
