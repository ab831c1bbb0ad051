import { decideRevoke } from '../../../src/lease/decide/term.ts';
import type { Revoke, Revoked } from '../../../src/lease/port.ts';
import type { ModelState } from './state.ts';
import { appendEnded } from './sweep.ts';

export function revoke(state: ModelState, request: Revoke): Revoked {
  const now = state.now();
  const decision = decideRevoke(state.termView(request.key), request, {
    policy: state.policy,
    now,
  });
  if (decision.kind === 'refuse') {
    if (decision.refusal.why === 'fence-ahead') state.haltFor(request.fence, now);
    return { kind: 'refused', ...decision.refusal };
  }
  if (decision.kind === 'apply') {
    const { lease } = decision;
    state.leases.set(request.key, lease);
    if (lease.end !== undefined) appendEnded(state, lease, { end: lease.end, at: now });
    state.notify(lease.session);
    state.hint(request.key);
  }
  return { kind: 'revoked', replayed: decision.kind === 'replay' };
}
