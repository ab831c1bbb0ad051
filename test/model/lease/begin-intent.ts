import { decideBeginIntent } from '../../../src/lease/decide/term.ts';
import type { BeginIntent, IntentBegun } from '../../../src/lease/port.ts';
import type { ModelState } from './state.ts';

export function beginIntent(state: ModelState, request: BeginIntent): IntentBegun {
  const now = state.now();
  const decision = decideBeginIntent(state.termView(request.key), request, {
    policy: state.policy,
    now,
  });
  if (decision.kind === 'refuse') {
    if (decision.refusal.why === 'fence-ahead') state.haltFor(request.fence, now);
    return { kind: 'refused', ...decision.refusal };
  }
  if (decision.kind === 'apply') state.leases.set(request.key, decision.lease);
  return { kind: 'begun', replayed: decision.kind === 'replay' };
}
