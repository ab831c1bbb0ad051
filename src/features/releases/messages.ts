// Releases, rollouts and preflights.

import { type Static, Type } from 'typebox';
import { idParams } from '../../protocol/messages/execution.ts';
import { ADMIN, type Operations } from '../../protocol/messages/operation.ts';
import {
  closed,
  count,
  executionId,
  instant,
  name,
  pageOf,
  paging,
  reason,
  releaseName,
  seq,
} from '../../protocol/messages/words.ts';
import { bulkMoveBody, MADE } from '../repair/messages.ts';
import { LINE_ACTS } from './model.ts';

const digest = Type.String({ minLength: 1, maxLength: 256 });
const percent = Type.Integer({ minimum: 0, maximum: 99 });

const pipelineParams = closed({ pipeline: name });
const releaseParams = closed({ pipeline: name, name: releaseName });

const registerBody = closed({
  name: releaseName,
  artifact: name,
  digest,
  contract: Type.Record(Type.String(), Type.Unknown(), {
    description: 'As `holdfast contract build` made it.',
  }),
});

export type RegisterBody = Static<typeof registerBody>;

export const registered = closed({
  existing: Type.Boolean({ description: 'The same was registered before.' }),
});

const change = closed({
  part: Type.String(),
  path: Type.String(),
  breaking: Type.Boolean(),
  what: Type.String(),
});

const broken = closed({
  execution: executionId,
  release: Type.Optional(Type.String()),
  seq: Type.Optional(count),
  why: Type.String(),
});

const FOUND = {
  against: Type.Optional(Type.String()),
  changes: Type.Array(change),
  open: count,
  looked: count,
  broken: Type.Array(broken),
  brokenCount: count,
};

const preflightBody = closed({
  sample: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000_000 })),
  waitMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 60_000 })),
});

export type PreflightBody = Static<typeof preflightBody>;

const preflightFound = closed({ breaking: Type.Boolean(), ...FOUND });

export type PreflightMessage = Static<typeof preflightFound>;

const release = closed({
  pipeline: Type.String(),
  name: releaseName,
  state: Type.Enum(['registered', 'candidate', 'active', 'draining', 'drained', 'retired']),
  pinned: count,
  artifact: Type.String(),
  digest,
  contractVersion: Type.String(),
  createdAt: instant,
  createdBy: Type.String(),
  preflight: Type.Optional(closed({ at: instant, ...FOUND })),
  retiredAt: Type.Optional(instant),
});

export type ReleaseMessage = Static<typeof release>;

const LINE = {
  active: Type.Optional(Type.String()),
  previous: Type.Optional(Type.String()),
  candidate: Type.Optional(Type.String()),
  percent: Type.Optional(percent),
};

export const line = closed({ version: count, ...LINE });

export type LineMessage = Static<typeof line>;

const linePage = pageOf(closed({ pipeline: Type.String(), version: count, ...LINE }));

export type LineOfMessage = Static<typeof linePage>['items'][number];

const compared = closed({
  against: Type.Optional(
    Type.String({ description: 'Absent where there is nothing to compare with.' }),
  ),
  breaking: Type.Boolean(),
  changes: Type.Array(change),
});

export type ComparedMessage = Static<typeof compared>;

const lineBody = closed(
  {
    act: Type.Enum([...LINE_ACTS]),
    name: Type.Optional(releaseName),
    percent: Type.Optional(percent),
    expected: Type.Optional(count),
    force: Type.Optional(Type.Boolean()),
    reason: Type.Optional(reason),
  },
  { description: '`name` for activate, percentage and retire.' },
);

export type LineBody = Static<typeof lineBody>;

const lineChanged = closed({ kind: Type.Enum(['changed', 'no-change']), line });

const activationList = closed({
  items: Type.Array(
    closed({
      version: count,
      at: instant,
      act: Type.Enum([...LINE_ACTS]),
      name: Type.String(),
      actor: Type.String(),
      reason: Type.String(),
      forced: Type.Boolean(),
      before: closed(LINE),
      after: closed(LINE),
    }),
  ),
});

export type ActivationMessage = Static<typeof activationList>['items'][number];

const moveBody = closed({
  to: releaseName,
  from: Type.Optional(Type.Union([releaseName, Type.Null()])),
  force: Type.Optional(Type.Boolean()),
  reason: Type.Optional(reason),
});

