import { freeInMs } from '../../../src/lease/decide/acquire.ts';
import { leaseState } from '../../../src/lease/lease.ts';
import type { LeaseKey } from '../../../src/lease/names.ts';
import type { LeaseInspection } from '../../../src/lease/port.ts';
import { waits } from './queue.ts';
import type { ModelState } from './state.ts';

export function inspectLease(state: ModelState, key: LeaseKey): LeaseInspection {
  const now = state.now();
  const record = state.leases.get(key);
  const holder = state.chain(record?.session);
  const tickets = state.tickets.get(key) ?? [];
  const waiting = tickets.filter((ticket) => waits(state, ticket, now)).length;
  return {
    key,
    state: leaseState(record, holder, now),
    freeInMs: record === undefined ? 0 : freeInMs(record, holder, now),
    waiting,
    ...(record === undefined ? {} : { record: structuredClone(record) }),
  };
}
