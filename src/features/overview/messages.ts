// Figures of a project for operators: what is open now, and how executions ended over time.

import { type Static, Type } from 'typebox';
import { STATUSES } from '../../execution/execution.ts';
import { storeProblem } from '../../protocol/messages/execution.ts';
import { type Operations, READERS } from '../../protocol/messages/operation.ts';
import {
  closed,
  count,
  documented,
  executionId,
  flag,
  instant,
  integerWithin,
  listOf,
  optional,
  pipelineName,
  releaseName,
  text,
  titled,
} from '../../protocol/messages/words.ts';
import { RANGE_MS_MAX } from './model.ts';

export const cappedCount = closed(
  {
    count: documented(count, 'Exact up to 10,000.', 19),
    capped: flag('True if there are more than `count`.'),
  },
  titled('CappedCount', { count: 19, capped: false }),
);

const statuses = closed(
  Object.fromEntries(
    STATUSES.map((status) => [status, optional(cappedCount, `Executions in state \`${status}\`.`)]),
  ),
  { description: 'Executions by state. Absent states have none.' },
);

const release = optional(releaseName, 'Release. Absent for executions without a pin.');

const pipelineFigures = closed({
  pipeline: pipelineName,
  release,
  statuses,
  ready: documented(cappedCount, 'Executions that a worker could claim now.'),
  oldestReadyAt: optional(instant, 'Since when the longest waiting of them is ready.'),
  blocked: optional(
    cappedCount,
    'Executions that their code blocks: it threw outside of a step, or does not match the history. Their state counts them too. Absent if none was counted.',
  ),
  workers: documented(count, 'Live workers that serve it. Draining and stuck ones do not count.'),
  lastWorker: optional(
    closed(
      {
        owner: text('Name of the worker.', 'resizer@host-7'),
        lastSeenAt: documented(instant, 'When its claim loop last reported.'),
      },
      {
        description:
          'Worker that served it last. Absent while one serves it, and after the store forgot the session.',
      },
    ),
  ),
});

const cause = closed(
  {
    pipeline: pipelineName,
    code: text('Code of the failure.', 'card-declined'),
    step: optional(
      text(
        'Step that failed, with `*` for digits, so that steps in a loop are one cause. Absent if no step failed.',
        'row-*',
      ),
    ),
    message: text('Message of the newest failure.'),
    count: documented(count, 'Dead letters with this cause.', 7),
    lastHour: documented(count, 'Those of the last hour.', 2),
    firstAt: documented(instant, 'When the first of them ended.'),
    lastAt: documented(instant, 'When the last of them ended.'),
    newest: documented(executionId, 'The newest of them.'),
  },
  { title: 'FailureCause' },
);

const overview = closed(
  {
    at: documented(instant, 'When the store counted, by its clock.'),
    pipelines: listOf(pipelineFigures, 'By pipeline and release, sorted by name, at most 1,000.'),
    deadLetters: closed(
      {
        count: documented(count, 'Open dead letters, exact up to 10,000.', 7),
        capped: flag('True if there are more.'),
        quarantined: documented(cappedCount, 'Those of quarantined executions.'),
        lastHour: documented(cappedCount, 'Those of the last hour.'),
        causes: listOf(cause, 'Open dead letters by cause, the most frequent first, at most 100.'),
      },
      { description: 'Executions that failed for good and were not re-driven.' },
    ),
    questions: closed(
      {
        open: documented(cappedCount, 'Questions without an answer.'),
        overdue: documented(cappedCount, 'Those of them whose time limit has passed.'),
        nextDueAt: optional(instant, 'Next time limit of an open question.'),
      },
      { description: 'Questions that executions ask.' },
    ),
    workers: closed(
      {
        ready: documented(count, 'Live workers that take work.', 4),
        draining: documented(count, 'Workers that are stopping.', 0),
        stuck: documented(count, 'Workers whose claim loop does not report.', 0),
        refused: documented(count, 'Workers whose release was refused.', 0),
        lapsed: documented(count, 'Workers that are gone and still own executions.', 0),
        left: documented(
          count,
          'Executions that lapsed workers own, until others take them over.',
          0,
        ),
        running: documented(count, 'Executions that live workers run.', 12),
        room: documented(count, 'Executions that they could take besides.', 28),
      },
      { description: "The project's workers." },
    ),
    storeProblem: optional(storeProblem),
  },
  titled('Overview', {
    at: '2026-11-17T09:30:00.000Z',
    pipelines: [
      {
        pipeline: 'order',
        statuses: { completed: { count: 10_000, capped: true } },
        ready: { count: 0, capped: false },
        workers: 2,
      },
    ],
    deadLetters: {
      ...{ count: 0, capped: false },
      quarantined: { count: 0, capped: false },
      lastHour: { count: 0, capped: false },
      causes: [],
    },
    questions: { open: { count: 0, capped: false }, overdue: { count: 0, capped: false } },
    workers: {
      ...{ ready: 2, draining: 0, stuck: 0, refused: 0 },
      ...{ lapsed: 0, left: 0, running: 12, room: 28 },
    },
  }),
);

