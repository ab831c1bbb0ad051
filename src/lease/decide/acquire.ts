// Decides if a session may have a key now. Pure. The model acts on the decision. The SQL stores
// decide by their predicate, and use this only to explain a refusal.

import { type Instant, laterBy } from '../../support/clock.ts';
import type { Fence } from '../fence.ts';
import { chargeFlap, dampedForMs } from '../flap.ts';
import type { LeaseRecord, Predecessor, Reservation } from '../lease.ts';
import { leaseState, ownDeadline, termEnd } from '../lease.ts';
import type { SessionId } from '../names.ts';
import type { LeasePolicy } from '../policy.ts';
import type { Acquire, Grant } from '../port.ts';
import type { EntryRefusal, Holder, SessionRefusal } from '../refusal.ts';
import { authorityMs, remainingMs, type SessionChain } from '../session.ts';
import { refuseUnlessAlive } from './session.ts';
import { reservationAfter } from './term.ts';

export interface AcquireView {
  readonly own: SessionChain;
  readonly lease: LeaseRecord | undefined;
  /** The chain of the session that carries the lease; empty if there is none. */
  readonly holder: SessionChain;
  /** Tickets of others that count, before this one; all of them if it has none. */
  readonly ahead: number;
  /** The end of this owner's penalty on this key. */
  readonly flapUntil: Instant | undefined;
  /** The fence that was never issued and halted grants. */
  readonly halted: Fence | undefined;
  readonly policy: LeasePolicy;
}

export type AcquireDecision =
  | { readonly kind: 'grant' }
  | { readonly kind: 'replay'; readonly lease: LeaseRecord }
  /** Overdue sessions hold the key. Expire them first, by compare-and-set. */
  | { readonly kind: 'reclaim'; readonly sessions: readonly SessionId[]; readonly holder: Holder }
  | { readonly kind: 'refuse'; readonly refusal: EntryRefusal; readonly mayWait: boolean }
  | { readonly kind: 'refuse-session'; readonly refusal: SessionRefusal };

export function decideAcquire(view: AcquireView, request: Acquire, now: Instant): AcquireDecision {
  const notAlive = refuseUnlessAlive(view.own, request.session, now);
  if (notAlive !== undefined) return { kind: 'refuse-session', refusal: notAlive };

  const { lease } = view;
  if (lease !== undefined && isReplay(view, request, now)) return { kind: 'replay', lease };
  // An attempt that was granted and has ended is used up (U-2). Otherwise the store would grant a
  // delayed copy of it to a caller that is long gone.
  if (lease !== undefined && lease.attempt === request.attempt && isOver(view, now)) {
    const refusal = { why: 'attempt-used', key: request.key, fence: lease.fence } as const;
    return { kind: 'refuse', refusal, mayWait: false };
  }
  if (view.halted !== undefined) {
    return { kind: 'refuse', refusal: { why: 'halted', presented: view.halted }, mayWait: false };
  }
  if (lease !== undefined) {
    const blocked = decideOccupied(view, lease, { request, now });
    if (blocked !== undefined) return blocked;
  }
  return decideTurn(view, request, now);
}

/** The same attempt by the same session gets the same term. */
function isReplay(view: AcquireView, request: Acquire, now: Instant): boolean {
  const { lease } = view;
  return (
    lease !== undefined &&
    lease.attempt === request.attempt &&
    lease.session === request.session &&
    termEnd(lease, view.holder, now) === undefined
  );
}

function isOver(view: AcquireView, now: Instant): boolean {
  return view.lease !== undefined && termEnd(view.lease, view.holder, now) !== undefined;
}

function decideOccupied(
  view: AcquireView,
  lease: LeaseRecord,
  context: { readonly request: Acquire; readonly now: Instant },
): AcquireDecision | undefined {
  const { request, now } = context;
  const { key } = request;
  const state = leaseState(lease, view.holder, now);
  if (state === 'free') return undefined;
  if (state === 'retired') {
    if (request.reopen === true) return undefined;
    return { kind: 'refuse', refusal: { why: 'retired', key, fence: lease.fence }, mayWait: false };
  }
  const holder = holderOf(lease, view.holder, now);
  if (state === 'expired') {
    const overdue = view.holder.filter((session) => session.expiresAt <= now);
    return { kind: 'reclaim', sessions: overdue.map((session) => session.id), holder };
  }
  // The store extended the holder, and no heartbeat has come since. Report that instead of `held`.
  const why = view.holder.some((session) => session.extended) ? 'reclaim-paused' : 'held';
  return { kind: 'refuse', refusal: { why, key, holder }, mayWait: true };
}

