// Routes for leases. Leases belong to no project, so they need a key for all projects.

import { recordOperation } from '../../features/audit/routes.ts';
import { parseFence } from '../../lease/fence.ts';
import type { LeaseRecord } from '../../lease/lease.ts';
import { type LeaseKey, parseLeaseKey } from '../../lease/names.ts';
import { drainLease, revokeLease } from '../../lease/operate.ts';
import type { LeaseInspection } from '../../lease/port.ts';
import { scanLeases } from '../../lease/scan.ts';
import { formatInstant } from '../../support/clock.ts';
import { present } from '../../support/options.ts';
import { type LeaseMessage, leaseOperations } from '../messages/leases.ts';
import { writtenTimes } from './handling.ts';
import { refusedByKernel, requireOfAll } from './problems.ts';
import { actorOf, type Coordinator, type Route, routesOf } from './route.ts';

const LIMIT = 100;

export const leaseRoutes: readonly Route[] = routesOf(leaseOperations, {
  async listLeases({ store }, { query, caller }) {
    requireOfAll(caller);
    const { prefix, cursor, limit = LIMIT, staleOwner = false } = query;
    const { items, ...next } = await scanLeases(store.leases, {
      ...{ limit, staleOwner },
      ...(prefix === undefined ? {} : { prefix: parseLeaseKey(prefix) }),
      ...(cursor === undefined ? {} : { after: parseLeaseKey(cursor) }),
    });
    const messages = items.map(({ since, freeInMs, ...rest }) => ({
      ...rest,
      since: formatInstant(since),
      freeInMs: Math.max(0, Math.trunc(freeInMs)),
    }));
    return { status: 200, body: { items: messages, ...next } };
  },

  async readLease({ store }, { params, caller }) {
    requireOfAll(caller);
    const found = await store.leases.inspect(parseLeaseKey(params.key));
    return { status: 200, body: leaseMessage(found) };
  },

  async drainLease(coordinator, { params, body, caller }) {
    requireOfAll(caller);
    const key = parseLeaseKey(params.key);
    await requireIssued(coordinator, key, body.fence);
    await recordOperation(coordinator, caller, {
      ...{ action: 'drain-lease', target: { kind: 'lease', id: key }, reason: body.reason },
      about: { asked: 'drain', fence: body.fence, deadlineMs: body.deadlineMs },
    });
    const operation = { store: coordinator.store, key, actor: actorOf(caller) };
    const result = await drainLease({ ...body, ...operation });
    if (result.kind === 'refused') throw refusedByKernel(result);
    const deadlineInMs = Math.max(0, Math.trunc(result.deadlineInMs));
    return { status: 200, body: { kind: result.kind, deadlineInMs } };
  },

  async revokeLease(coordinator, { params, body, caller }) {
    requireOfAll(caller);
    const key = parseLeaseKey(params.key);
    await requireIssued(coordinator, key, body.fence);
    await recordOperation(coordinator, caller, {
      ...{ action: 'revoke-lease', target: { kind: 'lease', id: key }, reason: body.reason },
      about: { asked: 'revoke', fence: body.fence },
    });
    const result = await revokeLease({
      ...body,
      ...{ store: coordinator.store, key, actor: actorOf(caller) },
    });
    if (result.kind === 'refused') throw refusedByKernel(result);
    return { status: 200, body: { kind: result.kind } };
  },
});

/**
 * A store that gets a fence it never issued halts all grants. A typing error must not cause that.
 */
async function requireIssued({ store }: Coordinator, key: LeaseKey, given: number): Promise<void> {
  const { record } = await store.leases.inspect(key);
  if (record === undefined) throw refusedByKernel({ why: 'key-unknown', key });
  const fence = parseFence(given);
  const { fence: newest, owner: holder } = record;
  if (fence > newest) throw refusedByKernel({ why: 'superseded', key, fence, newest, holder });
}

function leaseMessage({ key, state, freeInMs, waiting, record }: LeaseInspection): LeaseMessage {
  const summary = { key, state, freeInMs: Math.max(0, Math.trunc(freeInMs)), waiting };
  return { ...summary, ...(record && termMessage(record)) };
}

function termMessage(record: LeaseRecord): Partial<LeaseMessage> {
  const { fence, session, owner, drain, end, checkpoint, intents } = record;
  return {
    ...{ fence, session, owner },
    ...writtenTimes(record, 'grantedAt', 'hardDeadlineAt'),
    ...(drain && {
      drain: {
        ...{ actor: drain.actor, reason: drain.reason },
        ...writtenTimes(drain, 'deadlineAt'),
        ...present({ successor: drain.successor }),
      },
    }),
    ...(end && {
      end: { ...writtenTimes(end, 'at'), exit: end.exit, ...present({ cause: end.cause }) },
    }),
    ...(checkpoint && {
      checkpoint: {
        ...{ seq: checkpoint.seq, bytes: checkpoint.bytes.length },
        ...writtenTimes(checkpoint, 'at'),
      },
    }),
    intents: intents.map((each) => ({ effect: each.effect, ...writtenTimes(each, 'begunAt') })),
  };
}
