// Sessions, workers and the load, as operators see them.

import { type Static, Type } from 'typebox';
import { LANES } from '../../execution/execution.ts';
import { adviceQuery, advised } from './advice.ts';
import { storeProblem } from './execution.ts';
import { ADMIN, operationsOf, READERS } from './operation.ts';
import {
  auditReason,
  choice,
  closed,
  count,
  documented,
  executionId,
  fence,
  flag,
  instant,
  integer,
  integerWithin,
  lane,
  limit,
  listOf,
  optional,
  pageOf,
  paging,
  text,
  titled,
  uuid,
  withExample,
} from './words.ts';

const STATES = ['alive', 'lapsed', 'overdue', 'ended'];

const ms = integer('Milliseconds; below zero when that time has passed.');

const SESSION_EXAMPLE = {
  id: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
  owner: 'worker-1',
  state: 'alive',
  project: 'default',
  pipelines: ['order'],
  ...{ host: 'host-3', version: '0.1.0' },
  ttlMs: 15_000,
  graceMs: 5_000,
  slackMs: 8_200,
  remainingMs: 13_200,
  openedAt: '2026-11-17T09:00:00.000Z',
  beatAt: '2026-11-17T09:30:00.000Z',
};

const session = closed(
  {
    id: documented(uuid, 'Id of the session.'),
    owner: text('Name that the process gave itself.'),
    state: choice(
      STATES,
      '`lapsed`: it may not act, but can rejoin. `overdue`: its time is over and the end is not stored yet.',
    ),
    project: optional(text('Project of a worker that connects through this API.')),
    pipelines: optional(listOf(Type.String(), 'Pipelines that it runs.')),
    host: optional(text('Host of its process. Absent if the process did not report it.', 'host-3')),
    version: optional(
      text('Version of the Holdfast library in its process. Absent if not reported.', '0.1.0'),
    ),
    ttlMs: documented(count, 'Lifetime after a heartbeat, in milliseconds.'),
    graceMs: documented(count, 'Last part of `ttlMs`, in which it may rejoin but not act.'),
    slackMs: integer('How long it may act without another heartbeat, in milliseconds.'),
    remainingMs: documented(
      ms,
      'Time until it is overdue, in milliseconds; below zero afterwards.',
    ),
    openedAt: documented(instant, 'When it was opened.'),
    beatAt: documented(instant, 'When its last heartbeat arrived.'),
    end: optional(
      closed(
        {
          at: documented(instant, 'When it ended.'),
          exit: text('How it ended, such as `finished` or `expired`.'),
          cause: optional(text('The reason, if an operator ended it.')),
          actor: optional(text('The actor that ended it.')),
        },
        { description: 'Its end. Absent while it lives.' },
      ),
    ),
  },
  titled('Session', SESSION_EXAMPLE),
);

export type SessionMessage = Static<typeof session>;

const refusedWorker = closed(
  {
    release: text('Release that it announced.'),
    digest: text('Digest that it announced.'),
    pipeline: text('Pipeline that it was refused for.'),
    why: choice(['release-unknown', 'release-retired', 'release-differs'], 'Code of the refusal.'),
    differs: optional(
      closed(
        {
          part: choice(['digest', 'contract'], 'The part that differs.'),
          announced: text('Value of the worker.'),
          registered: text('Value of the registered release.'),
        },
        { description: 'The difference, for `release-differs`.' },
      ),
    ),
    detail: text('Cause and fix, for people.'),
  },
  {
    title: 'RefusedWorker',
    description:
      'Why its announced release was refused. Such a worker gets no pinned executions. Only the coordinator that received the announcement knows it.',
  },
);

export type RefusedWorkerMessage = Static<typeof refusedWorker>;