export type MoveBody = Static<typeof moveBody>;

/** The release that a worker announces, with the contracts of its code. */
export const announcedRelease = closed({
  name: releaseName,
  digest,
  contracts: Type.Record(Type.String(), Type.String({ maxLength: 256 }), {
    maxProperties: 1_000,
  }),
});

/** The announcement from a worker's claim loop. */
export const announceBody = closed({
  session: Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }),
  pipelines: Type.Array(name, { maxItems: 1_000 }),
  release: Type.Optional(announcedRelease),
  state: Type.Enum(['starting', 'ready', 'draining']),
  everyMs: Type.Integer({ minimum: 1, maximum: 86_400_000 }),
  room: seq,
});

const READERS = ['submit', 'operate', 'admin'] as const;

const NO = { 409: { what: 'Refused, and why.' } } as const;

export const releaseOperations = {
  registerRelease: {
    at: 'POST /v1/pipelines/:pipeline/releases',
    summary: 'A build of a pipeline. The same again is fine.',
    ...ADMIN,
    params: pipelineParams,
    body: registerBody,
    answers: { 200: { what: 'It is there.', schema: registered }, ...NO },
  },
  listReleases: {
    at: 'GET /v1/pipelines/:pipeline/releases',
    summary: 'Releases of a pipeline, newest first, with what is pinned to each.',
    allows: READERS,
    params: pipelineParams,
    answers: {
      200: { what: 'The last thousand.', schema: closed({ items: Type.Array(release) }) },
    },
  },
  listLines: {
    at: 'GET /v1/pipelines',
    summary: 'Pipelines that have releases, by name, and where new executions of each go.',
    allows: READERS,
    query: closed(paging(name)),
    answers: { 200: { what: 'A page.', schema: linePage } },
  },
  compareRelease: {
    at: 'GET /v1/pipelines/:pipeline/releases/:name/changes',
    summary: 'What the contract of a release changes, against what is active or against another.',
    allows: READERS,
    params: releaseParams,
    query: closed({ against: Type.Optional(releaseName) }),
    answers: { 200: { what: 'Each change, and whether it breaks.', schema: compared } },
  },
  readLine: {
    at: 'GET /v1/pipelines/:pipeline/line',
    summary: 'Where new executions of a pipeline go.',
    allows: READERS,
    params: pipelineParams,
    answers: { 200: { what: 'As it is now; version 0 before the first act.', schema: line } },
  },
  listActivations: {
    at: 'GET /v1/pipelines/:pipeline/activations',
    summary: 'Who changed where new executions go, when and why; newest first.',
    allows: READERS,
    params: pipelineParams,
    answers: { 200: { what: 'The last thousand.', schema: activationList } },
  },
  changeLine: {
    at: 'POST /v1/pipelines/:pipeline/line',
    summary: 'Activates a release, gives it a share, promotes, rolls back, deactivates or retires.',
    ...ADMIN,
    params: pipelineParams,
    body: lineBody,
    answers: { 200: { what: 'As it is now.', schema: lineChanged }, ...NO },
  },
  preflightRelease: {
    at: 'POST /v1/pipelines/:pipeline/releases/:name/preflight',
    summary:
      'What a release would break: its contract, and open executions replayed by a worker of it.',
    ...ADMIN,
    isLong: true,
    params: releaseParams,
    body: preflightBody,
    answers: {
      200: { what: 'What was found; it stays with the release.', schema: preflightFound },
      503: { what: 'No worker of that release did it in time.' },
    },
  },
  moveExecution: {
    at: 'POST /v1/executions/:id/move',
    summary:
      'Gives an open execution that nobody runs another release, when a worker of it finds that its history fits.',
    ...ADMIN,
    isLong: true,
    params: idParams,
    body: moveBody,
    answers: {
      200: {
        what: 'It is pinned there now.',
        schema: closed({
          kind: Type.Enum(['moved', 'no-change']),
          id: executionId,
          release: Type.String(),
        }),
      },
      ...NO,
    },
  },
  moveMany: {
    at: 'POST /v1/pipelines/:pipeline/move',
    summary:
      'Gives all that is open and pinned to a release another one, where a worker of it finds that its history fits: a job.',
    ...ADMIN,
    params: pipelineParams,
    body: bulkMoveBody,
    answers: { ...MADE, 409: { what: 'Refused, and why.' } },
  },
} as const satisfies Operations;
