import { ownDeadline, termEnd } from '../../lease/lease.ts';
import type { SessionId } from '../../lease/names.ts';
import type { CarriedLease } from '../../lease/port.ts';
import { type LeaseRow, toLease } from '../lease-rows.ts';
import { LEASE_HEAD, loadChain } from './load-view.ts';
import type { ReadTransaction } from './transaction.ts';

const CARRIED = `
  select ${LEASE_HEAD}
    from lease
   where session_id = :id
     and ended_at is null`;

export function listCarried(tx: ReadTransaction, id: SessionId): readonly CarriedLease[] {
  const { now } = tx;
  const holder = loadChain(tx, id);
  const carried: CarriedLease[] = [];
  for (const lease of tx.all<LeaseRow>(CARRIED, { id }).map(toLease)) {
    if (termEnd(lease, holder, now) !== undefined) continue;
    const deadline = ownDeadline(lease);
    carried.push({
      key: lease.key,
      fence: lease.fence,
      ...(lease.drain === undefined ? {} : { drain: lease.drain }),
      ...(deadline === undefined ? {} : { deadlineInMs: deadline - now }),
    });
  }
  // Not by SQLite, which orders text by its bytes and not as the other stores do.
  return carried.sort((a, b) => (a.key < b.key ? -1 : 1));
}
