// Schedules: executions that workers submit at given times.

import { type Static, Type } from 'typebox';
import { CODEC_MISSING, type Operations, READERS } from '../../protocol/messages/operation.ts';
import { attributes } from '../../protocol/messages/submission.ts';
import {
  closed,
  documented,
  executionId,
  instant,
  name,
  pageOf,
  paging,
  pipelineName,
  tagged,
} from '../../protocol/messages/words.ts';
import { TEN_YEARS_MS } from '../../support/options.ts';
import { PLACING, version } from '../templates/messages.ts';

const scheduleId = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'Id of the schedule.',
  examples: ['morning-report'],
});
const overlap = Type.Enum(['skip', 'allow'], {
  description:
    'With `skip`, a time is left out while the execution of the last fire is open. Default: `skip`.',
});
const catchUp = Type.Enum(['none', 'one', 'all'], {
  description:
    'Missed times to fire after downtime: the last one, all (at most 1,000), or none older than a minute. Default: `one`.',
});
const everyMs = Type.Integer({
  minimum: 100,
  maximum: TEN_YEARS_MS,
  description: 'Interval in milliseconds. The first fire is one interval after the put.',
});
const options = closed(
  { ...PLACING, attributes: Type.Optional(attributes) },
  { description: 'Options of each submit.', examples: [{ lane: 'batch', deadlineMs: 600_000 }] },
);
const input = Type.Unknown({ description: 'Input of each execution: any JSON value.' });

const scheduleParams = closed({ id: scheduleId });

const scheduleBody = closed(
  {
    every: Type.Optional(everyMs),
    cron: Type.Optional(
      documented(name, 'Minute, hour, day of month, month and day of week.', '0 9 * * 1-5'),
    ),
    timeZone: Type.Optional(
      documented(name, 'IANA time zone of `cron`. Default: `UTC`.', 'Europe/Zurich'),
    ),
    pipeline: Type.Optional(documented(pipelineName, 'Pipeline to submit.', 'report')),
    template: Type.Optional(documented(name, 'Template to submit.', 'invoice')),
    version: Type.Optional(
      documented(version, 'Version of the template. Default: the newest at each fire.'),
    ),
    input: Type.Optional(input),
    tagged,
    options: Type.Optional(options),
    overlap: Type.Optional(overlap),
    catchUp: Type.Optional(catchUp),
  },
  {
    title: 'ScheduleBody',
    description: 'Pass one of `every` and `cron`, and one of `pipeline` and `template`.',
    examples: [
      {
        ...{ cron: '0 9 * * 1-5', timeZone: 'Europe/Zurich' },
        ...{ pipeline: 'report', input: { kind: 'sales' } },
      },
    ],
  },
);

export type ScheduleBody = Static<typeof scheduleBody>;

const schedule = closed(
  {
    id: Type.String({ description: 'Id of the schedule.' }),
    when: Type.Union(
      [
        closed({ every: everyMs }),
        closed({
          cron: Type.String({ description: 'Cron expression.' }),
          timeZone: Type.String({ description: 'IANA time zone.' }),
        }),
      ],
      { description: 'Interval, or cron expression with its time zone.' },
    ),
    target: Type.Union(
      [
        closed({ pipeline: Type.String({ description: 'Pipeline to submit.' }) }),
        closed({
          template: Type.String({ description: 'Template to submit.' }),
          version: Type.Optional(
            documented(version, 'Version of the template. Absent: the newest at each fire.'),
          ),
        }),
      ],
      { description: 'Pipeline or template to submit.' },
    ),
    input: Type.Optional(input),
    options,
    overlap,
    catchUp,
    paused: Type.Boolean({ description: 'True while it fires nothing.' }),
    nextTimes: Type.Array(instant, {
      description: 'The next five times. Empty while it is paused.',
    }),
    firedAt: Type.Optional(documented(instant, 'When it submitted an execution last.')),
    lastExecution: Type.Optional(documented(executionId, 'The execution of the last fire.')),
    createdAt: documented(instant, 'When it was created.'),
    actor: Type.Optional(Type.String({ description: 'The actor that wrote it last.' })),
  },
  {
    title: 'Schedule',
    examples: [
      {
        id: 'morning-report',
        when: { cron: '0 9 * * 1-5', timeZone: 'Europe/Zurich' },
        target: { pipeline: 'report' },
        input: { kind: 'sales' },
        options: {},
        overlap: 'skip',
        catchUp: 'one',
        paused: false,
        nextTimes: ['2026-11-18T08:00:00.000Z', '2026-11-19T08:00:00.000Z'],
        firedAt: '2026-11-17T08:00:00.000Z',
        lastExecution: '01890a5d-ac96-774b-bcce-b302099a8057',
        createdAt: '2026-11-01T10:00:00.000Z',
        actor: 'ann (a2b3c4d5e6f7a2b3)',
      },
    ],
  },
);

