// Decides changes of a session. Pure: the caller passes the records and the time.

import { type Instant, laterBy } from '../../support/clock.ts';
import type { SessionId } from '../names.ts';
import { clampTtl, type LeasePolicy } from '../policy.ts';
import type { EndSession, Heartbeat, OpenSession, SessionLife } from '../port.ts';
import type { SessionRefusal } from '../refusal.ts';
import {
  authorityMs,
  chainEnd,
  chainState,
  lapsesAt,
  remainingMs,
  type SessionChain,
  type SessionEnd,
  type SessionRecord,
} from '../session.ts';

export type OpenDecision =
  | { readonly kind: 'open'; readonly session: SessionRecord }
  | { readonly kind: 'replay' }
  | { readonly kind: 'refuse'; readonly refusal: SessionRefusal };

export function decideOpen(
  view: {
    readonly existing: SessionChain;
    readonly parent: SessionChain;
    readonly policy: LeasePolicy;
  },
  request: OpenSession,
  now: Instant,
): OpenDecision {
  const existing = view.existing.at(-1);
  if (existing !== undefined) {
    return isSameOpening(existing, request, view.policy)
      ? { kind: 'replay' }
      : { kind: 'refuse', refusal: { why: 'session-duplicate', session: request.id } };
  }
  if (request.parent !== undefined) {
    const refusal = refuseUnlessAlive(view.parent, request.parent, now);
    if (refusal !== undefined) return { kind: 'refuse', refusal };
  }
  const depthMax = view.policy.sessionDepthMax;
  if (view.parent.length >= depthMax) {
    return { kind: 'refuse', refusal: { why: 'session-too-deep', depthMax } };
  }
  const ttlMs = clampTtl(view.policy, request.ttlMs);
  const session: SessionRecord = {
    id: request.id,
    owner: request.owner,
    path: [...view.parent.map((ancestor) => ancestor.id), request.id],
    ttlMs,
    graceMs: graceWithin(request.graceMs, ttlMs),
    metadata: { ...request.metadata },
    openedAt: now,
    beatAt: now,
    expiresAt: laterBy(now, ttlMs),
    extended: false,
    notices: 0,
  };
  return { kind: 'open', session };
}

export type BeatDecision =
  | { readonly kind: 'beat'; readonly session: SessionRecord; readonly rejoined: boolean }
  | { readonly kind: 'refuse'; readonly refusal: SessionRefusal };

export function decideHeartbeat(
  chain: SessionChain,
  request: Heartbeat,
  view: { readonly policy: LeasePolicy; readonly now: Instant },
): BeatDecision {
  const { now, policy } = view;
  const self = chain.at(-1);
  if (self === undefined) {
    return { kind: 'refuse', refusal: { why: 'session-unknown', session: request.id } };
  }
  if (self.owner !== request.owner) {
    const refusal: SessionRefusal = {
      why: 'session-not-yours',
      session: self.id,
      owner: self.owner,
    };
    return { kind: 'refuse', refusal };
  }
  // Overdue is not ended, and until the end is stored no successor can have entered (S-3).
  if (chainState(chain, now) === 'ended') {
    return { kind: 'refuse', refusal: deadRefusal(chain, self.id) };
  }
  const ttlMs = clampTtl(policy, request.ttlMs ?? self.ttlMs);
  const expiresAt = laterBy(now, ttlMs);
  // A heartbeat never shortens a session. A request for less time is refused, with the remaining
  // time.
  if (request.ttlMs !== undefined && expiresAt < self.expiresAt) {
    const remaining = self.expiresAt - now;
    return {
      kind: 'refuse',
      refusal: { why: 'would-shorten', session: self.id, remainingMs: remaining },
    };
  }
  const session: SessionRecord = {
    ...self,
    ttlMs,
    graceMs: graceWithin(self.graceMs, ttlMs),
    beatAt: now,
    expiresAt: laterBy(now, Math.max(ttlMs, self.expiresAt - now)),
    extended: false,
  };
  // Only its own lapse is over. While an ancestor is lapsed, the authority in the reply shows it.
  return { kind: 'beat', session, rejoined: lapsesAt(self) <= now };
}

export type EndDecision =
  | { readonly kind: 'end'; readonly end: SessionEnd }
  | { readonly kind: 'replay' }
  | { readonly kind: 'refuse'; readonly refusal: SessionRefusal };

export function decideEnd(chain: SessionChain, request: EndSession, now: Instant): EndDecision {
  const self = chain.at(-1);
  const { id, by } = request;
  if (self === undefined) {
    return { kind: 'refuse', refusal: { why: 'session-unknown', session: id } };
  }
  if (by.kind === 'owner' && by.owner !== self.owner) {
    const refusal: SessionRefusal = { why: 'session-not-yours', session: id, owner: self.owner };
    return { kind: 'refuse', refusal };
  }
  const end = endBy(by, now);
  if (self.end !== undefined) {
    return self.end.exit === end.exit
      ? { kind: 'replay' }
      : { kind: 'refuse', refusal: deadRefusal(chain, id) };
  }
  // An overdue owner may not declare its exit. An operator may still end the session (L-4).
  if (by.kind === 'owner') {
    const state = chainState(chain, now);
    if (state === 'ended' || state === 'overdue') {
      return { kind: 'refuse', refusal: deadRefusal(chain, id) };
    }
  }
  return { kind: 'end', end };
}

/** The end of a session by its owner or by an operator. */
export function endBy(by: EndSession['by'], now: Instant): SessionEnd {
  return by.kind === 'owner'
    ? { at: now, exit: by.exit }
    : { at: now, exit: 'revoked', cause: by.reason, actor: by.actor };
}

/** For operations that need authority: the session is alive, not lapsed. */
export function refuseUnlessAlive(
  chain: SessionChain,
  session: SessionId,
  now: Instant,
): SessionRefusal | undefined {
  if (chain.length === 0) return { why: 'session-unknown', session };
  const state = chainState(chain, now);
  if (state === 'alive') return undefined;
  return state === 'lapsed' ? { why: 'session-lapsed', session } : deadRefusal(chain, session);
}

export function lifeOf(chain: SessionChain, now: Instant): SessionLife {
  const self = chain.at(-1);
  return {
    ttlMs: self?.ttlMs ?? 0,
    graceMs: self?.graceMs ?? 0,
    authorityMs: authorityMs(chain, now),
    remainingMs: remainingMs(chain, now),
    notices: self?.notices ?? 0,
  };
}

/** The grace is part of the ttl and always shorter, so that some authority is left. */
export function graceWithin(graceMs: number, ttlMs: number): number {
  return Math.min(graceMs, Math.floor(ttlMs / 2));
}

function deadRefusal(chain: SessionChain, session: SessionId): SessionRefusal {
  const end = chainEnd(chain);
  return end === undefined || end.exit === 'expired'
    ? { why: 'session-expired', session }
    : { why: 'session-ended', session, exit: end.exit };
}

function isSameOpening(
  existing: SessionRecord,
  request: OpenSession,
  policy: LeasePolicy,
): boolean {
  return (
    existing.end === undefined &&
    existing.owner === request.owner &&
    existing.ttlMs === clampTtl(policy, request.ttlMs) &&
    existing.path.at(-2) === request.parent
  );
}
