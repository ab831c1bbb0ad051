// Reports of the library to an observer. The interface has no dependency; adapters for metrics and
// traces are elsewhere. Observers cannot throw into, delay or re-enter the kernel (O-4). They are
// called after the current turn, from a bounded buffer that counts the reports it drops.

import type { Clock } from '../support/clock.ts';
import { InvalidInput } from '../support/fault.ts';
import { shown, wordsIn } from '../support/options.ts';
import type { Timers } from '../support/timer.ts';
import type { Exit } from './exit.ts';
import type { Fence } from './fence.ts';
import type { LeaseKey, Owner, SessionId } from './names.ts';

export const LEASE_OPERATIONS = wordsIn(
  'open-session heartbeat end-session acquire withdraw checkpoint begin-intent settle-intent release',
);

export type LeaseOperation = (typeof LEASE_OPERATIONS)[number];

/** The classes of all outcomes. */
export const OUTCOME_CLASSES = wordsIn(
  'ok contended fenced expired revoked refused unknown unavailable',
);

export type OutcomeClass = (typeof OUTCOME_CLASSES)[number];

/** One call to the store has ended. */
export interface OperationReport {
  /** Always `operation`. */
  readonly kind: 'operation';
  /** The operation. */
  readonly operation: LeaseOperation;
  /** The class of its outcome. */
  readonly outcome: OutcomeClass;
  /** How long it took, in milliseconds. */
  readonly latencyMs: number;
  /** Milliseconds of authority left when the request was sent. */
  readonly remainingAtSendMs: number;
  /** Milliseconds of authority left when the response arrived. */
  readonly remainingAtReplyMs: number;
  /** The session. */
  readonly session: SessionId;
  /** The longest delay of the event loop since the report before this one, in milliseconds. */
  readonly loopLagMs: number;
  /**
   * How far the wall clock ran ahead of the monotonic clock since then: a suspend, or a clock that
   * was set.
   */
  readonly suspendedMs: number;
  /** Which attempt of this renewal it was, from 1. */
  readonly attempt?: number;
  /** The key of the lease. */
  readonly key?: LeaseKey;
  /** The fence of the lease. */
  readonly fence?: Fence;
  /** The size of the checkpoint. */
  readonly bytes?: number;
  /** Why it failed. */
  readonly cause?: string;
  /** The saved checkpoint. */
  readonly saved?: SavedCheckpoint;
  /** The state that a grant returned. */
  readonly granted?: GrantReport;
}

/** A checkpoint that was saved. */
export interface SavedCheckpoint {
  /** The number of the checkpoint within its term. */
  readonly seq: number;
  /** Its SHA-256 digest. */
  readonly digest: string;
  /** Milliseconds since the checkpoint before it, or since the grant. */
  readonly sinceLastMs?: number;
}

/** The state that a grant returned. */
export interface GrantReport {
  /** The end of the previous term: its `exit` and `fence`. */
  readonly predecessor: { readonly exit: Exit; readonly fence?: Fence };
  /** True if the holder asked for the checkpoint before the last. */
  readonly wentBack?: true;
  /** The checkpoint that was restored: its `seq`, `digest` and `fence`. */
  readonly restored?: { readonly seq: number; readonly digest: string; readonly fence: Fence };
}

/** The settings of a session. Reported when it opens and when the store changes them. */
export interface SettingsReport {
  /** Always `settings`. */
  readonly kind: 'settings';
  /** The session. */
  readonly session: SessionId;
  /** Its owner. */
  readonly owner: Owner;
  /** Milliseconds without a heartbeat until it expires. */
  readonly ttlMs: number;
  /** The last part of the ttl, without authority, in which it may rejoin. */
  readonly graceMs: number;
  /** Milliseconds subtracted from every grant. */
  readonly guardMs: number;
  /** The assumed difference between clock rates, in parts per million. */
  readonly driftPpm: number;
  /** Milliseconds between heartbeats. */
  readonly heartbeatMs: number;
  /** Milliseconds before a failed heartbeat is retried. */
  readonly retryMs: number;
  /**
   * Milliseconds between measurements of the event loop. A delay may have been this much longer
   * than reported.
   */
  readonly lagEveryMs: number;
}

/** A session lost or regained its authority, or something failed that ends nothing. */
export interface LossReport {
  /**
   * `lapsed`: authority ended, and the session may rejoin. `rejoined`: it has authority again.
   * `lost`: it is over. `troubled`: a call to the store or a callback of yours failed unexpectedly;
   * authority continues.
   */
  readonly kind: 'lapsed' | 'rejoined' | 'lost' | 'troubled';
  /** The session. */
  readonly session: SessionId;
  /** The number of leases that it holds. */
  readonly leases: number;
  /** Why. */
  readonly cause?: string;
}

/** Work continued after authority had ended. */
export interface OverrunReport {
  /** Always `overrun`. */
  readonly kind: 'overrun';
  /** The session. */
  readonly session: SessionId;
  /** The key. */
  readonly key: LeaseKey;
  /** The fence of the term. */
  readonly fence: Fence;
  /** For how many milliseconds it continued. */
  readonly overrunMs: number;
  /** True if it still runs, and waiting for it has ended. */
  readonly stillRunning?: true;
}

/** The observer was too slow: reports before this one were dropped. */
export interface DroppedReport {
  /** Always `dropped`. */
  readonly kind: 'dropped';
  /** The number of dropped reports. */
  readonly count: number;
}

export type NewReport =
  | OperationReport
  | SettingsReport
  | LossReport
  | OverrunReport
  | DroppedReport;

/**
 * A report to an observer. `kind` is its kind. `at` is the wall clock of the holder in
 * milliseconds.
 */
export type LeaseReport = NewReport & { readonly at: number };

/**
 * Receives reports about leases. Observers run after the current turn and cannot delay or break a
 * session.
 *
 * @example
 * const observer: LeaseObserver = {
 *   report: (report) => {
 *     if (report.kind === 'lost') console.error(report.cause);
 *   },
 * };
 */
export interface LeaseObserver {
  /** Called for each report. Errors that it throws are ignored. */
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
    return 'a value was thrown that cannot be shown';
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

// Combines several observers into one. Each gets every report. An error of one reaches neither the
// others nor the library (O-4).

/**
 * Combines several observers into one. Throws `InvalidInput` if one has no `report`.
 *
 * @example
 * const both = observers(recordLeases({ file: './leases.log' }), { report: (report) => console.log(report.kind) });
 */
export function observers(...all: readonly LeaseObserver[]): LeaseObserver {
  for (const each of all) {
    if (typeof each?.report === 'function') continue;
    throw new InvalidInput(`observers: each must have a function report; got ${shown(each)}.`);
  }
  return {
    report(report: LeaseReport): void {
      for (const each of all) {
        callSafely(
          () => each.report(report),
          () => undefined,
        );
      }
    },
  };
}
