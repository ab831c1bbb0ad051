import { decideEnd } from '../../../src/lease/decide/session.ts';
import type { EndSession, SessionEnded } from '../../../src/lease/port.ts';
import type { SessionEnd, SessionRecord } from '../../../src/lease/session.ts';
import type { ModelState } from './state.ts';

export function endSession(state: ModelState, request: EndSession): SessionEnded {
  const now = state.now();
  const decision = decideEnd(state.chain(request.id), request, now);
  if (decision.kind === 'refuse') return { kind: 'refused', ...decision.refusal };
  const session = state.sessions.get(request.id);
  if (decision.kind === 'end' && session !== undefined) markEnded(state, session, decision.end);
  return { kind: 'ended', replayed: decision.kind === 'replay' };
}

/** One write ends every lease of the session and of its descendants (H-1). */
export function markEnded(state: ModelState, session: SessionRecord, end: SessionEnd): void {
  state.sessions.set(session.id, { ...session, end });
  state.append({
    kind: 'session-ended',
    at: end.at,
    session: session.id,
    owner: session.owner,
    exit: end.exit,
    ...(end.cause === undefined ? {} : { cause: end.cause }),
    ...(end.actor === undefined ? {} : { actor: end.actor }),
  });
  for (const key of state.tickets.keys()) state.hint(key);
}
