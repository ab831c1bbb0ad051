import { decideSettleIntent } from '../../../src/lease/decide/term.ts';
import type { IntentSettled, SettleIntent } from '../../../src/lease/port.ts';
import type { ModelState } from './state.ts';

export function settleIntent(state: ModelState, request: SettleIntent): IntentSettled {
  const now = state.now();
  const { policy } = state;
  const decision = decideSettleIntent(state.termView(request.key), request, { policy, now });
  if (decision.kind === 'refuse') {
    if (decision.refusal.why === 'fence-ahead') state.haltFor(request.fence, now);
    return { kind: 'refused', ...decision.refusal };
  }
  if (decision.kind === 'apply') state.leases.set(request.key, decision.lease);
  return { kind: 'settled', wasOpen: decision.kind === 'apply' };
}
