import { decideRevoke } from '../../lease/decide/operate.ts';
import type { Revoke, Revoked } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { notify } from './hints.ts';
import { loadTerm } from './load-view.ts';
import { haltIfAhead } from './recover.ts';
import { appendEnded, saveLease } from './save-lease.ts';

/** `awaited`: somebody stands in line for the key. */
export async function revoke(
  database: Database,
  request: Revoke,
): Promise<{ readonly answer: Revoked; readonly awaited: boolean }> {
  const { policy } = database;
  const { result, fetched } = await database.write(async (tx) => {
    const view = await loadTerm(tx, request.key);
    const decision = decideRevoke(view, request, { policy, now: tx.now });
    if (decision.kind === 'apply' && view.lease !== undefined) {
      const { lease } = decision;
      saveLease(tx, view.lease, lease);
      if (lease.end !== undefined) appendEnded(tx, lease, { end: lease.end, at: tx.now });
      await notify(tx, lease.session);
      tx.fetch(tx.keys.line(request.key));
    }
    return decision;
  });
  if (result.kind !== 'refuse') {
    const answer = { kind: 'revoked', replayed: result.kind === 'replay' } as const;
    return { answer, awaited: fetched.size > 0 };
  }
  await haltIfAhead(database, request.fence, result.refusal);
  return { answer: { kind: 'refused', ...result.refusal }, awaited: false };
}
