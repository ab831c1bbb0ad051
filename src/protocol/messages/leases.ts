// Leases, as operators see them.

import { type Static, Type } from 'typebox';
import { ADMIN, operationsOf } from './operation.ts';
import {
  auditReason,
  closed,
  count,
  documented,
  durationMs,
  fence,
  flag,
  instant,
  listOf,
  name,
  optional,
  pageOf,
  paging,
  text,
  textWithin,
  titled,
  uuid,
} from './words.ts';

const key = textWithin(1, 512, 'Key of a lease.', 'reports/nightly');

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
    key: text('Key of the lease.'),
    state: leaseState,
    fence: documented(fence, 'Fence of its newest term.'),
    session: documented(uuid, 'Session of the newest term.'),
    owner: text('Name of the holder.'),
    since: documented(instant, 'When the newest term began.'),
    freeInMs,
    exit: optional(text('How the newest term ended.')),
  },
  titled('ListedLease', {
    key: 'reports/nightly',
    state: 'held',
    fence: 1_099_511_627_777,
    session: '01890a5d-b1c2-7e4f-8a90-5d1f2b3c4d5e',
    owner: 'worker-1',
    since: '2026-11-17T09:00:00.000Z',
    freeInMs: 13_200,
  }),
);

export type ListedLeaseMessage = Static<typeof listedLease>;

const leaseParams = closed({ key });

const lease = closed(
  {
    key: text('Key of the lease.'),
    state: leaseState,
    freeInMs,
    waiting: documented(count, 'Number of sessions in its queue.'),
    fence: optional(fence, 'Fence of its newest term.'),
    session: optional(uuid, 'Session of the newest term.'),
    owner: optional(text('Name of the holder.')),
    grantedAt: optional(instant, 'When the newest term began.'),
    hardDeadlineAt: optional(instant, 'When the term ends whatever the holder does.'),
    drain: optional(
      closed(
        {
          actor: text('The actor.'),
          reason: text('The reason.'),
          deadlineAt: documented(instant, 'When the holder must have stopped.'),
          successor: optional(text('Owner that the key is reserved for afterwards.')),
        },
        { description: 'Request to the holder to stop.' },
      ),
    ),
    end: optional(
      closed(
        {
          at: documented(instant, 'When the term ended.'),
          exit: text('How it ended.'),
          cause: optional(text('The reason, if it was revoked.')),
        },
        { description: 'End of the newest term. Absent while it is held.' },
      ),
    ),
    checkpoint: optional(
      closed(
        {
          seq: documented(count, 'Number of the checkpoint.'),
          bytes: documented(count, 'Size in bytes.'),
          at: documented(instant, 'When it was saved.'),
        },
        { description: 'Last checkpoint, without its content.' },
      ),
    ),
    intents: optional(
      listOf(
        closed({
          effect: text('Name of the external effect.'),
          begunAt: documented(instant, 'When the holder announced it.'),
        }),
        'External effects that were announced and not settled.',
      ),
    ),
  },
  titled('Lease', {
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
  }),
);

export type LeaseMessage = Static<typeof lease>;

const TERM = {
  fence: documented(fence, 'Fence of the term that you mean. A later term stays as it is.'),
  reason: auditReason,
  request: optional(
    uuid,
    'Id of this request: send the same id when you repeat it. Default: a new one.',
  ),
};

const TERM_EXAMPLE = { fence: 1_099_511_627_777, reason: 'Host is being replaced.' };

const revokeBody = closed(TERM, titled('RevokeBody', TERM_EXAMPLE));

const drainBody = closed(
  {
    ...TERM,
    deadlineMs: documented(durationMs, 'Time that the holder has to stop, in milliseconds.'),
    successor: optional(
      name,
      'Owner that the key is reserved for afterwards. Default: none.',
      'worker-2',
    ),
  },
  titled('DrainBody', { ...TERM_EXAMPLE, deadlineMs: 60_000 }),
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

export const leaseOperations = operationsOf('Leases', {
  listLeases: {
    at: 'GET /v1/leases',
    summary: 'List leases',
    description:
      'Returns leases by key, with state and holder. Leases belong to no project, so it needs a key for all projects.',
    allows: ['operate'],
    query: closed({
      prefix: optional(key, 'Only keys that begin with this.', 'reports/'),
      staleOwner: optional(
        flag(
          'True: only `lapsed` and `expired` leases, whose holder missed heartbeats. A page then examines at most 10,000 leases, so it may be empty and have a cursor. Default: false.',
        ),
      ),
      ...paging(key),
    }),
    responses: { 200: { what: 'One page of leases.', schema: pageOf(listedLease) }, ...ONLY_ALL },
  },
  readLease: {
    at: 'GET /v1/leases/:key',
    summary: 'Read a lease',
    description:
      'Returns who holds a key, since when, its checkpoint and intents, and how the last term ended. A key that was never acquired is `free`. Needs a key for all projects.',
    allows: ['operate'],
    params: leaseParams,
    responses: { 200: { what: 'The lease.', schema: lease }, ...ONLY_ALL },
  },
  drainLease: {
    at: 'POST /v1/leases/:key/drain',
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
});
