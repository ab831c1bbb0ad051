// What the library tells whoever watches it. The interface has no dependency; adapters for metrics
// and traces live elsewhere. Observers cannot throw into, delay or re-enter the kernel (O-4): they
// are called after the current turn, from a bounded buffer that drops, and says how many it dropped.

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

/** What any outcome amounts to. */
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
  /** What was left of the session's authority when the request left and when the answer came. */
  readonly remainingAtSendMs: number;
  readonly remainingAtReplyMs: number;
  readonly session: SessionId;
  /** The longest that the event loop was late since the report before this one. */
  readonly loopLagMs: number;
  /** By how much the wall clock outran the monotonic one since then: a suspend, or a set clock. */
  readonly suspendedMs: number;
  /** Which try of this renewal it was; 1 when the one before succeeded. */
  readonly attempt?: number;
  readonly key?: LeaseKey;
  readonly fence?: Fence;
  readonly bytes?: number;
  readonly cause?: string;
  /** Of a checkpoint: what was saved, and how long after the one before it, or after the grant. */
  readonly saved?: SavedCheckpoint;
  /** Of a grant: what the successor learned. */
  readonly granted?: GrantReport;
}

export interface SavedCheckpoint {
  readonly seq: number;
  readonly digest: string;
  readonly sinceLastMs?: number;
}

export interface GrantReport {
  readonly predecessor: { readonly exit: Exit; readonly fence?: Fence };
  /** It asked to go back to the checkpoint before the last (K-5). */
  readonly wentBack?: true;
  readonly restored?: { readonly seq: number; readonly digest: string; readonly fence: Fence };
}

/** What a session lives by, told once when it was opened and again when the store changed it. */
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
  /** How finely the event loop is watched: a lag may have been this much longer than reported. */
  readonly lagEveryMs: number;
}

export interface LossReport {
  /**
   * `troubled`: something failed in a way it should not: a call to the store, or code of the user's
   * that was called back. It ends nothing; authority runs on until its end.
   */
  readonly kind: 'lapsed' | 'rejoined' | 'lost' | 'troubled';
  readonly session: SessionId;
  readonly leases: number;
  readonly cause?: string;
}

/**
 * Authority had ended and the work went on for this long: told by whoever runs the work, when it has
 * stopped, and before that, with `stillRunning`, when waiting for it has ended.
 */
export interface OverrunReport {
  readonly kind: 'overrun';
  readonly session: SessionId;
  readonly key: LeaseKey;
  readonly fence: Fence;
  readonly overrunMs: number;
  readonly stillRunning?: true;
}

/** The observer was too slow, and this many reports before this one were not kept for it. */
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

/** What went wrong, as text that every store takes; code of others may throw anything. */
export function causeOf(error: unknown): string {
  const text = wordsOf(error).replaceAll('\0', '').slice(0, CAUSE_CHARACTERS_MAX);
  // After the cut: it may go through the middle of a character.
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
 * Calls code that is not ours. What it throws, now or, if it answers with a promise, later, goes to
 * `trouble` and nowhere else (O-4): nobody's lease is held up or lost over a callback.
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
  #droppedUntold = 0;

  constructor(observer: LeaseObserver | undefined, clock: Clock, timers: Timers) {
    this.#observer = observer;
    this.#clock = clock;
    this.#timers = timers;
  }

  /** Nobody watches: whatever is only measured to be told need not be. */
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
      this.#droppedUntold += 1;
      return;
    }
    this.#buffer.push({ ...report, at: this.#clock.wallMs() });
    if (this.#buffer.length === 1) this.#timers.soon(() => this.#deliver());
  }

  #deliver(): void {
    const reports = this.#buffer;
    this.#buffer = [];
    for (const report of reports) this.#tell(report);
    if (this.#droppedUntold === 0) return;
    const count = this.#droppedUntold;
    this.#droppedUntold = 0;
    this.#tell({ kind: 'dropped', count, at: this.#clock.wallMs() });
  }

  #tell(report: LeaseReport): void {
    // An observer's fault is its own; the lease is not worth losing over a metric.
    callSafely(
      () => this.#observer?.report(report),
      () => undefined,
    );
  }
}
