import type { Recovered } from '../../../src/lease/port.ts';
import { fairChanceUntil } from '../../../src/lease/reclaim.ts';
import type { ModelState } from './state.ts';

/** E-6: at most once per heartbeat received, so that repeated outages cannot extend for ever. */
export function recover(state: ModelState): Recovered {
  const now = state.now();
  let extended = 0;
  for (const session of state.sessions.values()) {
    const expiresAt = fairChanceUntil(session.ttlMs, state.policy, now);
    if (session.end !== undefined || session.extended || session.expiresAt >= expiresAt) continue;
    state.sessions.set(session.id, { ...session, expiresAt, extended: true });
    extended += 1;
  }
  return { extended };
}
