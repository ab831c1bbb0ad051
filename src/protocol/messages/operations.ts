// Sessions, workers and leases, as operators see them.

import { type Static, Type } from 'typebox';
import { LANES } from '../../execution/execution.ts';
import { storeProblem } from './execution.ts';
import {
  CLOSED,
  count,
  durationMs,
  fence,
  instant,
  lane,
  limit,
  name,
  pageOf,
  uuid,
} from './words.ts';

const STATES = ['alive', 'lapsed', 'overdue', 'ended'];
const text = Type.String({ minLength: 1, maxLength: 2_048 });
const key = Type.String({ minLength: 1, maxLength: 512 });
const ms = Type.Integer({ description: 'Milliseconds; below zero when that has passed.' });

export const session = Type.Object(
  {
    id: uuid,
    owner: Type.String(),
    state: Type.Enum(STATES),
    project: Type.Optional(Type.String({ description: 'Of a worker that came by this API.' })),
    pipelines: Type.Optional(Type.Array(Type.String())),
    ttlMs: count,
    graceMs: count,
    slackMs: Type.Integer({ description: 'How long it may act without another heartbeat.' }),
    remainingMs: ms,
    openedAt: instant,
    beatAt: instant,
    end: Type.Optional(
      Type.Object(
        {
          at: instant,
          exit: Type.String(),
          cause: Type.Optional(Type.String()),
          actor: Type.Optional(Type.String()),
        },
        CLOSED,
      ),
    ),
  },
  CLOSED,
);

export type SessionMessage = Static<typeof session>;

export const sessionPage = pageOf(session);

const refusedWorker = Type.Object(
  {
    release: Type.String(),
    digest: Type.String(),
    pipeline: Type.String(),
    why: Type.Enum(['release-unknown', 'release-retired', 'release-differs']),
    differs: Type.Optional(
      Type.Object(
        {
          part: Type.Enum(['digest', 'contract']),
          announced: Type.String(),
          registered: Type.String(),
        },
        CLOSED,
      ),
    ),
    detail: Type.String(),
  },
  {
    ...CLOSED,
    description:
      'What it said that it is, and is not: it gets nothing that is pinned. Known to the coordinator that it said it to.',
  },
);

export type RefusedWorkerMessage = Static<typeof refusedWorker>;

export const worker = Type.Object(
  {
    ...session.properties,
    kind: Type.Enum(['remote', 'embedded', 'coordinator'], {
      description: 'By this API; in a process with the store; what a coordinator does for all.',
    }),
    work: Type.Optional(
      Type.Enum(['starting', 'ready', 'draining', 'stuck', 'gone'], {
        description: 'Whether it takes work, as the loop that takes it says.',
      }),
    ),
    release: Type.Optional(Type.String()),
    refused: Type.Optional(refusedWorker),
    inFlight: Type.Object(Object.fromEntries(LANES.map((lane) => [lane, count])), {
      ...CLOSED,
      description: 'What it runs now, by lane: of the project, or of all for keys of all projects.',
    }),
  },
  CLOSED,
);

export type WorkerMessage = Static<typeof worker>;

export const workerPage = pageOf(worker);

export const sessionQuery = Type.Object(
  {
    all: Type.Optional(Type.Boolean({ description: 'Ended ones too.' })),
    cursor: Type.Optional(uuid),
    limit: Type.Optional(limit),
  },
  CLOSED,
);

export const workerQuery = Type.Object(
  { cursor: Type.Optional(uuid), limit: Type.Optional(limit) },
  CLOSED,
);

export const sessionInFull = Type.Object(
  {
    ...session.properties,
    leases: Type.Array(
      Type.Object(
        { key: Type.String(), fence, deadlineInMs: Type.Optional(ms), drained: Type.Boolean() },
        CLOSED,
      ),
    ),
  },
  CLOSED,
);

export type SessionInFull = Static<typeof sessionInFull>;

export const forcedBody = Type.Object({ reason: text }, CLOSED);

export const ended = Type.Object({ kind: Type.Literal('ended') }, CLOSED);

const leaseState = Type.Enum(['free', 'held', 'draining', 'lapsed', 'expired', 'retired']);

export const listedLease = Type.Object(
  {
    key: Type.String(),
    state: leaseState,
    fence,
    session: uuid,
    owner: Type.String(),
    since: instant,
    freeInMs: count,
    exit: Type.Optional(Type.String()),
  },
  CLOSED,
);

export type ListedLeaseMessage = Static<typeof listedLease>;

export const leasePage = pageOf(listedLease);

export const leaseQuery = Type.Object(
  { prefix: Type.Optional(key), cursor: Type.Optional(key), limit: Type.Optional(limit) },
  CLOSED,
);

export const leaseParams = Type.Object({ key }, CLOSED);

export const lease = Type.Object(
  {
    key: Type.String(),
    state: leaseState,
    freeInMs: count,
    waiting: count,
    fence: Type.Optional(fence),
    session: Type.Optional(uuid),
    owner: Type.Optional(Type.String()),
    grantedAt: Type.Optional(instant),
    hardDeadlineAt: Type.Optional(instant),
    drain: Type.Optional(
      Type.Object(
        {
          by: Type.String(),
          reason: Type.String(),
          deadlineAt: instant,
          successor: Type.Optional(Type.String()),
        },
        CLOSED,
      ),
    ),
    end: Type.Optional(
      Type.Object(
        { at: instant, exit: Type.String(), cause: Type.Optional(Type.String()) },
        CLOSED,
      ),
    ),
    checkpoint: Type.Optional(Type.Object({ seq: count, bytes: count, at: instant }, CLOSED)),
    intents: Type.Optional(
      Type.Array(Type.Object({ effect: Type.String(), begunAt: instant }, CLOSED)),
    ),
  },
  CLOSED,
);

export type LeaseMessage = Static<typeof lease>;

const TERM = {
  fence: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Of the term that is meant; a later one is left alone.',
  }),
  reason: text,
  request: Type.Optional(uuid),
};

export const revokeBody = Type.Object(TERM, CLOSED);

export const drainBody = Type.Object(
  { ...TERM, deadlineMs: durationMs, successor: Type.Optional(name) },
  CLOSED,
);

export type RevokeBody = Static<typeof revokeBody>;
export type DrainBody = Static<typeof drainBody>;

export const drained = Type.Object({ kind: Type.Literal('draining'), deadlineInMs: count }, CLOSED);
export const revoked = Type.Object({ kind: Type.Literal('revoked') }, CLOSED);

export const depth = Type.Object(
  {
    max: count,
    lanes: Type.Array(Type.Object({ lane, ready: count, running: count }, CLOSED)),
    storeProblem: Type.Optional(storeProblem),
  },
  CLOSED,
);

export type DepthMessage = Static<typeof depth>;