const worker = closed(
  {
    ...session.properties,
    kind: choice(
      ['remote', 'embedded', 'coordinator'],
      '`remote`: connects through this API. `embedded`: has the store in its process. `coordinator`: does maintenance for all projects.',
    ),
    work: optional(
      choice(
        ['starting', 'ready', 'draining', 'stuck', 'gone'],
        'State of its claim loop. `stuck`: the process lives, but the loop does not run.',
      ),
    ),
    release: optional(text('Release that it runs.')),
    refused: optional(refusedWorker),
    room: optional(count, 'Free slots: executions that it can take besides those that it runs.'),
    inFlight: closed(
      Object.fromEntries(
        LANES.map((lane) => [lane, documented(count, `Number of ${lane} executions.`)]),
      ),
      {
        description:
          'Executions that it runs now, by lane: of the project, or of all projects for keys for all projects.',
      },
    ),
  },
  titled('Worker', {
    ...{ ...SESSION_EXAMPLE, kind: 'remote', work: 'ready', release: 'v2', room: 96 },
    inFlight: { interactive: 3, batch: 1 },
  }),
);

export type WorkerMessage = Static<typeof worker>;

const sessionInFull = closed(
  {
    ...session.properties,
    leases: listOf(
      closed({
        key: text('Key of the lease.'),
        fence,
        deadlineInMs: optional(
          ms,
          'Time until its hard deadline or drain deadline, in milliseconds.',
        ),
        drained: flag('True if its holder was asked to stop.'),
      }),
      'Leases that the session carries.',
    ),
  },
  titled('SessionInFull', {
    ...SESSION_EXAMPLE,
    leases: [{ key: 'reports/nightly', fence: 1_099_511_627_777, drained: false }],
  }),
);

const ended = closed({ kind: Type.Literal('ended', { description: 'Always `ended`.' }) });

const depth = closed(
  {
    max: documented(
      count,
      'Largest number that is counted. A count of `max` means this many or more.',
    ),
    lanes: listOf(
      closed({
        lane,
        ready: documented(count, 'Number of executions that wait for a worker.'),
        running: documented(count, 'Number of executions that a worker runs.'),
      }),
      'Counts by lane.',
    ),
    storeProblem: optional(storeProblem),
  },
  withExample({
    max: 10_000,
    lanes: [
      { lane: 'interactive', ready: 2, running: 3 },
      { lane: 'batch', ready: 140, running: 1 },
    ],
  }),
);

export type DepthMessage = Static<typeof depth>;

const sessionParams = closed({ id: documented(uuid, 'Id of the session.') });

const NO_SESSION = {
  404: {
    what: 'There is no such session, or this key may not see it.',
    codes: ['session-unknown'],
  },
} as const;

export const sessionOperations = operationsOf('Workers and sessions', {
  listWorkers: {
    at: 'GET /v1/workers',
    summary: 'List workers',
    description:
      "Returns the project's live workers: state, release, pipelines and what they run. Keys for all projects also see workers that serve all projects. Read on while there is a cursor; a page may be empty.",
    allows: READERS,
    query: closed(paging(uuid)),
    responses: { 200: { what: 'One page of workers.', schema: pageOf(worker) } },
  },
  listSessions: {
    at: 'GET /v1/sessions',
    summary: 'List sessions',
    description:
      "Returns the project's sessions by id. Keys for all projects see every session. Read on while there is a cursor; a page may be empty.",
    allows: ['operate'],
    query: closed({
      all: optional(flag('Also list ended sessions. Default: false.', true)),
      ...paging(uuid),
    }),
    responses: { 200: { what: 'One page of sessions.', schema: pageOf(session) } },
  },
  readSession: {
    at: 'GET /v1/sessions/:id',
    summary: 'Read a session',
    description: 'Returns one session and the first 1,000 leases that it carries.',
    allows: ['operate'],
    params: sessionParams,
    responses: { 200: { what: 'The session.', schema: sessionInFull }, ...NO_SESSION },
  },
  forceSessionEnd: {
    at: 'POST /v1/sessions/:id/end',
    summary: 'End a session by force',
    description:
      'Ends the session now, so that others can take its leases and executions at once. Its later writes are refused. Writes an audit record first. Repeating it is refused with `session-ended`.',
    ...ADMIN,
    params: sessionParams,
    body: closed({ reason: auditReason }),
    responses: {
      200: { what: 'The session has ended.', schema: ended },
      ...NO_SESSION,
      409: { what: 'The session had ended before.', codes: ['session-ended'] },
    },
  },
});

