// Schedules: what is submitted by itself.

import { type Static, Type } from 'typebox';
import { attributes } from '../../protocol/messages/execution.ts';
import {
  CLOSED,
  executionId,
  instant,
  limit,
  name,
  pageOf,
  tagged,
  value,
} from '../../protocol/messages/words.ts';
import { TEN_YEARS_MS } from '../../support/options.ts';
import { PLACING, version } from '../templates/messages.ts';

const scheduleId = Type.String({ minLength: 1, maxLength: 200 });
const overlap = Type.Enum(['skip', 'allow']);
const catchUp = Type.Enum(['none', 'one', 'all']);
const everyMs = Type.Integer({ minimum: 100, maximum: TEN_YEARS_MS });
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
