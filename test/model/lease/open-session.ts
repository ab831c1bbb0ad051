import { decideOpen, lifeOf } from '../../../src/lease/decide/session.ts';
import type { OpenSession, SessionOpened } from '../../../src/lease/port.ts';
import type { ModelState } from './state.ts';

export function openSession(state: ModelState, request: OpenSession): SessionOpened {
  const now = state.now();
  const view = {
    existing: state.chain(request.id),
    parent: state.chain(request.parent),
    policy: state.policy,
  };
  const decision = decideOpen(view, request, now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  if (decision.kind === 'open') {
    state.sessions.set(request.id, decision.session);
    state.append({
      kind: 'session-opened',
      at: now,
      session: request.id,
      owner: request.owner,
    });
  }
  const life = lifeOf(state.chain(request.id), now);
  return { kind: 'opened', replayed: decision.kind === 'replay', ...life };
}
