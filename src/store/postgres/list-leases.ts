import { listedLease } from '../../lease/decide/acquire.ts';
import type { ListedLease, ListLeases } from '../../lease/port.ts';
import type { Instant } from '../../support/clock.ts';
import { type LeaseRow, toLease } from '../lease-rows.ts';
import { type Database, statement } from './database.ts';
import { chainOf, LEASE_HEAD, type SessionJson, toChain } from './load-view.ts';

// Keys are compared by their bytes (collation "C"), so a prefix is a range of the primary key.
const LIST = statement(`
  select hf_now() as now, ${chainOf('l.session_id')} as holder, ${LEASE_HEAD}
    from hf.lease l
   where l.key >= $1
     and l.key <= $2
     and starts_with(l.key, $1)
     and ($3::text is null or l.key > $3)
   order by l.key
   limit $4`);

/** No text that starts with the prefix comes after the prefix followed by these. */
const LAST_CHARACTERS = '\u{10ffff}'.repeat(4);

export async function listLeases(
  database: Database,
  query: ListLeases,
): Promise<readonly ListedLease[]> {
  const { prefix = '', after = null, limit } = query;
  const rows = await database.rows<LeaseRow & { now: number; holder: SessionJson[] | null }>(LIST, [
    prefix,
    `${prefix}${LAST_CHARACTERS}`,
    after,
    limit,
  ]);
  return rows.map((row) => listedLease(toLease(row), toChain(row.holder), row.now as Instant));
}
