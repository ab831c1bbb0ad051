import { decideCheckpoint } from '../../lease/decide/term.ts';
import type { LeaseRecord } from '../../lease/lease.ts';
import type { CheckpointAnswer, SaveCheckpoint } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { loadTerm } from './load-view.ts';
import type { StoredCheckpoint } from './records.ts';
import { haltIfAhead } from './recover.ts';
import { saveLease } from './save-lease.ts';

export async function checkpoint(
  database: Database,
  request: SaveCheckpoint,
): Promise<CheckpointAnswer> {
  const { policy } = database;
  // K-3: copied before the first await; what the caller does to its bytes later cannot reach us.
  const own = { ...request, bytes: Uint8Array.from(request.bytes) };
  const { result } = await database.write(async (tx) => {
    const view = await loadTerm(tx, request.key);
    const decision = decideCheckpoint(view, own, { policy, now: tx.now });
    if (decision.kind === 'apply' && view.lease !== undefined) {
      const after = inFreeSlot(decision.lease);
      saveLease(tx, view.lease, after.lease);
      tx.put(tx.keys.bytes(request.key, after.slot), own.bytes);
    }
    return decision;
  });
  if (result.kind !== 'refuse') return { kind: 'saved', replayed: result.kind === 'replay' };
  await haltIfAhead(database, request.fence, result.refusal);
  return { kind: 'refused', ...result.refusal };
}

/** K-5: not in the place of the one before, which is kept. */
function inFreeSlot(lease: LeaseRecord): { readonly lease: LeaseRecord; readonly slot: number } {
  const before = lease.checkpointBefore as StoredCheckpoint | undefined;
  const slot = before?.slot === 0 ? 1 : 0;
  if (lease.checkpoint === undefined) return { lease, slot };
  const checkpoint: StoredCheckpoint = { ...lease.checkpoint, slot };
  return { lease: { ...lease, checkpoint }, slot };
}
