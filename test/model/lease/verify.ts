import { decideVerify } from '../../../src/lease/decide/term.ts';
import type { FenceVerified, Verify } from '../../../src/lease/port.ts';
import type { ModelState } from './state.ts';

export function verify(state: ModelState, request: Verify): FenceVerified {
  const now = state.now();
  const decision = decideVerify(state.termView(request.key), request, now);
  if (decision.kind === 'current') return decision;
  if (decision.refusal.why === 'fence-ahead') state.haltFor(request.fence, now);
  return { kind: 'refused', ...decision.refusal };
}
