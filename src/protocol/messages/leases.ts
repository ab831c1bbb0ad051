// Leases, as operators see them.

import { type Static, Type } from 'typebox';
import { ADMIN, type Operations } from './operation.ts';
import {
  auditReason,
  closed,
  count,
  documented,
  durationMs,
  fence,
  instant,
  name,
  pageOf,
  paging,
  uuid,
} from './words.ts';

const key = Type.String({
  minLength: 1,
  maxLength: 512,
  description: 'Key of a lease.',
  examples: ['reports/nightly'],
});

const leaseState = Type.Enum(['free', 'held', 'draining', 'lapsed', 'expired', 'retired'], {
  title: 'LeaseState',
  description:
    '`lapsed`: the holder may not act, but can rejoin. `retired`: its work is done for good.',
});

const freeInMs = documented(
  count,
  'Time after which another session can acquire it if the holder stops renewing, in milliseconds.',
);

const listedLease = closed(
  {
    key: Type.String({ description: 'Key of the lease.' }),
    state: leaseState,
    fence: documented(fence, 'Fence of its newest term.'),
    session: documented(uuid, 'Session of the newest term.'),
    owner: Type.String({ description: 'Name of the holder.' }),
    since: documented(instant, 'When the newest term began.'),
    freeInMs,
    exit: Type.Optional(Type.String({ description: 'How the newest term ended.' })),
  },
  {
    title: 'ListedLease',
    examples: [
      {
        key: 'reports/nightly',
        state: 'held',
        fence: 1_099_511_627_777,
        session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
        owner: 'worker-1',
        since: '2026-11-17T09:00:00.000Z',
        freeInMs: 13_200,
      },
    ],
  },
);

export type ListedLeaseMessage = Static<typeof listedLease>;

const leaseParams = closed({ key });

const lease = closed(
  {
    key: Type.String({ description: 'Key of the lease.' }),
    state: leaseState,
    freeInMs,
    waiting: documented(count, 'Number of sessions in its queue.'),
    fence: Type.Optional(documented(fence, 'Fence of its newest term.')),
    session: Type.Optional(documented(uuid, 'Session of the newest term.')),
    owner: Type.Optional(Type.String({ description: 'Name of the holder.' })),
    grantedAt: Type.Optional(documented(instant, 'When the newest term began.')),
    hardDeadlineAt: Type.Optional(
      documented(instant, 'When the term ends whatever the holder does.'),
    ),
    drain: Type.Optional(
      closed(
        {
          actor: Type.String({ description: 'The actor.' }),
          reason: Type.String({ description: 'The reason.' }),
          deadlineAt: documented(instant, 'When the holder must have stopped.'),
          successor: Type.Optional(
            Type.String({ description: 'Owner that the key is reserved for afterwards.' }),
          ),
        },
        { description: 'Request to the holder to stop.' },
      ),
    ),
    end: Type.Optional(
      closed(
        {
          at: documented(instant, 'When the term ended.'),
          exit: Type.String({ description: 'How it ended.' }),
          cause: Type.Optional(Type.String({ description: 'The reason, if it was revoked.' })),
        },
        { description: 'End of the newest term. Absent while it is held.' },
      ),
    ),
    checkpoint: Type.Optional(
      closed(
        {
          seq: documented(count, 'Number of the checkpoint.'),
          bytes: documented(count, 'Size in bytes.'),
          at: documented(instant, 'When it was saved.'),
        },
        { description: 'Last checkpoint, without its content.' },
      ),
    ),
    intents: Type.Optional(
      Type.Array(
        closed({
          effect: Type.String({ description: 'Name of the external effect.' }),
          begunAt: documented(instant, 'When the holder announced it.'),
        }),
        { description: 'External effects that were announced and not settled.' },
      ),
    ),
  },
  {
    title: 'Lease',
    examples: [
      {
        key: 'reports/nightly',
        state: 'held',
        freeInMs: 13_200,
        waiting: 1,
        fence: 1_099_511_627_777,
        session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
        owner: 'worker-1',
        grantedAt: '2026-11-17T09:00:00.000Z',
        checkpoint: { seq: 4, bytes: 128, at: '2026-11-17T09:29:00.000Z' },
        intents: [],
      },
    ],
  },
);

