import { decideVerify } from '../../lease/decide/term.ts';
import { ownDeadline } from '../../lease/lease.ts';
import type { Verified, Verify } from '../../lease/port.ts';
import { authorityMs } from '../../lease/session.ts';
import type { Database } from './database.ts';
import { loadTerm } from './load-view.ts';
import { haltIfAhead } from './recover.ts';

export async function verify(database: Database, request: Verify): Promise<Verified> {
  const { view, now } = await database.read(async (tx) => ({
    view: await loadTerm(tx, request.key),
    now: tx.now,
  }));
  const decision = decideVerify(view, request, now);
  if (decision.kind === 'refuse') {
    await haltIfAhead(database, request.fence, decision.refusal);
    return { kind: 'refused', ...decision.refusal };
  }
  const deadline = view.lease === undefined ? undefined : ownDeadline(view.lease);
  const own = deadline === undefined ? Number.POSITIVE_INFINITY : deadline - now;
  return { kind: 'current', authorityMs: Math.min(own, authorityMs(view.holder, now)) };
}
