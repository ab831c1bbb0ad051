// Templates: what is kept to be submitted.

import { type Static, Type } from 'typebox';
import { concurrency, rate, tags } from '../../protocol/messages/execution.ts';
import {
  CLOSED,
  durationMs,
  instant,
  lane,
  limit,
  name,
  pageOf,
  tagged,
  value,
} from '../../protocol/messages/words.ts';

/** Of a template. */
export const version = Type.Integer({ minimum: 1, maximum: 1_000_000_000 });

/** Where what is submitted stands in line. */
export const PLACING = {
  lane: Type.Optional(lane),
  tags: Type.Optional(tags),
  deadlineMs: Type.Optional(durationMs),
  concurrency: Type.Optional(concurrency),
  rate: Type.Optional(rate),
};

export const templateBody = Type.Object(
  {
    pipeline: name,
    defaults: Type.Optional(value),
    tagged,
    ...PLACING,
  },
  CLOSED,
);

export type TemplateBody = Static<typeof templateBody>;

export const templateParams = Type.Object({ id: name }, CLOSED);
export const templateVersionParams = Type.Object({ id: name, version }, CLOSED);
export const templateQuery = Type.Object({ version: Type.Optional(version) }, CLOSED);

export const templatePut = Type.Object(
  { existing: Type.Boolean({ description: 'The same content was there.' }) },
  CLOSED,
);

export const template = Type.Object(
  {
    id: Type.String(),
    version,
    pipeline: Type.String(),
    defaults: Type.Optional(value),
    createdAt: instant,
    by: Type.Optional(Type.String()),
    ...PLACING,
  },
  CLOSED,
);

export type TemplateMessage = Static<typeof template>;

export const templatePage = pageOf(template);
export const templateListQuery = Type.Object(
  {
    id: Type.Optional(name),
    cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
    limit: Type.Optional(limit),
  },
  CLOSED,
);
