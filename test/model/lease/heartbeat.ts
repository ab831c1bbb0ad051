import { decideHeartbeat, lifeOf } from '../../../src/lease/decide/session.ts';
import type { Heartbeat, HeartbeatResult } from '../../../src/lease/port.ts';
import type { ModelState } from './state.ts';

export function heartbeat(state: ModelState, request: Heartbeat): HeartbeatResult {
  const now = state.now();
  const decision = decideHeartbeat(state.chain(request.id), request, { policy: state.policy, now });
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  const { session, rejoined } = decision;
  state.sessions.set(session.id, session);
  if (rejoined) {
    state.append({
      kind: 'session-rejoined',
      at: now,
      session: session.id,
      owner: session.owner,
    });
  }
  return { kind: 'alive', rejoined, ...lifeOf(state.chain(session.id), now) };
}
