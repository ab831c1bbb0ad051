// Decides the writes of a holder within its term, and of operators on a term. Pure. Every write of
// a holder needs the newest fence, the session of that grant, and authority now. The refusal names
// the missing one.

import { type Instant, laterBy } from '../../support/clock.ts';
import type { Fence } from '../fence.ts';
import type { Drain, Intent, LeaseRecord, Reservation, TermEnd } from '../lease.ts';
import { ownDeadline, termEnd } from '../lease.ts';
import type { LeaseKey, SessionId } from '../names.ts';
import type { LeasePolicy } from '../policy.ts';
import type {
  BeginIntent,
  ReleaseLease,
  RequestDrain,
  Revoke,
  SaveCheckpoint,
  SettleIntent,
  Tenure,
} from '../port.ts';
import type { TermRefusal, WriteRefusal } from '../refusal.ts';
import { authorityMs, chainState, type SessionChain } from '../session.ts';

export interface TermView {
  readonly lease: LeaseRecord | undefined;
  readonly holder: SessionChain;
  /** The greatest fence that this store has issued. */
  readonly lastIssued: number;
}

export interface TermContext {
  readonly policy: LeasePolicy;
  readonly now: Instant;
}

type Refuse<Why = TermRefusal | WriteRefusal> = { readonly kind: 'refuse'; readonly refusal: Why };
type RefuseTerm = Refuse<TermRefusal>;
type Change<Extra = object> = { readonly kind: 'apply'; readonly lease: LeaseRecord } & Extra;
type Replay<Extra = object> = { readonly kind: 'replay' } & Extra;

export type TermDecision = Change | Replay | Refuse;

/** Builds the verb's reply. `done` receives true if an earlier call had already done it. */
export function termResult<Why extends object, Done>(
  decision: { readonly kind: 'apply' | 'replay' } | Refuse<Why>,
  done: (replayed: boolean) => Done,
): Done | ({ readonly kind: 'refused' } & Why) {
  return decision.kind === 'refuse'
    ? { kind: 'refused', ...decision.refusal }
    : done(decision.kind === 'replay');
}

export function decideCheckpoint(
  view: TermView,
  request: SaveCheckpoint,
  context: TermContext,
): Change | Replay | Refuse {
  const { policy, now } = context;
  if (request.bytes.byteLength > policy.checkpointBytesMax) {
    const bytes = request.bytes.byteLength;
    const bytesMax = policy.checkpointBytesMax;
    return { kind: 'refuse', refusal: { why: 'checkpoint-too-large', bytes, bytesMax } };
  }
  const held = requireHeld(view, request, now);
  if (held.kind === 'refuse') return held;
  const stored = held.lease.checkpoint;
  if (stored !== undefined && request.seq <= stored.seq) {
    return decideRepeatedSeq(held.lease, request);
  }
  const checkpoint = {
    seq: request.seq,
    bytes: request.bytes,
    digest: request.digest,
    fence: request.fence,
    at: now,
    ...(request.type === undefined ? {} : { type: request.type }),
  };
  const lease: LeaseRecord = {
    ...held.lease,
    rev: held.lease.rev + 1,
    checkpoint,
    ...(stored === undefined ? {} : { checkpointBefore: stored }),
    lossesSinceCheckpoint: 0,
  };
  return { kind: 'apply', lease };
}

/** The same write again is already done. Any other write with an old seq is refused (K-2). */
function decideRepeatedSeq(lease: LeaseRecord, request: SaveCheckpoint): Replay | Refuse {
  const stored = lease.checkpoint;
  if (stored === undefined || request.seq < stored.seq) {
    const storedSeq = stored?.seq ?? 0;
    return { kind: 'refuse', refusal: { why: 'seq-superseded', key: request.key, storedSeq } };
  }
  if (stored.fence === request.fence && stored.digest === request.digest) return { kind: 'replay' };
  return { kind: 'refuse', refusal: { why: 'seq-conflict', key: request.key, seq: request.seq } };
}

export function decideBeginIntent(
  view: TermView,
  request: BeginIntent,
  context: TermContext,
): Change | Replay | Refuse {
  const { policy, now } = context;
  const held = requireHeld(view, request, now);
  if (held.kind === 'refuse') return held;
  const { lease } = held;
  const open = lease.intents.find((intent) => intent.effect === request.effect);
  if (open !== undefined) {
    if (open.fence === request.fence) return { kind: 'replay' };
    const refusal = { why: 'intent-open', effect: request.effect, fence: open.fence } as const;
    return { kind: 'refuse', refusal };
  }
  if (lease.intents.length >= policy.intentsMax) {
    const refusal = { why: 'intents-full', key: lease.key, intentsMax: policy.intentsMax } as const;
    return { kind: 'refuse', refusal };
  }
  const intent: Intent = {
    effect: request.effect,
    fence: request.fence,
    begunAt: now,
    ...(request.note === undefined ? {} : { note: request.note }),
  };
  const changed = { ...lease, rev: lease.rev + 1, intents: [...lease.intents, intent] };
  return { kind: 'apply', lease: changed };
}

export function decideSettleIntent(
  view: TermView,
  request: SettleIntent,
  { now }: TermContext,
): Change | Replay | RefuseTerm {
  const held = requireHeld(view, request, now);
  if (held.kind === 'refuse') return held;
  const { lease } = held;
  const intents = lease.intents.filter((intent) => intent.effect !== request.effect);
  if (intents.length === lease.intents.length) return { kind: 'replay' };
  return { kind: 'apply', lease: { ...lease, rev: lease.rev + 1, intents } };
}

