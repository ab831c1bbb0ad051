import { freeInMs } from '../../lease/decide/acquire.ts';
import { leaseState } from '../../lease/lease.ts';
import type { LeaseKey } from '../../lease/names.ts';
import type { LeaseInspection } from '../../lease/port.ts';
import { countWaiting, loadChain, loadLeaseWithBytes } from './load-view.ts';
import type { ReadTransaction } from './transaction.ts';

export function inspectLease(tx: ReadTransaction, key: LeaseKey): LeaseInspection {
  const { now } = tx;
  const record = loadLeaseWithBytes(tx, key);
  const holder = loadChain(tx, record?.session);
  return {
    key,
    state: leaseState(record, holder, now),
    freeInMs: record === undefined ? 0 : freeInMs(record, holder, now),
    waiting: countWaiting(tx, key),
    ...(record === undefined ? {} : { record }),
  };
}
