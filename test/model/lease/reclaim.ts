import type { SessionId } from '../../../src/lease/names.ts';
import { type Census, causeOfHold, decideReclaim } from '../../../src/lease/reclaim.ts';
import { PROJECT_METADATA, type SessionRecord } from '../../../src/lease/session.ts';
import { markEnded } from './end-session.ts';
import type { ModelState } from './state.ts';

/** Expires those of the sessions that are overdue, unless the breaker holds them back (E-8). */
export function reclaim(
  state: ModelState,
  candidates: readonly SessionId[],
): { readonly expired: readonly SessionId[]; readonly paused: number } {
  const now = state.now();
  const ofProject = Map.groupBy(state.sessions.values(), projectOf);
  let paused = 0;
  for (const [project, sessions] of ofProject) paused += holdBack(state, project, sessions);
  const expired: SessionId[] = [];
  for (const id of candidates) {
    const session = state.sessions.get(id);
    if (session === undefined || session.end !== undefined || session.expiresAt > now) continue;
    markEnded(state, session, { at: now, exit: 'expired' });
    expired.push(id);
  }
  return { expired, paused };
}

function projectOf({ metadata }: SessionRecord): string | undefined {
  return metadata[PROJECT_METADATA];
}

/** The number of sessions that got more time. */
function holdBack(
  state: ModelState,
  project: string | undefined,
  sessions: readonly SessionRecord[],
): number {
  const now = state.now();
  const live = sessions.filter(({ end }) => end === undefined);
  const fresh = live.filter(({ expiresAt, extended }) => expiresAt <= now && !extended);
  const windowStart = now - state.policy.breakerWindowMs;
  const expiredInWindow = sessions.filter(
    ({ end }) => end?.exit === 'expired' && end.at > windowStart,
  ).length;
  const census: Census = { live: live.length, overdueFresh: fresh.length, expiredInWindow };
  const decision = decideReclaim(census, state.policy, now);
  if (decision.kind === 'expire') return 0;
  for (const session of fresh) {
    state.sessions.set(session.id, { ...session, expiresAt: decision.until, extended: true });
  }
  const cause = causeOfHold(project, census);
  state.append({ kind: 'alarm', at: now, alarm: 'mass-expiry', cause });
  return fresh.length;
}
