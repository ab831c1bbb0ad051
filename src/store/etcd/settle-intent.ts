import { decideSettleIntent } from '../../lease/decide/term.ts';
import type { IntentSettled, SettleIntent } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { haltIfAhead } from './halt.ts';
import { loadTerm } from './load-view.ts';
import { saveLease } from './save-lease.ts';

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