export type ScheduleMessage = Static<typeof schedule>;

const NO_SCHEDULE = {
  404: { what: 'The project has no such schedule.', codes: ['schedule-unknown'] },
} as const;

const CHANGED = {
  200: {
    what: 'The schedule changed, or nothing had to change.',
    schema: closed({
      kind: Type.Enum(['done', 'no-change'], {
        description: '`no-change`: the schedule was in this state already.',
      }),
    }),
  },
  ...NO_SCHEDULE,
} as const;

export const scheduleOperations = {
  putSchedule: {
    at: 'PUT /v1/schedules/:id',
    tag: 'Schedules',
    summary: 'Create or change a schedule',
    description:
      'Writes the whole schedule and an audit record. Repeating the same content changes nothing, so you can send it at every start. A paused schedule stays paused.',
    allows: ['operate'],
    // A schedule decides what is submitted.
    needs: ['submit'],
    params: scheduleParams,
    body: scheduleBody,
    takesValues: true,
    responses: { 200: { what: 'The schedule as it is now.', schema: schedule }, ...CODEC_MISSING },
  },
  readSchedule: {
    at: 'GET /v1/schedules/:id',
    tag: 'Schedules',
    summary: 'Read a schedule',
    description:
      'Returns one schedule with its next times. The response has an `ETag` for `If-None-Match`.',
    allows: READERS,
    params: scheduleParams,
    responses: {
      200: { what: 'The schedule.', schema: schedule },
      ...NO_SCHEDULE,
      ...CODEC_MISSING,
    },
  },
  listSchedules: {
    at: 'GET /v1/schedules',
    tag: 'Schedules',
    summary: 'List schedules',
    description:
      "Returns the project's schedules by id. The response has an `ETag` for `If-None-Match`.",
    allows: READERS,
    query: closed(paging(scheduleId)),
    responses: {
      200: { what: 'One page of schedules.', schema: pageOf(schedule) },
      ...CODEC_MISSING,
    },
  },
  pauseSchedule: {
    at: 'POST /v1/schedules/:id/pause',
    tag: 'Schedules',
    summary: 'Pause a schedule',
    description:
      'Stops the schedule from submitting until you resume it. Open executions continue. Writes an audit record. Repeating it changes nothing.',
    allows: ['operate'],
    params: scheduleParams,
    responses: CHANGED,
  },
  resumeSchedule: {
    at: 'POST /v1/schedules/:id/resume',
    tag: 'Schedules',
    summary: 'Resume a schedule',
    description:
      'Continues with the next time after now. Times that passed during the pause are not fired. Writes an audit record. Repeating it changes nothing.',
    allows: ['operate'],
    params: scheduleParams,
    responses: CHANGED,
  },
  removeSchedule: {
    at: 'DELETE /v1/schedules/:id',
    tag: 'Schedules',
    summary: 'Delete a schedule',
    description:
      'Deletes the schedule and writes an audit record. Executions that it submitted continue. Repeating it changes nothing.',
    allows: ['operate'],
    params: scheduleParams,
    responses: CHANGED,
  },
} as const satisfies Operations;