/** The key is free. Decides if it is this owner's turn. */
function decideTurn(view: AcquireView, request: Acquire, now: Instant): AcquireDecision {
  const { key } = request;
  const owner = view.own.at(-1)?.owner;
  const damped = dampedForMs(view.flapUntil, view.policy, now);
  if (damped > 0) {
    return { kind: 'refuse', refusal: { why: 'damped', key, freeInMs: damped }, mayWait: false };
  }
  const reservation = reservationOf(view, now);
  if (reservation !== undefined && reservation.until > now) {
    if (reservation.for === owner) return { kind: 'grant' };
    const freeInMs = reservation.until - now;
    return {
      kind: 'refuse',
      refusal: { why: 'reserved', key, for: reservation.for, freeInMs },
      mayWait: true,
    };
  }
  if (view.ahead > 0) {
    return {
      kind: 'refuse',
      refusal: { why: 'behind-others', key, ahead: view.ahead },
      mayWait: true,
    };
  }
  return { kind: 'grant' };
}

function reservationOf(view: AcquireView, now: Instant): Reservation | undefined {
  const { lease, holder, policy } = view;
  const end = lease === undefined ? undefined : termEnd(lease, holder, now);
  if (lease === undefined || end === undefined) return undefined;
  return reservationAfter(lease, end, policy);
}

/**
 * Builds the record after a grant. One step captures everything that the successor learns.
 */
export function leaseAfterGrant(
  view: AcquireView,
  request: Acquire,
  grant: { readonly fence: Fence; readonly now: Instant },
): LeaseRecord {
  const { fence, now } = grant;
  const before = view.lease;
  const owner = view.own.at(-1)?.owner;
  if (owner === undefined) throw new Error('grantLease needs the session that decideAcquire saw');
  const predecessor = predecessorOf(before, view.holder, now);
  const goBack = request.fromCheckpointBefore === true && before?.checkpointBefore !== undefined;
  const checkpoint = goBack ? before.checkpointBefore : before?.checkpoint;
  const checkpointBefore = goBack ? undefined : before?.checkpointBefore;
  const lost = predecessor.exit === 'expired' ? 1 : 0;
  return {
    key: request.key,
    fence,
    session: request.session,
    owner,
    attempt: request.attempt,
    rev: (before?.rev ?? 0) + 1,
    grantedAt: now,
    ...(request.tenureMsMax === undefined
      ? {}
      : { hardDeadlineAt: laterBy(now, request.tenureMsMax) }),
    predecessor,
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(checkpointBefore === undefined ? {} : { checkpointBefore }),
    lossesSinceCheckpoint: goBack ? 0 : (before?.lossesSinceCheckpoint ?? 0) + lost,
    intents: before?.intents ?? [],
  };
}

/** The penalty of the owner that lost the term by expiry, if it did (G-4). */
export function flapAfterGrant(
  predecessor: Predecessor,
  until: Instant | undefined,
  view: { readonly policy: LeasePolicy; readonly now: Instant },
): Instant | undefined {
  if (predecessor.exit !== 'expired' || view.policy.flapUnitMs === 0) return undefined;
  return chargeFlap(until, view.policy, view.now);
}

export function grantResult(lease: LeaseRecord, own: SessionChain, now: Instant): Grant {
  const deadline = ownDeadline(lease);
  const deadlineInMs = deadline === undefined ? undefined : deadline - now;
  return {
    key: lease.key,
    fence: lease.fence,
    grantedAt: lease.grantedAt,
    authorityMs: Math.min(authorityMs(own, now), deadlineInMs ?? Number.POSITIVE_INFINITY),
    ...(deadlineInMs === undefined ? {} : { deadlineInMs }),
    ...(lease.checkpoint === undefined ? {} : { checkpoint: lease.checkpoint }),
    intents: lease.intents,
    predecessor: lease.predecessor,
    lossesSinceCheckpoint: lease.lossesSinceCheckpoint,
  };
}

export function holderOf(lease: LeaseRecord, chain: SessionChain, now: Instant): Holder {
  return {
    owner: lease.owner,
    session: lease.session,
    fence: lease.fence,
    since: lease.grantedAt,
    state: leaseState(lease, chain, now),
    freeInMs: freeInMs(lease, chain, now),
  };
}

/** The longest time until the key can be taken, if the holder does not renew. */
export function freeInMs(lease: LeaseRecord, chain: SessionChain, now: Instant): number {
  if (termEnd(lease, chain, now) !== undefined) return 0;
  const deadline = ownDeadline(lease);
  const own = deadline === undefined ? Number.POSITIVE_INFINITY : deadline - now;
  return Math.max(0, Math.min(own, remainingMs(chain, now)));
}

function predecessorOf(
  before: LeaseRecord | undefined,
  holder: SessionChain,
  now: Instant,
): Predecessor {
  if (before === undefined) return { exit: 'none' };
  const end = termEnd(before, holder, now);
  return {
    exit: end?.exit ?? 'expired',
    owner: before.owner,
    fence: before.fence,
    endedAt: end?.at ?? now,
    ...(end?.cause === undefined ? {} : { cause: end.cause }),
    ...(end?.actor === undefined ? {} : { actor: end.actor }),
  };
}
