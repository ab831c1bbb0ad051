import { decideDrain } from '../../lease/decide/operate.ts';
import type { DrainAnswer, RequestDrain } from '../../lease/port.ts';
import type { Database } from './database.ts';
import { notify } from './hints.ts';
import { loadTerm } from './load-view.ts';
import { haltIfAhead } from './recover.ts';
import { saveLease } from './save-lease.ts';

export async function requestDrain(
  database: Database,
  request: RequestDrain,
): Promise<DrainAnswer> {
  const { result } = await database.write(async (tx) => {
    // V-1: what the holder's session was promised counts, so a heartbeat meanwhile does too.
    const view = await loadTerm(tx, request.key, 'unchanged');
    const { now } = tx;
    const decision = decideDrain(view, request, now);
    if (decision.kind === 'apply' && view.lease !== undefined) {
      const { lease, drain } = decision;
      saveLease(tx, view.lease, lease);
      await notify(tx, lease.session);
      tx.append({
        kind: 'drain-requested',
        at: now,
        key: lease.key,
        fence: lease.fence,
        rev: lease.rev,
        session: lease.session,
        owner: lease.owner,
        actor: drain.by,
        cause: drain.reason,
        deadlineAt: drain.deadlineAt,
      });
    }
    return { ...decision, now };
  });
  if (result.kind !== 'refuse') {
    const deadlineInMs = result.drain.deadlineAt - result.now;
    return { kind: 'draining', deadlineInMs, replayed: result.kind === 'replay' };
  }
  await haltIfAhead(database, request.fence, result.refusal);
  return { kind: 'refused', ...result.refusal };
}
