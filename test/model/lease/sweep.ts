import { endedLease } from '../../../src/lease/decide/term.ts';
import type { LeaseRecord, TermEnd } from '../../../src/lease/lease.ts';
import { termEnd } from '../../../src/lease/lease.ts';
import type { Sweep, Swept } from '../../../src/lease/port.ts';
import { chainState } from '../../../src/lease/session.ts';
import type { Instant } from '../../../src/support/clock.ts';
import { reclaim } from './reclaim.ts';
import type { ModelState } from './state.ts';

export function sweep(state: ModelState, request: Sweep): Swept {
  const now = state.now();
  const overdue = [...state.sessions.values()]
    .filter((session) => session.end === undefined && session.expiresAt <= now)
    .sort((a, b) => a.expiresAt - b.expiresAt || (a.id < b.id ? -1 : 1));
  const { expired, paused } = reclaim(
    state,
    overdue.slice(0, request.limit).map((session) => session.id),
  );
  const implied = recordImpliedEnds(state, request.limit, now);
  dropDeadTickets(state, now);
  const deleted = deleteOld(state, request.limit, now);
  return {
    expired,
    ended: implied.map(({ key, fence }) => ({ key, fence })),
    deleted,
    paused,
    more: overdue.length > request.limit || implied.length >= request.limit,
  };
}

/** Writes ends that follow from a session or a deadline into the lease's own row. */
function recordImpliedEnds(state: ModelState, limit: number, now: Instant): LeaseRecord[] {
  const ended: LeaseRecord[] = [];
  for (const lease of state.leases.values()) {
    if (ended.length >= limit) break;
    if (lease.end !== undefined) continue;
    const end = termEnd(lease, state.chain(lease.session), now);
    if (end === undefined) continue;
    const record = endedLease(lease, end, state.policy);
    state.leases.set(lease.key, record);
    appendEnded(state, record, { end, at: now });
    ended.push(record);
  }
  for (const { key } of ended) state.hint(key);
  return ended;
}

export function appendEnded(
  state: ModelState,
  lease: LeaseRecord,
  ended: { readonly end: TermEnd; readonly at: Instant },
): void {
  const { end, at } = ended;
  state.append({
    kind: 'ended',
    at,
    key: lease.key,
    fence: lease.fence,
    rev: lease.rev,
    session: lease.session,
    owner: lease.owner,
    exit: end.exit,
    ...(end.cause === undefined ? {} : { cause: end.cause }),
    ...(end.actor === undefined ? {} : { actor: end.actor }),
  });
}

/** a session that gets more time keeps its place, since it may count again. */
function dropDeadTickets(state: ModelState, now: Instant): void {
  for (const [key, tickets] of state.tickets) {
    const live = tickets.filter(
      ({ session, expiresAt }) =>
        chainState(state.chain(session), now) !== 'ended' && expiresAt > now,
    );
    if (live.length === 0) state.tickets.delete(key);
    else state.tickets.set(key, live);
  }
}

/**
 * L-6: deletes only retired keys, and sessions without references. The fence sequence never
 * changes.
 */
function deleteOld(state: ModelState, limit: number, now: Instant): number {
  const before = now - state.policy.retentionMs;
  let deleted = 0;
  for (const lease of [...state.leases.values()]) {
    if (deleted >= limit) return deleted;
    if (lease.end?.exit !== 'retired' || lease.end.at > before) continue;
    state.leases.delete(lease.key);
    deleted += 1;
  }
  const carrying = new Set(
    [...state.leases.values()].filter((lease) => lease.end === undefined).map((l) => l.session),
  );
  const ancestors = new Set(
    [...state.sessions.values()]
      .filter((session) => session.end === undefined || carrying.has(session.id))
      .flatMap((session) => session.path),
  );
  for (const session of [...state.sessions.values()]) {
    if (deleted >= limit) return deleted;
    if (session.end === undefined || session.end.at > before || ancestors.has(session.id)) continue;
    state.sessions.delete(session.id);
    deleted += 1;
  }
  while (deleted < limit && (state.events[0]?.at ?? now) <= before) {
    state.events.shift();
    deleted += 1;
  }
  for (const [flap, until] of state.flaps) if (until <= now) state.flaps.delete(flap);
  return deleted;
}
