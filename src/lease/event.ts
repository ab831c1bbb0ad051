// Events of a store. The transaction that makes an event true writes it. Events have one order per
// store, and a reader can start at any point (O-1). Heartbeats and checkpoints are not events,
// because they are the hot path.

import type { Instant } from '../support/clock.ts';
import type { Exit } from './exit.ts';
import type { Fence } from './fence.ts';
import type { Drain, LeaseRecord, TermEnd } from './lease.ts';
import type { LeaseKey, Owner, SessionId } from './names.ts';
import type { SessionEnd } from './session.ts';

/** Where a reader stands. Every event's seq is greater than that of those before it. */
export type EventSeq = number;

interface EventBase {
  readonly seq: EventSeq;
  readonly at: Instant;
}

type Term = Pick<LeaseRecord, 'key' | 'fence' | 'rev' | 'session' | 'owner'>;

interface TermEvent extends EventBase {
  readonly key: LeaseKey;
  readonly fence: Fence;
  readonly rev: number;
  readonly session: SessionId;
  readonly owner: Owner;
}

interface SessionEvent extends EventBase {
  readonly session: SessionId;
  readonly owner: Owner;
}

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
  | (EventBase & {
      readonly kind: 'alarm';
      readonly alarm: Alarm;
      readonly cause: string;
    })
  | (EventBase & {
      readonly kind: 'epoch-raised';
      readonly actor: string;
      readonly cause: string;
    });

/** `fence-ahead`: somebody showed a fence this store never issued. `mass-expiry`: reclaim paused. */
export type Alarm = 'fence-ahead' | 'mass-expiry' | 'clock-set-back';

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
  const { by: actor, reason: cause, requestedAt: at, deadlineAt } = drain;
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