export function decideRelease(
  view: TermView,
  request: ReleaseLease,
  context: TermContext,
): Change | Replay | RefuseTerm {
  const { policy, now } = context;
  // Repeating a release succeeds and changes nothing, even if the end of the session did it and no
  // sweep has recorded that yet (L-2).
  const { lease } = view;
  if (isTermOf(lease, request) && termEnd(lease, view.holder, now)?.exit === request.exit) {
    return { kind: 'replay' };
  }
  const held = requireHeld(view, request, now);
  if (held.kind === 'refuse') return held;
  const end: TermEnd = {
    at: now,
    exit: request.exit,
    ...(request.cause === undefined ? {} : { cause: request.cause }),
  };
  return { kind: 'apply', lease: endedLease(held.lease, end, policy) };
}

export function decideVerify(
  view: TermView,
  request: { readonly key: LeaseKey; readonly fence: Fence },
  now: Instant,
): { readonly kind: 'current'; readonly authorityMs: number } | RefuseTerm {
  const held = requireHeld(view, request, now);
  if (held.kind === 'refuse') return held;
  const own = (ownDeadline(held.lease) ?? Number.POSITIVE_INFINITY) - now;
  return { kind: 'current', authorityMs: Math.min(own, authorityMs(view.holder, now)) };
}

export function decideDrain(
  view: TermView,
  request: RequestDrain,
  { now }: TermContext,
): Change<{ readonly drain: Drain }> | Replay<{ readonly drain: Drain }> | Refuse {
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
  // The holder was promised authority up to its session's expiry, and may not know of the drain
  // yet. With an earlier deadline, two holders could act at once (V-1).
  const promised = view.holder.at(-1)?.expiresAt ?? now;
  const drain: Drain = {
    request: request.request,
    actor: request.actor,
    reason: request.reason,
    requestedAt: now,
    deadlineAt: laterBy(now, Math.max(request.deadlineMs, promised - now)),
    ...(request.successor === undefined ? {} : { successor: request.successor }),
  };
  return { kind: 'apply', lease: { ...lease, rev: lease.rev + 1, drain }, drain };
}

export function decideRevoke(
  view: TermView,
  request: Revoke,
  context: TermContext,
): Change | Replay | RefuseTerm {
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

/** The record after the end of its term. A yield to a named successor leaves a reservation. */
export function endedLease(lease: LeaseRecord, end: TermEnd, policy: LeasePolicy): LeaseRecord {
  const reservation = reservationAfter(lease, end, policy);
  return {
    ...lease,
    rev: lease.rev + 1,
    end,
    ...(reservation === undefined ? {} : { reservation }),
  };
}

/** The reservation after a yield, whether or not the end is in the lease's own row yet (V-5). */
export function reservationAfter(
  lease: LeaseRecord,
  end: TermEnd,
  policy: LeasePolicy,
): Reservation | undefined {
  if (lease.end !== undefined) return lease.reservation;
  const successor = end.exit === 'yielded' ? lease.drain?.successor : undefined;
  if (successor === undefined) return undefined;
  return { for: successor, until: laterBy(end.at, policy.reservationMs) };
}

/**
 * Requires the newest fence, the right session if given, and a term that is not ended, expired or
 * lapsed.
 */
export function requireHeld(
  view: TermView,
  request: { readonly key: LeaseKey; readonly fence: Fence; readonly session?: SessionId },
  now: Instant,
): { readonly kind: 'held'; readonly lease: LeaseRecord } | RefuseTerm {
  const newest = requireNewest(view, request);
  if (newest.kind === 'refuse') return newest;
  const { lease } = newest;
  const { key, fence } = request;
  if (request.session !== undefined && lease.session !== request.session) {
    return { kind: 'refuse', refusal: { why: 'not-yours', key, owner: lease.owner } };
  }
  const end = termEnd(lease, view.holder, now);
  if (end !== undefined) return { kind: 'refuse', refusal: endRefusal(request, end) };
  const state = chainState(view.holder, now);
  if (state === 'alive') return { kind: 'held', lease };
  const why = state === 'lapsed' ? 'lapsed' : 'expired';
  return { kind: 'refuse', refusal: { why, key, fence } };
}

/** Requires the fence of the newest grant. The term may have ended all the same. */
export function requireNewest(
  view: TermView,
  request: { readonly key: LeaseKey; readonly fence: Fence },
): { readonly kind: 'newest'; readonly lease: LeaseRecord } | RefuseTerm {
  const { key, fence } = request;
  if (fence > view.lastIssued) {
    return { kind: 'refuse', refusal: { why: 'fence-ahead', key, fence } };
  }
  const { lease } = view;
  if (lease === undefined) return { kind: 'refuse', refusal: { why: 'key-unknown', key } };
  if (lease.fence === fence) return { kind: 'newest', lease };
  const refusal = {
    why: 'superseded',
    key,
    fence,
    newest: lease.fence,
    holder: lease.owner,
  } as const;
  return { kind: 'refuse', refusal };
}

export function endRefusal(
  request: { readonly key: LeaseKey; readonly fence: Fence },
  end: TermEnd,
): TermRefusal {
  const { key, fence } = request;
  if (end.exit === 'expired') return { why: 'expired', key, fence };
  const cause = end.cause === undefined ? {} : { cause: end.cause };
  return { why: 'ended', key, fence, exit: end.exit, ...cause };
}

function isTermOf(lease: LeaseRecord | undefined, tenure: Tenure): lease is LeaseRecord {
  return lease !== undefined && lease.fence === tenure.fence && lease.session === tenure.session;
}
