import { listedLease } from '../../lease/decide/acquire.ts';
import type { LeaseKey } from '../../lease/names.ts';
import type { ListedLease, ListLeases } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { loadChain } from './load-view.ts';
import { toLease } from './records.ts';

export async function listLeases(
  database: Database,
  query: ListLeases,
): Promise<readonly ListedLease[]> {
  return database.read(async (tx) => {
    const { keys } = tx;
    const prefix = keys.allTerms + (query.prefix ?? '');
    // The least text that comes after it.
    const after = query.after === undefined ? '' : `${keys.allTerms}${query.after}\0`;
    const from = Buffer.compare(Buffer.from(after), Buffer.from(prefix)) > 0 ? after : prefix;
    const { kvs } = await tx.list(prefix, { from, limit: query.limit });
    const names = kvs.map(({ key }) => key.slice(keys.allTerms.length) as LeaseKey);
    await tx.load(names.map((key) => keys.lease(key)));
    const listed: ListedLease[] = [];
    for (const [index, key] of names.entries()) {
      const lease = toLease(key, kvs[index], tx.get(keys.lease(key)));
      if (lease === undefined) continue;
      const holder = await loadChain(tx, lease.session);
      listed.push(listedLease(lease, holder, tx.now));
    }
    return listed;
  });
}
