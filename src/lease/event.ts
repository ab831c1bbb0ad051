// Events of a store. The transaction that makes an event true writes it. Events have one order per
// store, and a reader can start at any point (O-1). Heartbeats and checkpoints are not events,
// because they are the hot path.

import type { Instant } from '../support/clock.ts';
import type { Exit } from './exit.ts';
import type { Fence } from './fence.ts';
import type { Drain, LeaseRecord, TermEnd } from './lease.ts';
import type { LeaseKey, Owner, SessionId } from './names.ts';
import type { SessionEnd } from './session.ts';

/** The position of an event in its store's order. Each is greater than those before it. */
export type EventSeq = number;

interface EventBase {
  /** The event's position in the store's order. */
  readonly seq: EventSeq;
  /** When it happened, by the store's clock. */
  readonly at: Instant;
}

type Term = Pick<LeaseRecord, 'key' | 'fence' | 'rev' | 'session' | 'owner'>;

interface TermEvent extends EventBase {
  /** The key. */
  readonly key: LeaseKey;
  /** The fence of the term. */
  readonly fence: Fence;
  /** The revision of the record. */
  readonly rev: number;
  /** The session of the term. */
  readonly session: SessionId;
  /** The owner of that session. */
  readonly owner: Owner;
}

interface SessionEvent extends EventBase {
  /** The session. */
  readonly session: SessionId;
  /** Its owner. */
  readonly owner: Owner;
}

/**
 * An event of a store, written in the transaction that makes it true. Heartbeats and checkpoints
 * are not events.
 *
 * - `acquired`: a term began.
 * - `ended`: a term ended, with its `exit`, and the `cause` and `actor` if there are any.
 * - `drain-requested`: `actor` asked the holder to stop by `deadlineAt`, because of `cause`.
 * - `session-opened`, `session-rejoined`: a session opened, or renewed after a lapse.
 * - `session-ended`: a session ended, with its `exit`.
 * - `alarm`: the store saw an anomaly; `alarm` is its kind.
 * - `epoch-raised`: `actor` raised the epoch because of `cause`.
 */
export type LeaseEvent =
  | (TermEvent & { readonly kind: 'acquired' })
  | (TermEvent & {
      readonly kind: 'ended';
      readonly exit: Exit;
      readonly cause?: string;
      readonly actor?: string;
    })
  | (TermEvent & {
      readonly kind: 'drain-requested';
      readonly actor: string;
      readonly cause: string;
      readonly deadlineAt: Instant;
    })
  | (SessionEvent & { readonly kind: 'session-opened' | 'session-rejoined' })
  | (SessionEvent & {
      readonly kind: 'session-ended';
      readonly exit: Exit;
      readonly cause?: string;
      readonly actor?: string;
    })
  | (EventBase & { readonly kind: 'alarm'; readonly alarm: Alarm; readonly cause: string })
  | (EventBase & { readonly kind: 'epoch-raised'; readonly actor: string; readonly cause: string });

/**
 * An anomaly that the store saw.
 *
 * - `fence-ahead`: a client presented a fence that this store never issued.
 * - `mass-expiry`: many sessions were about to expire at once, so expiry is paused.
 * - `clock-set-back`: the store's clock went back.
 */
export type Alarm = 'fence-ahead' | 'mass-expiry' | 'clock-set-back';

/** The kind of an event. */
export type EventKind = LeaseEvent['kind'];

/** An event before the store adds its seq. */
export type NewLeaseEvent = LeaseEvent extends infer Each
  ? Each extends LeaseEvent
    ? Omit<Each, 'seq'>
    : never
  : never;

/** The one event for the end of a term (E-3). */
export function endedEvent(lease: Term, end: TermEnd, at: Instant): NewLeaseEvent {
  return { kind: 'ended', at, ...termOf(lease), ...howItEnded(end) };
}

export function drainEvent(lease: Term, drain: Drain): NewLeaseEvent {
  const { actor, reason: cause, requestedAt: at, deadlineAt } = drain;
  return { kind: 'drain-requested', at, ...termOf(lease), actor, cause, deadlineAt };
}

export function sessionEndedEvent(
  session: { readonly id: SessionId; readonly owner: Owner },
  end: SessionEnd,
): NewLeaseEvent {
  const { id, owner } = session;
  return { kind: 'session-ended', at: end.at, session: id, owner, ...howItEnded(end) };
}

function termOf({ key, fence, rev, session, owner }: Term): Term {
  return { key, fence, rev, session, owner };
}

function howItEnded({ exit, cause, actor }: SessionEnd): Omit<SessionEnd, 'at'> {
  return {
    exit,
    ...(cause === undefined ? {} : { cause }),
    ...(actor === undefined ? {} : { actor }),
  };
}
