import { freeInMs } from '../../lease/decide/acquire.ts';
import { leaseState } from '../../lease/lease.ts';
import type { LeaseKey } from '../../lease/names.ts';
import type { LeaseInspection } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { countWaiting } from './line.ts';
import { loadTerm, withBytes } from './load-view.ts';

export async function inspectLease(database: Database, key: LeaseKey): Promise<LeaseInspection> {
  return database.read(async (tx) => {
    const { lease, holder } = await loadTerm(tx, key);
    const waiting = await countWaiting(tx, key);
    const { now } = tx;
    return {
      key,
      state: leaseState(lease, holder, now),
      freeInMs: lease === undefined ? 0 : freeInMs(lease, holder, now),
      waiting,
      ...(lease === undefined ? {} : { record: await withBytes(tx, lease) }),
    };
  });
}
