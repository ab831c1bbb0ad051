// Schedules: executions that workers submit at given times.

import { type Static, Type } from 'typebox';
import { CODEC_MISSING, operationsOf, READERS } from '../../protocol/messages/operation.ts';
import { attributes } from '../../protocol/messages/submission.ts';
import {
  choice,
  closed,
  documented,
  executionId,
  flag,
  instant,
  integerWithin,
  json,
  listOf,
  name,
  optional,
  pageOf,
  paging,
  pipelineName,
  tagged,
  text,
  textWithin,
  titled,
} from '../../protocol/messages/words.ts';
import { TEN_YEARS_MS } from '../../support/options.ts';
import { PLACING, version } from '../templates/messages.ts';
import { OVERLAPS } from './model.ts';

const scheduleId = textWithin(1, 200, 'Id of the schedule.', 'morning-report');
const overlap = choice(
  OVERLAPS,
  'While the execution of the last fire is open: `skip` the time, `buffer` one execution until the open one has ended, `cancel` the open one and run after it, or `allow` both. Default: `skip`.',
);
const catchUp = choice(
  ['none', 'one', 'all'],
  'Missed times to fire after downtime: the last one, all (at most 1,000), or none older than a minute. Default: `one`.',
);
const everyMs = integerWithin(
  100,
  TEN_YEARS_MS,
  'Interval in milliseconds. The first fire is one interval after the put.',
);
const options = closed(
  { ...PLACING, attributes: optional(attributes) },
  { description: 'Options of each submit.', examples: [{ lane: 'batch', deadlineMs: 600_000 }] },
);
const jitterMs = integerWithin(
  0,
  86_400_000,
  'Longest delay of a start after its time, in milliseconds. Each time has its own. Default: 0.',
  60_000,
);
const pauseOnFailure = flag(
  'Pause at the next time if the last execution failed or was quarantined. Default: false.',
);
const input = json('Input of each execution: any JSON value.');

const scheduleParams = closed({ id: scheduleId });

