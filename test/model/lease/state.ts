// The model's state. Every verb reads a view, calls the pure decision, and writes the result in the
// same turn of the event loop, which makes it atomic.

import type { TermView } from '../../../src/lease/decide/term.ts';
import type { LeaseEvent, NewLeaseEvent } from '../../../src/lease/event.ts';
import { FENCE_ORIGIN, type Fence, isIssuable, toFence } from '../../../src/lease/fence.ts';
import type { LeaseRecord } from '../../../src/lease/lease.ts';
import type { AttemptId, LeaseKey, Owner, SessionId } from '../../../src/lease/names.ts';
import type { LeasePolicy } from '../../../src/lease/policy.ts';
import type { SessionChain, SessionRecord } from '../../../src/lease/session.ts';
import type { Instant } from '../../../src/support/clock.ts';

export interface Ticket {
  /** Moved on whenever its waiter asks again. */
  readonly expiresAt: Instant;
  readonly attempt: AttemptId;
  readonly session: SessionId;
}

export class ModelState {
  readonly policy: LeasePolicy;
  readonly sessions: Map<SessionId, SessionRecord> = new Map();
  readonly leases: Map<LeaseKey, LeaseRecord> = new Map();
  readonly tickets: Map<LeaseKey, Ticket[]> = new Map();
  readonly flaps: Map<string, Instant> = new Map();
  readonly events: LeaseEvent[] = [];
  readonly hints: Set<(key: LeaseKey) => void> = new Set();
  lastIssued: number = FENCE_ORIGIN;
  halted: Fence | undefined;
  /** Some stores rewrite a ticket only after half of its time. */
  keepsTickets = false;

  readonly #readTime: () => Instant;
  #eventSeq = 0;

  /** `readTime` returns store time. */
  constructor(readTime: () => Instant, policy: LeasePolicy) {
    this.#readTime = readTime;
    this.policy = policy;
  }

  now(): Instant {
    return this.#readTime();
  }

  /** T-2, T-3: one counter for the whole store, never wound back. */
  mintFence(): Fence {
    this.lastIssued += 1;
    return toFence(this.lastIssued);
  }

  /** Root first. Empty if the session is unknown. */
  chain(id: SessionId | undefined): SessionChain {
    const self = id === undefined ? undefined : this.sessions.get(id);
    if (self === undefined) return [];
    return self.path.map((each) => this.sessions.get(each)).filter((each) => each !== undefined);
  }

  termView(key: LeaseKey): TermView {
    const lease = this.leases.get(key);
    return { lease, holder: this.chain(lease?.session), lastIssued: this.lastIssued };
  }

  append(event: NewLeaseEvent): void {
    this.#eventSeq += 1;
    this.events.push({ ...event, seq: this.#eventSeq } as LeaseEvent);
  }

  get eventSeq(): number {
    return this.#eventSeq;
  }

  notify(session: SessionId): void {
    const record = this.sessions.get(session);
    if (record !== undefined) {
      this.sessions.set(session, { ...record, notices: record.notices + 1 });
    }
  }

  /** A caller showed a fence that was never issued: stop granting until an operator looks (T-4). */
  haltFor(fence: Fence, now: Instant): void {
    if (!isIssuable(fence)) return;
    const wasHalted = this.halted !== undefined;
    // The epoch must rise above the highest fence presented, not above the first.
    this.halted = toFence(Math.max(this.halted ?? 0, fence));
    if (wasHalted) return;
    this.append({ kind: 'alarm', at: now, alarm: 'fence-ahead', cause: `fence ${fence}` });
  }

  hint(key: LeaseKey): void {
    for (const listener of this.hints) {
      try {
        listener(key);
      } catch {
        // A hint is a courtesy: a failing listener must not fail the caller that released the key
        // (O-4).
      }
    }
  }
}

export function flapKey(key: LeaseKey, owner: Owner): string {
  return `${key}\0${owner}`;
}
