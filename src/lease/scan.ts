// Lists leases page by page, for people: all, or those whose holder is stale.

import type { LeaseKey } from './names.ts';
import type { LeaseStore, ListedLease, ListLeases } from './port.ts';

/** The most leases that one page examines. */
const EXAMINED_MAX = 10_000;

interface ScanLeases extends ListLeases {
  /** True: only leases whose holder missed heartbeats. */
  readonly staleOwner: boolean;
}

interface LeasePage {
  readonly items: readonly ListedLease[];
  /** The last key that was examined, if there may be more. The page may have few items, or none. */
  readonly cursor?: LeaseKey;
}

export async function scanLeases(
  leases: Pick<LeaseStore, 'list'>,
  { staleOwner, limit, ...query }: ScanLeases,
): Promise<LeasePage> {
  if (!staleOwner) {
    const items = await leases.list({ ...query, limit });
    return pageOf(items, items.length < limit ? undefined : items.at(-1)?.key);
  }
  const items: ListedLease[] = [];
  let { after } = query;
  for (let examined = 0; examined < EXAMINED_MAX; ) {
    const page = await leases.list({ ...query, ...(after && { after }), limit: PAGE });
    examined += page.length;
    for (const each of page) {
      if (each.state === 'lapsed' || each.state === 'expired') items.push(each);
      after = each.key;
      if (items.length === limit) return pageOf(items, after);
    }
    if (page.length < PAGE) return pageOf(items, undefined);
  }
  return pageOf(items, after);
}

const PAGE = 500;

function pageOf(items: readonly ListedLease[], cursor: LeaseKey | undefined): LeasePage {
  return { items, ...(cursor === undefined ? {} : { cursor }) };
}
