import { type Fence, isIssuable } from '../../lease/fence.ts';
import type { Refusal } from '../../lease/refusal.ts';
import { toNumber } from './connection.ts';
import type { Database } from './database.ts';
import { lastIssued, loadEpoch } from './load-view.ts';

/** Somebody showed a fence that was never issued: stop granting until a person looks (T-4). */
export async function haltIfAhead(
  database: Database,
  fence: Fence,
  refusal: Pick<Refusal, 'why'>,
): Promise<void> {
  if (refusal.why !== 'fence-ahead' || !isIssuable(fence)) return;
  await database.write(async (tx) => {
    const { halt } = tx.keys;
    await tx.load([halt]);
    if (fence <= lastIssued(tx, await loadEpoch(tx))) return;
    const before = toNumber(tx.get(halt));
    // The epoch must rise above the highest fence presented, not above the first.
    if (before !== undefined && before >= fence) return;
    tx.put(halt, String(fence));
    if (before !== undefined) return;
    tx.append({ kind: 'alarm', at: tx.now, alarm: 'fence-ahead', cause: `fence ${fence}` });
  }, 'etcd');
}
