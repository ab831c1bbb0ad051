import { listedLease } from '../../lease/decide/acquire.ts';
import type { ListedLease, ListLeases } from '../../lease/port.ts';
import { type LeaseRow, toLease } from '../lease-rows.ts';
import { LEASE_HEAD, loadChain } from './load-view.ts';
import type { ReadTransaction } from './transaction.ts';

// Text is compared by its bytes, so a prefix is a range of the primary key.
const LIST = `
  select ${LEASE_HEAD}
    from lease
   where key >= :prefix
     and key <= :last
     and substr(key, 1, length(:prefix)) = :prefix
     and key > :after
   order by key
   limit :limit`;

/** No text that starts with the prefix comes after the prefix followed by these. */
const LAST_CHARACTERS = '\u{10ffff}'.repeat(4);

export function listLeases(tx: ReadTransaction, query: ListLeases): readonly ListedLease[] {
  const { prefix = '', after = '', limit } = query;
  const last = `${prefix}${LAST_CHARACTERS}`;
  const rows = tx.all<LeaseRow>(LIST, { prefix, last, after, limit });
  return rows.map((row) => {
    const lease = toLease(row);
    return listedLease(lease, loadChain(tx, lease.session), tx.now);
  });
}
