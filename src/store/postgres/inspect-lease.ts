import { freeInMs } from '../../lease/decide/acquire.ts';
import { leaseState } from '../../lease/lease.ts';
import type { LeaseKey } from '../../lease/names.ts';
import type { LeaseInspection } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { loadTerm } from './load-view.ts';

export async function inspectLease(database: Database, key: LeaseKey): Promise<LeaseInspection> {
  const { now, lease, holder, waiting } = await loadTerm(database, key);
  return {
    key,
    state: leaseState(lease, holder, now),
    freeInMs: lease === undefined ? 0 : freeInMs(lease, holder, now),
    waiting,
    ...(lease === undefined ? {} : { record: lease }),
  };
}