const scheduleBody = closed(
  {
    every: optional(everyMs),
    cron: optional(name, 'Minute, hour, day of month, month and day of week.', '0 9 * * 1-5'),
    timeZone: optional(name, 'IANA time zone of `cron`. Default: `UTC`.', 'Europe/Zurich'),
    pipeline: optional(pipelineName, 'Pipeline to submit.', 'report'),
    template: optional(name, 'Template to submit.', 'invoice'),
    version: optional(version, 'Version of the template. Default: the newest at each fire.'),
    input: optional(input),
    tagged,
    options: optional(options),
    overlap: optional(overlap),
    catchUp: optional(catchUp),
    jitterMs: optional(jitterMs),
    pauseOnFailure: optional(pauseOnFailure),
    ifExists: optional(
      choice(
        ['replace', 'refuse'],
        'If a schedule with this id has other content: replace it, or refuse with `schedule-exists`. Default: `replace`.',
      ),
    ),
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

const triggerBody = closed(
  {
    overlap: optional(overlap, 'Instead of the overlap of the schedule.'),
    key: optional(
      textWithin(
        1,
        40,
        'Names the request: the same key returns the same execution.',
        'incident-7',
      ),
    ),
  },
  { examples: [{ key: 'incident-7' }] },
);

export type TriggerBody = Static<typeof triggerBody>;

const schedule = closed(
  {
    id: text('Id of the schedule.'),
    when: Type.Union(
      [
        closed({ every: everyMs }),
        closed({
          cron: text('Cron expression.'),
          timeZone: text('IANA time zone.'),
        }),
      ],
      { description: 'Interval, or cron expression with its time zone.' },
    ),
    target: Type.Union(
      [
        closed({ pipeline: text('Pipeline to submit.') }),
        closed({
          template: text('Template to submit.'),
          version: optional(version, 'Version of the template. Absent: the newest at each fire.'),
        }),
      ],
      { description: 'Pipeline or template to submit.' },
    ),
    input: optional(input),
    options,
    overlap,
    catchUp,
    jitterMs: optional(jitterMs),
    pauseOnFailure: optional(pauseOnFailure),
    paused: flag('True while it fires nothing.'),
    nextTimes: listOf(instant, 'The next five times. Empty while it is paused.'),
    firedAt: optional(instant, 'When it submitted an execution last.'),
    lastExecution: optional(executionId, 'The execution of the last fire.'),
    createdAt: documented(instant, 'When it was created.'),
    actor: optional(text('The actor that wrote it last.')),
  },
  titled('Schedule', {
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
  }),
);

export type ScheduleMessage = Static<typeof schedule>;

const NO_SCHEDULE = {
  404: { what: 'The project has no such schedule.', codes: ['schedule-unknown'] },
} as const;

const CHANGED = {
  200: {
    what: 'The schedule changed, or nothing had to change.',
    schema: closed({
      kind: choice(['done', 'no-change'], '`no-change`: the schedule was in this state already.'),
    }),
  },
  ...NO_SCHEDULE,
} as const;

export const scheduleOperations = operationsOf('Schedules', {
  putSchedule: {
    at: 'PUT /v1/schedules/:id',
    summary: 'Create or change a schedule',
    description:
      'Writes the whole schedule and an audit record. Repeating the same content changes nothing, so you can send it at every start. A paused schedule stays paused.',
    allows: ['operate'],
    // A schedule decides what is submitted.
    needs: ['submit'],
    params: scheduleParams,
    body: scheduleBody,
    takesValues: true,
    responses: {
      200: { what: 'The schedule as it is now.', schema: schedule },
      409: {
        what: 'A schedule with this id has other content, and `ifExists` is `refuse`. Or a codec that this coordinator lacks encoded a stored value.',
        codes: ['schedule-exists', 'codec-missing'],
      },
    },
  },
  readSchedule: {
    at: 'GET /v1/schedules/:id',
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
    summary: 'Pause a schedule',
    description:
      'Stops the schedule from submitting until you resume it. Open executions continue. Writes an audit record. Repeating it changes nothing.',
    allows: ['operate'],
    params: scheduleParams,
    responses: CHANGED,
  },
  resumeSchedule: {
    at: 'POST /v1/schedules/:id/resume',
    summary: 'Resume a schedule',
    description:
      'Continues with the next time after now. Times that passed during the pause are not fired. Writes an audit record. Repeating it changes nothing.',
    allows: ['operate'],
    params: scheduleParams,
    responses: CHANGED,
  },
  triggerSchedule: {
    at: 'POST /v1/schedules/:id/trigger',
    summary: 'Run a schedule now',
    description:
      'Submits an execution with the input and the options of the schedule, also while it is paused. Its next times stay the same. Writes an audit record. With a `key`, a repeated request returns the same execution.',
    allows: ['operate'],
    needs: ['submit'],
    params: scheduleParams,
    body: triggerBody,
    responses: {
      200: {
        what: 'The execution, or the open one because of which none was submitted.',
        schema: Type.Union([
          closed({
            kind: Type.Literal('submitted', { description: 'An execution was submitted.' }),
            id: documented(executionId, 'The execution.'),
          }),
          closed({
            kind: Type.Literal('skipped', { description: 'Nothing was submitted.' }),
            open: documented(executionId, 'The open execution.'),
          }),
        ]),
      },
      ...NO_SCHEDULE,
      ...CODEC_MISSING,
    },
  },
  backfillSchedule: {
    at: 'POST /v1/schedules/:id/backfill',
    summary: 'Submit past times of a schedule',
    description:
      'Submits each time from `from` to `to`, oldest first. A time that has an execution gets no second one, so you can repeat the request. Writes an audit record.',
    allows: ['operate'],
    needs: ['submit'],
    params: scheduleParams,
    body: closed(
      {
        from: documented(instant, 'First time.'),
        to: documented(instant, 'Last time, not in the future. At most 1,000 times.'),
      },
      { examples: [{ from: '2026-11-01T00:00:00.000Z', to: '2026-11-08T00:00:00.000Z' }] },
    ),
    responses: {
      200: {
        what: 'All times have an execution.',
        schema: closed({
          kind: Type.Literal('done', { description: 'Always `done`.' }),
          times: Type.Integer({ minimum: 0, description: 'Times in the range.' }),
          submitted: Type.Integer({ minimum: 0, description: 'New executions among them.' }),
        }),
      },
      ...NO_SCHEDULE,
      ...CODEC_MISSING,
    },
  },
  removeSchedule: {
    at: 'DELETE /v1/schedules/:id',
    summary: 'Delete a schedule',
    description:
      'Deletes the schedule and writes an audit record. Executions that it submitted continue. Repeating it changes nothing.',
    allows: ['operate'],
    params: scheduleParams,
    responses: CHANGED,
  },
});
