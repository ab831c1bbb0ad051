import { decideRelease } from '../../../src/lease/decide/term.ts';
import type { Released, ReleaseLease } from '../../../src/lease/port.ts';
import type { ModelState } from './state.ts';
import { appendEnded } from './sweep.ts';

export function release(state: ModelState, request: ReleaseLease): Released {
  const now = state.now();
  const decision = decideRelease(state.termView(request.key), request, {
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
    state.hint(request.key);
  }
  return { kind: 'released', replayed: decision.kind === 'replay' };
}
