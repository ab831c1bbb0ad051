// Reads chains of sessions for this store's native verbs.

import type { SessionId } from '../../lease/names.ts';
import type { SessionChain } from '../../lease/session.ts';
import type { Instant } from '../../support/clock.ts';
import { type SessionRow, toChain } from '../lease-rows.ts';
import { POSTGRES } from '../sql/leases/views.ts';
import { type Queries, statement } from './database.ts';

const CHAINS = statement(`
  select wanted.id, hf_now() as now, ${POSTGRES.chainOf('wanted.id')} as chain
    from unnest($1::uuid[]) with ordinality as wanted(id, nth)
   order by wanted.nth`);

/**
 * Returns the chains of these sessions at one moment. A chain is empty if its session is unknown.
 */
export async function loadChains(
  queries: Queries,
  ids: readonly (SessionId | undefined)[],
): Promise<{ readonly now: Instant; readonly chains: readonly SessionChain[] }> {
  const rows = await queries.rows<{ now: number; chain: SessionRow[] | null }>(CHAINS, [
    ids.map((id) => id ?? null),
  ]);
  return { now: (rows[0]?.now ?? 0) as Instant, chains: rows.map((row) => toChain(row.chain)) };
}
