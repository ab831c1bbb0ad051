// Schedules: submissions at set times.

import { type Static, Type } from 'typebox';
import { attributes } from '../../protocol/messages/execution.ts';
import { type Operations, READERS } from '../../protocol/messages/operation.ts';
import {
  closed,
  executionId,
  instant,
  name,
  pageOf,
  paging,
  tagged,
  value,
} from '../../protocol/messages/words.ts';
import { TEN_YEARS_MS } from '../../support/options.ts';
import { PLACING, version } from '../templates/messages.ts';

const scheduleId = Type.String({ minLength: 1, maxLength: 200 });
const overlap = Type.Enum(['skip', 'allow']);
const catchUp = Type.Enum(['none', 'one', 'all']);
const everyMs = Type.Integer({ minimum: 100, maximum: TEN_YEARS_MS });
const options = closed({ ...PLACING, attributes: Type.Optional(attributes) });

const scheduleParams = closed({ id: scheduleId });

const scheduleBody = closed(
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
  { description: 'One of `every` and `cron`, one of `pipeline` and `template`.' },
);

export type ScheduleBody = Static<typeof scheduleBody>;

const schedule = closed({
  id: Type.String(),
  when: Type.Union([
    closed({ every: everyMs }),
    closed({ cron: Type.String(), timeZone: Type.String() }),
  ]),
  target: Type.Union([
    closed({ pipeline: Type.String() }),
    closed({ template: Type.String(), version: Type.Optional(version) }),
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
});

export type ScheduleMessage = Static<typeof schedule>;

const CHANGED = {
  200: {
    what: 'Done, or nothing to change.',
    schema: closed({ kind: Type.Enum(['done', 'no-change']) }),
  },
} as const;

export const scheduleOperations = {
  putSchedule: {
    at: 'PUT /v1/schedules/:id',
    summary: 'Makes it, or changes it to this. What is paused stays paused.',
    allows: ['operate'],
    // The schedule decides what is submitted.
    needs: ['submit'],
    params: scheduleParams,
    body: scheduleBody,
    takesValues: true,
    answers: { 200: { what: 'As it is now.', schema: schedule } },
  },
  readSchedule: {
    at: 'GET /v1/schedules/:id',
    summary: 'A schedule, with its next times.',
    allows: READERS,
    params: scheduleParams,
    answers: { 200: { what: 'As it is now.', schema: schedule } },
  },
  listSchedules: {
    at: 'GET /v1/schedules',
    summary: 'Schedules by id.',
    allows: READERS,
    query: closed(paging(scheduleId)),
    answers: { 200: { what: 'A page.', schema: pageOf(schedule) } },
  },
  pauseSchedule: {
    at: 'POST /v1/schedules/:id/pause',
    summary: 'No time comes until it is resumed.',
    allows: ['operate'],
    params: scheduleParams,
    answers: CHANGED,
  },
  resumeSchedule: {
    at: 'POST /v1/schedules/:id/resume',
    summary: 'Goes on with the next time from now.',
    allows: ['operate'],
    params: scheduleParams,
    answers: CHANGED,
  },
  removeSchedule: {
    at: 'DELETE /v1/schedules/:id',
    summary: 'What it has submitted goes on.',
    allows: ['operate'],
    params: scheduleParams,
    answers: CHANGED,
  },
} as const satisfies Operations;
