import type { SessionId } from '../../lease/names.ts';
import { decideReclaim } from '../../lease/reclaim.ts';
import { markEnded } from './end-session.ts';
import type { MemoryState } from './state.ts';

/** Expires those of the sessions that are overdue, unless the breaker holds them back (E-8). */
export function reclaim(
  state: MemoryState,
  candidates: readonly SessionId[],
): { readonly expired: readonly SessionId[]; readonly paused: number } {
  const now = state.now();
  const all = [...state.sessions.values()];
  const live = all.filter((session) => session.end === undefined);
  const overdue = live.filter((session) => session.expiresAt <= now);
  const fresh = overdue.filter((session) => !session.extended);
  const windowStart = now - state.policy.breakerWindowMs;
  const expiredInWindow = all.filter(
    (session) => session.end?.exit === 'expired' && session.end.at > windowStart,
  ).length;

  const census = { live: live.length, overdueFresh: fresh.length, expiredInWindow };
  const decision = decideReclaim(census, state.policy, now);
  let paused = 0;
  if (decision.kind === 'hold') {
    paused = fresh.length;
    for (const session of fresh) {
      const expiresAt = decision.until;
      state.sessions.set(session.id, { ...session, expiresAt, extended: true });
    }
    state.append({
      kind: 'alarm',
      at: now,
      alarm: 'mass-expiry',
      cause: `${fresh.length} of ${live.length} sessions`,
    });
  }
  const expired: SessionId[] = [];
  for (const id of candidates) {
    const session = state.sessions.get(id);
    if (session === undefined || session.end !== undefined || session.expiresAt > now) continue;
    markEnded(state, session, { at: now, exit: 'expired' });
    expired.push(id);
  }
  return { expired, paused };
}
