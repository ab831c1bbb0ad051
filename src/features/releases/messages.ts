// Releases: what was built, where new executions go, what a release would break.

import { type Static, Type } from 'typebox';
import {
  CLOSED,
  count,
  executionId,
  instant,
  limit,
  name,
  pageOf,
  reason,
  seq,
} from '../../protocol/messages/words.ts';
import { LINE_ACTS } from './model.ts';

const releaseName = Type.String({ pattern: '^[\\w.+:-]+$', minLength: 1, maxLength: 128 });
const digest = Type.String({ minLength: 1, maxLength: 256 });
const percent = Type.Integer({ minimum: 0, maximum: 99 });

export const pipelineParams = Type.Object({ pipeline: name }, CLOSED);
export const releaseParams = Type.Object({ pipeline: name, name: releaseName }, CLOSED);

export const registerBody = Type.Object(
  {
    name: releaseName,
    artifact: name,
    digest,
    contract: Type.Record(Type.String(), Type.Unknown(), {
      description: 'As `holdfast contract build` made it.',
    }),
  },
  CLOSED,
);

export type RegisterBody = Static<typeof registerBody>;

export const registered = Type.Object(
  { existing: Type.Boolean({ description: 'The same was registered before.' }) },
  CLOSED,
);

const change = Type.Object(
  { part: Type.String(), path: Type.String(), breaking: Type.Boolean(), what: Type.String() },
  CLOSED,
);

const broken = Type.Object(
  {
    execution: executionId,
    release: Type.Optional(Type.String()),
    seq: Type.Optional(count),
    why: Type.String(),
  },
  CLOSED,
);

const FOUND = {
  against: Type.Optional(Type.String()),
  changes: Type.Array(change),
  open: count,
  looked: count,
  broken: Type.Array(broken),
  brokenCount: count,
};

export const preflightBody = Type.Object(
  {
    sample: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000_000 })),
    waitMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 60_000 })),
  },
  CLOSED,
);

export type PreflightBody = Static<typeof preflightBody>;

export const preflightFound = Type.Object({ breaking: Type.Boolean(), ...FOUND }, CLOSED);

export type PreflightMessage = Static<typeof preflightFound>;

export const release = Type.Object(
  {
    pipeline: Type.String(),
    name: releaseName,
    state: Type.Enum(['registered', 'candidate', 'active', 'draining', 'drained', 'retired']),
    pinned: count,
    artifact: Type.String(),
    digest,
    contractVersion: Type.String(),
    createdAt: instant,
    createdBy: Type.String(),
    preflight: Type.Optional(Type.Object({ at: instant, ...FOUND }, CLOSED)),
    retiredAt: Type.Optional(instant),
  },
  CLOSED,
);

export type ReleaseMessage = Static<typeof release>;

export const releaseList = Type.Object({ items: Type.Array(release) }, CLOSED);

const LINE = {
  active: Type.Optional(Type.String()),
  previous: Type.Optional(Type.String()),
  candidate: Type.Optional(Type.String()),
  percent: Type.Optional(percent),
};

export const line = Type.Object({ version: count, ...LINE }, CLOSED);

export type LineMessage = Static<typeof line>;

export const linePage = pageOf(
  Type.Object({ pipeline: Type.String(), version: count, ...LINE }, CLOSED),
);

export type LineOfMessage = Static<typeof linePage>['items'][number];

export const lineListQuery = Type.Object(
  { cursor: Type.Optional(name), limit: Type.Optional(limit) },
  CLOSED,
);

export const compareQuery = Type.Object({ against: Type.Optional(releaseName) }, CLOSED);

export const compared = Type.Object(
  {
    against: Type.Optional(
      Type.String({ description: 'Absent where there is nothing to compare with.' }),
    ),
    breaking: Type.Boolean(),
    changes: Type.Array(change),
  },
  CLOSED,
);

export type ComparedMessage = Static<typeof compared>;

export const lineBody = Type.Object(
  {
    act: Type.Enum([...LINE_ACTS]),
    name: Type.Optional(releaseName),
    percent: Type.Optional(percent),
    expected: Type.Optional(count),
    force: Type.Optional(Type.Boolean()),
    reason: Type.Optional(reason),
  },
  { ...CLOSED, description: '`name` for activate, percentage and retire.' },
);

export type LineBody = Static<typeof lineBody>;

export const lineChanged = Type.Object({ kind: Type.Enum(['changed', 'no-change']), line }, CLOSED);

export type LineChangedMessage = Static<typeof lineChanged>;

export const activationList = Type.Object(
  {
    items: Type.Array(
      Type.Object(
        {
          version: count,
          at: instant,
          act: Type.Enum([...LINE_ACTS]),
          name: Type.String(),
          actor: Type.String(),
          reason: Type.String(),
          forced: Type.Boolean(),
          before: Type.Object(LINE, CLOSED),
          after: Type.Object(LINE, CLOSED),
        },
        CLOSED,
      ),
    ),
  },
  CLOSED,
);

export type ActivationMessage = Static<typeof activationList>['items'][number];

export const moveBody = Type.Object(
  {
    to: releaseName,
    from: Type.Optional(Type.Union([releaseName, Type.Null()])),
    force: Type.Optional(Type.Boolean()),
    reason: Type.Optional(reason),
  },
  CLOSED,
);

export type MoveBody = Static<typeof moveBody>;

export const moved = Type.Object(
  { kind: Type.Enum(['moved', 'no-change']), id: executionId, release: Type.String() },
  CLOSED,
);

/** What a worker says that it is, with the contracts of its code. */
export const announcedRelease = Type.Object(
  {
    name: releaseName,
    digest,
    contracts: Type.Record(Type.String(), Type.String({ maxLength: 256 }), {
      maxProperties: 1_000,
    }),
  },
  CLOSED,
);

/** Of a worker, by the loop that claims. */
export const announceBody = Type.Object(
  {
    session: Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }),
    pipelines: Type.Array(name, { maxItems: 1_000 }),
    release: Type.Optional(announcedRelease),
    state: Type.Enum(['starting', 'ready', 'draining']),
    everyMs: Type.Integer({ minimum: 1, maximum: 86_400_000 }),
    room: seq,
  },
  CLOSED,
);

export { releaseName };
