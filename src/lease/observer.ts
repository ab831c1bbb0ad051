// Reports of the library to an observer. The interface has no dependency; adapters for metrics and
// traces are elsewhere. Observers cannot throw into, delay or re-enter the kernel (O-4). They are
// called after the current turn, from a bounded buffer that counts the reports it drops.

import type { Clock } from '../support/clock.ts';
import type { Timers } from '../support/timer.ts';
import type { Exit } from './exit.ts';
import type { Fence } from './fence.ts';
import type { LeaseKey, Owner, SessionId } from './names.ts';

export const LEASE_OPERATIONS = [
  ...(['open-session', 'heartbeat', 'end-session', 'acquire', 'withdraw'] as const),
  ...(['checkpoint', 'begin-intent', 'settle-intent', 'release'] as const),
] as const;

export type LeaseOperation = (typeof LEASE_OPERATIONS)[number];

/** The classes of all outcomes. */
export const OUTCOME_CLASSES = [
  ...(['ok', 'contended', 'fenced', 'expired', 'revoked', 'refused'] as const),
  ...(['unknown', 'unavailable'] as const),
] as const;

export type OutcomeClass = (typeof OUTCOME_CLASSES)[number];

export interface OperationReport {
  readonly kind: 'operation';
  readonly operation: LeaseOperation;
  readonly outcome: OutcomeClass;
  readonly latencyMs: number;
  /** The session's authority when the request left, and when the reply came. */
  readonly remainingAtSendMs: number;
  readonly remainingAtReplyMs: number;
  readonly session: SessionId;
  /** The longest delay of the event loop since the previous report. */
  readonly loopLagMs: number;
  /** By how much the wall clock outran the monotonic one since then: a suspend, or a set clock. */
  readonly suspendedMs: number;
  /** The number of this try; 1 if the previous heartbeat succeeded. */
  readonly attempt?: number;
  readonly key?: LeaseKey;
  readonly fence?: Fence;
  readonly bytes?: number;
  readonly cause?: string;
  /** For a checkpoint: what was saved, and the time since the previous one or the grant. */
  readonly saved?: SavedCheckpoint;
  /** For a grant: what the successor learned. */
  readonly granted?: GrantReport;
}

export interface SavedCheckpoint {
  readonly seq: number;
  readonly digest: string;
  readonly sinceLastMs?: number;
}

export interface GrantReport {
  readonly predecessor: { readonly exit: Exit; readonly fence?: Fence };
  /** The acquire asked for the checkpoint before the last (K-5). */
  readonly wentBack?: true;
  readonly restored?: { readonly seq: number; readonly digest: string; readonly fence: Fence };
}

/** The settings of a session, reported when it opens and when the store changes them. */
export interface SettingsReport {
  readonly kind: 'settings';
  readonly session: SessionId;
  readonly owner: Owner;
  readonly ttlMs: number;
  readonly graceMs: number;
  readonly guardMs: number;
  readonly driftPpm: number;
  readonly heartbeatMs: number;
  readonly retryMs: number;
  /**
   * The interval at which the event loop is measured. A lag may have been this much longer than
   * reported.
   */
  readonly lagEveryMs: number;
}

export interface LossReport {
  /**
   * `troubled`: a call to the store, or a callback of the user's, failed unexpectedly. It ends
   * nothing; authority lasts until its end.
   */
  readonly kind: 'lapsed' | 'rejoined' | 'lost' | 'troubled';
  readonly session: SessionId;
  readonly leases: number;
  readonly cause?: string;
}

/**
 * The work continued for this long after authority had ended. The code that runs the work reports
 * it when the work has stopped. If the wait for it ends first, it also reports that, with
 * `stillRunning`.
 */
export interface OverrunReport {
  readonly kind: 'overrun';
  readonly session: SessionId;
  readonly key: LeaseKey;
  readonly fence: Fence;
  readonly overrunMs: number;
  readonly stillRunning?: true;
}

/** The observer was too slow, so this many earlier reports were dropped. */
export interface DroppedReport {
  readonly kind: 'dropped';
  readonly count: number;
}

export type NewReport =
  | OperationReport
  | SettingsReport
  | LossReport
  | OverrunReport
  | DroppedReport;

/** `at`: the holder's wall clock when it happened, for people and for lengths of time. */
export type LeaseReport = NewReport & { readonly at: number };

export interface LeaseObserver {
  report(report: LeaseReport): void;
}

const CAUSE_CHARACTERS_MAX = 500;

/** Describes an error as text that every store accepts. User code may throw anything. */
export function causeOf(error: unknown): string {
  const text = wordsOf(error).replaceAll('\0', '').slice(0, CAUSE_CHARACTERS_MAX);
  // After the cut, which may split a character.
  return text.toWellFormed() || 'no message';
}

function wordsOf(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return 'something was thrown that cannot be shown';
  }
}

/**
 * Calls user code. Anything that it throws, now or later through a promise, goes only to `trouble`
 * (O-4). So a callback never delays or loses a lease.
 */
export function callSafely<Result>(
  call: () => Result,
  trouble: (error: unknown) => void,
): Result | undefined {
  try {
    const result = call();
    if (result instanceof Promise) result.catch(trouble);
    return result;
  } catch (error) {
    trouble(error);
    return undefined;
  }
}

const BUFFER_MAX = 1_024;

export class ObserverRelay {
  readonly #observer: LeaseObserver | undefined;
  readonly #clock: Clock;
  readonly #timers: Timers;
  #buffer: LeaseReport[] = [];
  #dropped = 0;
  #droppedUnreported = 0;

  constructor(observer: LeaseObserver | undefined, clock: Clock, timers: Timers) {
    this.#observer = observer;
    this.#clock = clock;
    this.#timers = timers;
  }

  /** True without an observer. Values that only reports need are then not measured. */
  get idle(): boolean {
    return this.#observer === undefined;
  }

  get dropped(): number {
    return this.#dropped;
  }

  report(report: NewReport): void {
    if (this.#observer === undefined) return;
    if (this.#buffer.length >= BUFFER_MAX) {
      this.#dropped += 1;
      this.#droppedUnreported += 1;
      return;
    }
    this.#buffer.push({ ...report, at: this.#clock.wallMs() });
    if (this.#buffer.length === 1) this.#timers.soon(() => this.#deliver());
  }

  #deliver(): void {
    const reports = this.#buffer;
    this.#buffer = [];
    for (const report of reports) this.#send(report);
    if (this.#droppedUnreported === 0) return;
    const count = this.#droppedUnreported;
    this.#droppedUnreported = 0;
    this.#send({ kind: 'dropped', count, at: this.#clock.wallMs() });
  }

  #send(report: LeaseReport): void {
    // An observer's error must not affect the lease.
    callSafely(
      () => this.#observer?.report(report),
      () => undefined,
    );
  }
}