export type LeaseMessage = Static<typeof lease>;

const TERM = {
  fence: documented(fence, 'Fence of the term that you mean. A later term stays as it is.'),
  reason: auditReason,
  request: Type.Optional(
    documented(
      uuid,
      'Id of this request: send the same id when you repeat it. Default: a new one.',
    ),
  ),
};

const TERM_EXAMPLE = { fence: 1_099_511_627_777, reason: 'Host is being replaced.' };

const revokeBody = closed(TERM, { title: 'RevokeBody', examples: [TERM_EXAMPLE] });

const drainBody = closed(
  {
    ...TERM,
    deadlineMs: documented(durationMs, 'Time that the holder has to stop, in milliseconds.'),
    successor: Type.Optional(
      documented(name, 'Owner that the key is reserved for afterwards. Default: none.', 'worker-2'),
    ),
  },
  { title: 'DrainBody', examples: [{ ...TERM_EXAMPLE, deadlineMs: 60_000 }] },
);

export type RevokeBody = Static<typeof revokeBody>;

export type DrainBody = Static<typeof drainBody>;

const drained = closed({
  kind: Type.Literal('draining', { description: 'Always `draining`.' }),
  deadlineInMs: documented(count, 'Time until the deadline, in milliseconds.', 60_000),
});

const ONLY_ALL = {
  403: {
    what: 'The caller lacks the role, or its key is not for all projects.',
    codes: ['role-missing', 'project-denied'],
  },
} as const;

const TERM_OVER = ['superseded', 'ended', 'expired', 'lapsed'] as const;

const NO_LEASE = {
  ...ONLY_ALL,
  404: { what: 'The key was never acquired in this store.', codes: ['key-unknown'] },
} as const;

export const leaseOperations = {
  listLeases: {
    at: 'GET /v1/leases',
    tag: 'Leases',
    summary: 'List leases',
    description:
      'Returns leases by key, with state and holder. Leases belong to no project, so it needs a key for all projects.',
    allows: ['operate'],
    query: closed({
      prefix: Type.Optional(documented(key, 'Only keys that begin with this.', 'reports/')),
      ...paging(key),
    }),
    responses: { 200: { what: 'One page of leases.', schema: pageOf(listedLease) }, ...ONLY_ALL },
  },
  readLease: {
    at: 'GET /v1/leases/:key',
    tag: 'Leases',
    summary: 'Read a lease',
    description:
      'Returns who holds a key, since when, its checkpoint and intents, and how the last term ended. A key that was never acquired is `free`. Needs a key for all projects.',
    allows: ['operate'],
    params: leaseParams,
    responses: { 200: { what: 'The lease.', schema: lease }, ...ONLY_ALL },
  },
  drainLease: {
    at: 'POST /v1/leases/:key/drain',
    tag: 'Leases',
    summary: 'Ask the holder of a lease to stop',
    description:
      'Sends the holder a request to stop by a deadline; the store revokes the lease then. Writes an audit record first. Repeating it with the same `request` is safe. Needs a key for all projects.',
    ...ADMIN,
    params: leaseParams,
    body: drainBody,
    responses: {
      200: { what: 'The holder will get the request.', schema: drained },
      ...NO_LEASE,
      409: {
        what: 'The term is over, or it is draining already. The lease did not change.',
        codes: [...TERM_OVER, 'already-draining'],
      },
    },
  },
  revokeLease: {
    at: 'POST /v1/leases/:key/revoke',
    tag: 'Leases',
    summary: 'Revoke a lease',
    description:
      'Ends the term now, so that another session can acquire the key. The holder learns of it with its next heartbeat, and its writes are refused. Writes an audit record first. Needs a key for all projects.',
    ...ADMIN,
    params: leaseParams,
    body: revokeBody,
    responses: {
      200: {
        what: 'The term has ended.',
        schema: closed({ kind: Type.Literal('revoked', { description: 'Always `revoked`.' }) }),
      },
      ...NO_LEASE,
      409: { what: 'The term was over before. The lease did not change.', codes: TERM_OVER },
    },
  },
} as const satisfies Operations;
