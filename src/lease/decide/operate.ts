// What operators may do to somebody else's term. Pure.

import { type Instant, laterBy } from '../../support/clock.ts';
import type { Drain, LeaseRecord } from '../lease.ts';
import { termEnd } from '../lease.ts';
import type { LeasePolicy } from '../policy.ts';
import type { RequestDrain, Revoke } from '../port.ts';
import type { TermRefusal, WriteRefusal } from '../refusal.ts';
import { chainState } from '../session.ts';
import { endedLease, endRefusal, requireNewest, type TermView } from './term.ts';

export type DrainDecision =
  | { readonly kind: 'apply'; readonly lease: LeaseRecord; readonly drain: Drain }
  | { readonly kind: 'replay'; readonly drain: Drain }
  | { readonly kind: 'refuse'; readonly refusal: TermRefusal | WriteRefusal };

export function decideDrain(view: TermView, request: RequestDrain, now: Instant): DrainDecision {
  const newest = requireNewest(view, request);
  if (newest.kind === 'refuse') return newest;
  const { lease } = newest;
  const { key, fence } = request;
  const end = termEnd(lease, view.holder, now);
  if (end !== undefined) return { kind: 'refuse', refusal: endRefusal(request, end) };
  if (chainState(view.holder, now) === 'overdue') {
    return { kind: 'refuse', refusal: { why: 'expired', key, fence } };
  }
  if (lease.drain !== undefined) {
    if (lease.drain.request === request.request) return { kind: 'replay', drain: lease.drain };
    const deadlineInMs = lease.drain.deadlineAt - now;
    return { kind: 'refuse', refusal: { why: 'already-draining', key, deadlineInMs } };
  }
  // V-1: the holder was promised authority up to its session's expiry and may not have heard of
  // this yet; a deadline before that would let two act at once.
  const promised = view.holder.at(-1)?.expiresAt ?? now;
  const drain: Drain = {
    request: request.request,
    by: request.by,
    reason: request.reason,
    requestedAt: now,
    deadlineAt: laterBy(now, Math.max(request.deadlineMs, promised - now)),
    ...(request.successor === undefined ? {} : { successor: request.successor }),
  };
  return { kind: 'apply', lease: { ...lease, rev: lease.rev + 1, drain }, drain };
}

export type RevokeDecision =
  | { readonly kind: 'apply'; readonly lease: LeaseRecord }
  | { readonly kind: 'replay' }
  | { readonly kind: 'refuse'; readonly refusal: TermRefusal };

export function decideRevoke(
  view: TermView,
  request: Revoke,
  context: { readonly policy: LeasePolicy; readonly now: Instant },
): RevokeDecision {
  const { policy, now } = context;
  const newest = requireNewest(view, request);
  if (newest.kind === 'refuse') return newest;
  const { lease } = newest;
  if (lease.end?.request === request.request) return { kind: 'replay' };
  const end = termEnd(lease, view.holder, now);
  if (end !== undefined) return { kind: 'refuse', refusal: endRefusal(request, end) };
  const revoked = {
    at: now,
    exit: 'revoked',
    cause: request.reason,
    actor: request.actor,
    request: request.request,
  } as const;
  return { kind: 'apply', lease: endedLease(lease, revoked, policy) };
}