export type OverviewMessage = Static<typeof overview>;

const milliseconds = Type.Integer({ minimum: 0 });

const ended = closed(
  {
    completed: documented(count, 'Completed.', 31),
    failed: documented(count, 'Failed.', 1),
    cancelled: documented(count, 'Cancelled.', 0),
    quarantined: documented(count, 'Quarantined.', 0),
    compensated: documented(count, 'Compensated.', 0),
  },
  { title: 'EndedCounts', description: 'Executions that ended, by final state.' },
);

const duration = optional(
  closed(
    {
      p50Ms: documented(milliseconds, 'Half took at most this long, in milliseconds.', 1_600),
      p95Ms: documented(milliseconds, '95 % took at most this long, in milliseconds.', 2_900),
      p99Ms: documented(milliseconds, '99 % took at most this long, in milliseconds.', 6_100),
    },
    {
      title: 'Durations',
      description: 'Time from submit to end, accurate to 19 %. Absent if no execution ended.',
    },
  ),
);

const trends = closed(
  {
    from: documented(instant, 'Start of the first interval.'),
    to: documented(instant, 'End of the last interval.'),
    intervalMs: documented(milliseconds, 'Length of an interval, in milliseconds.', 60_000),
    until: optional(
      instant,
      'Executions that ended until then are counted. Absent before the first count of the store.',
    ),
    capped: optional(
      Type.Literal(true, {
        description:
          'The project has more counts than one read examines: the oldest are left out, or pipelines after the first 1,000.',
      }),
    ),
    points: listOf(
      closed({ at: documented(instant, 'Start of the interval.'), ended, duration }),
      'Every interval, oldest first, also those in which no execution ended.',
    ),
    total: closed({ ended, duration }, { description: 'The whole range.' }),
    previous: closed({ ended, duration }, { description: 'The range of equal length before it.' }),
    pipelines: listOf(
      closed({ pipeline: pipelineName, release, ended, duration }),
      'The whole range by pipeline and release, sorted by name.',
    ),
  },
  titled('Trends', {
    from: '2026-11-17T08:30:00.000Z',
    to: '2026-11-17T09:30:00.000Z',
    intervalMs: 60_000,
    until: '2026-11-17T09:29:58.000Z',
    points: [],
    total: {
      ended: { completed: 31, failed: 1, cancelled: 0, quarantined: 0, compensated: 0 },
      duration: { p50Ms: 1_600, p95Ms: 2_900, p99Ms: 6_100 },
    },
    previous: { ended: { completed: 0, failed: 0, cancelled: 0, quarantined: 0, compensated: 0 } },
    pipelines: [],
  }),
);

export type TrendsMessage = Static<typeof trends>;

export const overviewOperations = {
  readOverview: {
    at: 'GET /v1/overview',
    tag: 'Overview',
    summary: 'Count what a project has now',
    description:
      'Returns the number of executions by pipeline, release and state, since when the oldest ready one waits, open dead letters by cause, open questions, and workers. The store counts, so no page of rows limits the figures. All callers of a project share one count per second.',
    allows: READERS,
    isSearch: true,
    responses: { 200: { what: 'The counts.', schema: overview } },
  },
  readTrends: {
    at: 'GET /v1/trends',
    tag: 'Overview',
    summary: 'Read rates and durations over time',
    description:
      'Returns how many executions ended in each interval of a range, by final state, with the median, p95 and p99 of their durations. The figures come from rollups, which a read updates at most once per second. They go back 93 days; ranges of up to 13 hours have intervals of a minute or more. If a project has very many pipelines, the intervals are longer.',
    allows: READERS,
    isSearch: true,
    query: closed({
      rangeMs: optional(
        integerWithin(
          60_000,
          RANGE_MS_MAX,
          'Length of the range, in milliseconds. Default: one hour.',
          3_600_000,
        ),
      ),
      to: optional(instant, 'End of the range. Default: now.'),
      pipeline: optional(pipelineName, 'Only this pipeline. Default: all.'),
      release: optional(releaseName, 'Only this release. Needs `pipeline`. Default: all.'),
    }),
    responses: { 200: { what: 'The figures.', schema: trends } },
  },
} as const satisfies Operations;
