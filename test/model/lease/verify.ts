import { decideVerify } from '../../../src/lease/decide/term.ts';
import { ownDeadline } from '../../../src/lease/lease.ts';
import type { Verified, Verify } from '../../../src/lease/port.ts';
import { authorityMs } from '../../../src/lease/session.ts';
import type { ModelState } from './state.ts';

export function verify(state: ModelState, request: Verify): Verified {
  const now = state.now();
  const view = state.termView(request.key);
  const decision = decideVerify(view, request, now);
  if (decision.kind === 'refuse') {
    if (decision.refusal.why === 'fence-ahead') state.haltFor(request.fence, now);
    return { kind: 'refused', ...decision.refusal };
  }
  const deadline = view.lease === undefined ? undefined : ownDeadline(view.lease);
  const own = deadline === undefined ? Number.POSITIVE_INFINITY : deadline - now;
  return { kind: 'current', authorityMs: Math.min(own, authorityMs(view.holder, now)) };
}
