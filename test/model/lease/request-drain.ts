import { decideDrain } from '../../../src/lease/decide/term.ts';
import type { DrainResult, RequestDrain } from '../../../src/lease/port.ts';
import type { ModelState } from './state.ts';

export function requestDrain(state: ModelState, request: RequestDrain): DrainResult {
  const now = state.now();
  const { policy } = state;
  const decision = decideDrain(state.termView(request.key), request, { policy, now });
  if (decision.kind === 'refuse') {
    if (decision.refusal.why === 'fence-ahead') state.haltFor(request.fence, now);
    return { kind: 'refused', ...decision.refusal };
  }
  const { drain } = decision;
  if (decision.kind === 'apply') {
    const { lease } = decision;
    state.leases.set(request.key, lease);
    state.notify(lease.session);
    state.append({
      kind: 'drain-requested',
      at: now,
      key: lease.key,
      fence: lease.fence,
      rev: lease.rev,
      session: lease.session,
      owner: lease.owner,
      actor: drain.actor,
      cause: drain.reason,
      deadlineAt: drain.deadlineAt,
    });
  }
  const deadlineInMs = drain.deadlineAt - now;
  return { kind: 'draining', deadlineInMs, replayed: decision.kind === 'replay' };
}
