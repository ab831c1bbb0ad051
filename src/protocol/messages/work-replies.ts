// What each message of a worker is answered with. Fields that are not named here may come: a worker ignores them.

import { type TProperties, type TSchema, Type } from 'typebox';
import { EVENT_KINDS } from '../../execution/history.ts';
import { count, executionId, fence, lane, name, seq, status, uuid } from './words.ts';
import type { WorkKind } from './work-messages.ts';

const ms = Type.Integer({ description: 'Milliseconds.' });
const at = Type.Integer({ description: 'Store time, in milliseconds since 1970.' });
const payload = Type.String({
  description:
    'JSON text of a stored value: {"v":…}, or {} for nothing, or {"ref":digest} for one that getBlob returns.',
});
const body = Type.String({ description: 'JSON text of an object.' });

const refused = Type.Object(
  { kind: Type.Literal('refused'), why: Type.String() },
  { description: 'Nothing was done. Other fields depend on `why`.' },
);

function answer<Kind extends string>(kind: Kind, more: TProperties): TSchema {
  return Type.Union([Type.Object({ kind: Type.Literal(kind), ...more }), refused]);
}

const life = { ttlMs: ms, graceMs: ms, authorityMs: ms, remainingMs: ms, notices: count };

const storedExecution = Type.Object({
  ...{ id: executionId, project: name, pipeline: name, lane, status, input: payload },
  lineage: Type.String({ description: 'Idempotency keys begin with it.' }),
  seq: Type.Integer({ description: 'Of the last event; the first write has the next one.' }),
  news: Type.Integer({ description: 'How many messages its inbox has had.' }),
  progress: Type.Optional(payload),
  fence: Type.Optional(fence),
  session: Type.Optional(uuid),
  deadlineAt: Type.Optional(at),
});

const claimed = Type.Object({
  execution: storedExecution,
  fence,
  previous: Type.Enum(['none', 'parked', 'given-back', 'lost']),
  claimedAt: at,
});

const more = Type.Optional(
  Type.Boolean({ description: 'The page ended early: ask again after it.' }),
);

const event = Type.Object({
  ...{ seq, at, kind: Type.Enum([...EVENT_KINDS]) },
  fence: Type.Optional(fence),
  name: Type.Optional(Type.String()),
  body: Type.Optional(body),
});

const message = Type.Object({
  n: Type.Integer({ description: 'From 1, without gaps.' }),
  kind: Type.Enum(['child-ended', 'signal', 'cancel', 'pause', 'resume', 'await-settled']),
  name: Type.Optional(Type.String()),
  body: Type.Optional(body),
  at,
});

const written = Type.Object(
  {
    kind: Type.Enum(['recorded', 'finished', 'parked', 'given-back', 'refused', 'fault']),
    news: Type.Optional(Type.Integer({ description: 'Read the inbox if it has grown.' })),
    at: Type.Optional(at),
    why: Type.Optional(Type.String({ description: 'Of a refusal.' })),
    code: Type.Optional(Type.String({ description: 'Of a fault.' })),
  },
  { description: '`fault`: it is not known whether it was done. Send the same again.' },
);

/** Absent: nothing, or bytes. */
export const WORK_REPLIES: Readonly<Partial<Record<WorkKind, TSchema>>> = {
  greet: Type.Object({
    ...{ project: name, store: Type.String(), durability: Type.String() },
    policy: Type.Object({}),
    version: Type.Integer({ description: 'Of the protocol, as both sides know it.' }),
  }),
  openSession: answer('opened', { replayed: Type.Boolean(), ...life }),
  heartbeat: answer('alive', { rejoined: Type.Boolean(), ...life }),
  endSession: answer('ended', { replayed: Type.Boolean() }),
  waitForBell: Type.Object({ rang: Type.Boolean() }),
  claimExecutions: answer('claimed', {
    claims: Type.Array(claimed),
    more: Type.Boolean({ description: 'Claim again at once.' }),
    overdue: Type.Boolean(),
    nextReadyInMs: Type.Optional(Type.Number()),
  }),
  announceWorker: answer('announced', {}),
  listClaims: Type.Object({ items: Type.Array(claimed), more }),
  writeAsOwner: Type.Object({
    answers: Type.Array(written, { description: 'One for each write, in order.' }),
  }),
  readInbox: Type.Object({ items: Type.Array(message), more }),
  readStoredHistory: Type.Object({ items: Type.Array(event), more }),
  readStoredExecution: storedExecution,
  readStoredAwait: Type.Object({ interaction: Type.Object({ id: Type.String() }) }),
  expireAwaits: Type.Object({ settled: count, started: count, more: Type.Boolean() }),
};
