import { decideBeginIntent, decideSettleIntent } from '../../lease/decide/term.ts';
import type { BeginIntent, IntentBegun, IntentSettled, SettleIntent } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { loadTerm } from './load-view.ts';
import { haltIfAhead } from './recover.ts';
import { saveLease } from './save-lease.ts';

export async function beginIntent(database: Database, request: BeginIntent): Promise<IntentBegun> {
  const { policy } = database;
  const { result } = await database.write(async (tx) => {
    const view = await loadTerm(tx, request.key);
    const decision = decideBeginIntent(view, request, { policy, now: tx.now });
    if (decision.kind === 'apply' && view.lease !== undefined) {
      saveLease(tx, view.lease, decision.lease);
    }
    return decision;
  });
  if (result.kind !== 'refuse') return { kind: 'begun', replayed: result.kind === 'replay' };
  await haltIfAhead(database, request.fence, result.refusal);
  return { kind: 'refused', ...result.refusal };
}

export async function settleIntent(
  database: Database,
  request: SettleIntent,
): Promise<IntentSettled> {
  const { result } = await database.write(async (tx) => {
    const view = await loadTerm(tx, request.key);
    const decision = decideSettleIntent(view, request, tx.now);
    if (decision.kind === 'apply' && view.lease !== undefined) {
      saveLease(tx, view.lease, decision.lease);
    }
    return decision;
  });
  if (result.kind !== 'refuse') return { kind: 'settled', wasOpen: result.kind === 'apply' };
  await haltIfAhead(database, request.fence, result.refusal);
  return { kind: 'refused', ...result.refusal };
}
