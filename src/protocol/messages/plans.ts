// Templates and schedules: what is kept to be submitted.

import { type Static, Type } from 'typebox';
import { attributes, concurrency, rate, tags } from './execution.ts';
import {
  CLOSED,
  durationMs,
  executionId,
  instant,
  lane,
  limit,
  name,
  pageOf,
  tagged,
  value,
} from './words.ts';

const version = Type.Integer({ minimum: 1, maximum: 1_000_000_000 });

const PLACING = {
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

const scheduleId = Type.String({ minLength: 1, maxLength: 200 });
const overlap = Type.Enum(['skip', 'allow']);
const catchUp = Type.Enum(['none', 'one', 'all']);
const everyMs = Type.Integer({ minimum: 100, maximum: 10 * 366 * 86_400_000 });
const options = Type.Object({ ...PLACING, attributes: Type.Optional(attributes) }, CLOSED);

export const scheduleParams = Type.Object({ id: scheduleId }, CLOSED);

export const scheduleBody = Type.Object(
  {
    every: Type.Optional(everyMs),
    cron: Type.Optional(name),
    timeZone: Type.Optional(name),
    pipeline: Type.Optional(name),
    template: Type.Optional(name),
    version: Type.Optional(version),
    input: Type.Optional(value),
    tagged,
    options: Type.Optional(options),
    overlap: Type.Optional(overlap),
    catchUp: Type.Optional(catchUp),
  },
  { ...CLOSED, description: 'One of `every` and `cron`, one of `pipeline` and `template`.' },
);

export type ScheduleBody = Static<typeof scheduleBody>;

export const schedule = Type.Object(
  {
    id: Type.String(),
    when: Type.Union([
      Type.Object({ every: everyMs }, CLOSED),
      Type.Object({ cron: Type.String(), timeZone: Type.String() }, CLOSED),
    ]),
    target: Type.Union([
      Type.Object({ pipeline: Type.String() }, CLOSED),
      Type.Object({ template: Type.String(), version: Type.Optional(version) }, CLOSED),
    ]),
    input: Type.Optional(value),
    options,
    overlap,
    catchUp,
    paused: Type.Boolean(),
    nextTimes: Type.Array(instant, { description: 'The next few; none while it is paused.' }),
    firedAt: Type.Optional(instant),
    lastExecution: Type.Optional(executionId),
    createdAt: instant,
    by: Type.Optional(Type.String()),
  },
  CLOSED,
);

export type ScheduleMessage = Static<typeof schedule>;

export const schedulePage = pageOf(schedule);
export const scheduleListQuery = Type.Object(
  { cursor: Type.Optional(scheduleId), limit: Type.Optional(limit) },
  CLOSED,
);

export const changed = Type.Object({ kind: Type.Enum(['done', 'no-change']) }, CLOSED);