const heartbeats = closed(
  {
    from: documented(instant, 'Start of the first cell.'),
    cellMs: documented(count, 'Length of a cell, in milliseconds.', 30_000),
    observedSince: optional(
      instant,
      'When this coordinator began to observe. Absent before its first reading.',
    ),
    isCut: flag('True if there are more sessions than the coordinator observes or than `limit`.'),
    items: listOf(
      closed({
        session: documented(uuid, 'Id of the session.'),
        owner: text('Name that the process gave itself.'),
        project: optional(text('Project of a remote worker.')),
        cells: text(
          'A letter for each cell, the oldest first: `o` in time, `l` late, `x` lapsed or overdue, `.` not open or not observed. The worst reading of a cell counts.',
          'ooolxxx.',
        ),
        end: session.properties.end,
        refused: listOf(
          closed({
            at: documented(instant, 'When it was refused.'),
            execution: documented(executionId, 'Execution that it was for.'),
            fence: documented(fence, 'Fence that the write carried.'),
            newest: optional(fence, 'Newest fence of the execution then.'),
            count: documented(count, 'Number of refused writes of this kind under this fence.'),
          }),
          'Refused writes of the session in the range, the newest first.',
        ),
      }),
      'Sessions that were observed in the range, those that lapsed first.',
    ),
  },
  titled('Heartbeats', {
    from: '2026-11-17T08:30:00.000Z',
    cellMs: 30_000,
    observedSince: '2026-11-16T22:00:00.000Z',
    isCut: false,
    items: [
      {
        ...{ session: SESSION_EXAMPLE.id, owner: 'worker-1', cells: 'ooolxxx.' },
        end: { at: '2026-11-17T08:33:20.000Z', exit: 'expired' },
        refused: [],
      },
    ],
  }),
);

export type HeartbeatsMessage = Static<typeof heartbeats>;

/** The load of the queue, and advice on times. */
export const loadOperations = operationsOf('Workers and sessions', {
  readDepth: {
    at: 'GET /v1/depth',
    summary: 'Read the queue depth',
    description:
      "Returns how many of the project's executions wait for a worker and how many run, by lane.",
    allows: READERS,
    isSearch: true,
    responses: { 200: { what: 'The counts.', schema: depth } },
  },
  readHeartbeats: {
    at: 'GET /v1/heartbeats',
    summary: 'Read the heartbeats of sessions over time',
    description:
      'Returns how the heartbeats of each session did in a range, with ends and refused writes. This coordinator reads the live sessions every 5 s and remembers up to 1,000 of them, for up to a week and until it restarts.',
    allows: ['operate'],
    isSearch: true,
    query: closed({
      rangeMs: optional(
        integerWithin(
          60_000,
          7 * 86_400_000,
          'Length of the range, in milliseconds. Default: one hour.',
          3_600_000,
        ),
      ),
      to: optional(instant, 'End of the range. Default: now.'),
      limit: optional(limit, 'Most sessions. Default: 100.'),
    }),
    responses: { 200: { what: 'The heartbeats.', schema: heartbeats } },
  },
  readAdvice: {
    at: 'GET /v1/advice',
    summary: 'Recommend ttl and grace for sessions',
    description:
      'Returns the ttl, grace and heartbeat interval that meet your goals, with the predicted takeover time and false losses. Values that you leave out are measured by this coordinator or assumed.',
    allows: ['operate'],
    query: adviceQuery,
    responses: {
      200: { what: 'A recommendation, or the goals that contradict each other.', schema: advised },
    },
  },
});
