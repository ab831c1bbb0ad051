// What the library tells whoever watches it. The interface has no dependency; adapters for metrics
// and traces live elsewhere. Observers cannot throw into, delay or re-enter the kernel (O-4): they
// are called after the current turn, from a bounded buffer that drops, and counts what it dropped.

import type { Timers } from '../support/timer.ts';
import type { Fence } from './fence.ts';
import type { LeaseKey, SessionId } from './names.ts';

export type LeaseOperation =
  | 'open-session'
  | 'heartbeat'
  | 'end-session'
  | 'acquire'
  | 'withdraw'
  | 'checkpoint'
  | 'begin-intent'
  | 'settle-intent'
  | 'release';

/** `ok contended fenced expired revoked unknown unavailable`: what any outcome amounts to. */
export type OutcomeClass =
  | 'ok'
  | 'contended'
  | 'fenced'
  | 'expired'
  | 'revoked'
  | 'refused'
  | 'unknown'
  | 'unavailable';

export interface OperationReport {
  readonly kind: 'operation';
  readonly operation: LeaseOperation;
  readonly outcome: OutcomeClass;
  readonly latencyMs: number;
  /** What was left of the session's authority when the request left and when the answer came. */
  readonly remainingAtSendMs: number;
  readonly remainingAtReplyMs: number;
  readonly session: SessionId;
  readonly key?: LeaseKey;
  readonly fence?: Fence;
  readonly bytes?: number;
  readonly cause?: string;
}

export interface LossReport {
  /** `troubled`: a heartbeat failed in a way no store should; authority runs on until its end. */
  readonly kind: 'lapsed' | 'rejoined' | 'lost' | 'troubled';
  readonly session: SessionId;
  readonly leases: number;
  readonly cause?: string;
}

export type LeaseReport = OperationReport | LossReport;

export interface LeaseObserver {
  report(report: LeaseReport): void;
}

const BUFFER_MAX = 1_024;

export class ObserverRelay {
  readonly #observer: LeaseObserver | undefined;
  readonly #timers: Timers;
  #buffer: LeaseReport[] = [];
  #dropped = 0;

  constructor(observer: LeaseObserver | undefined, timers: Timers) {
    this.#observer = observer;
    this.#timers = timers;
  }

  get dropped(): number {
    return this.#dropped;
  }

  report(report: LeaseReport): void {
    if (this.#observer === undefined) return;
    if (this.#buffer.length >= BUFFER_MAX) {
      this.#dropped += 1;
      return;
    }
    this.#buffer.push(report);
    if (this.#buffer.length === 1) this.#timers.soon(() => this.#deliver());
  }

  #deliver(): void {
    const reports = this.#buffer;
    this.#buffer = [];
    for (const report of reports) {
      try {
        this.#observer?.report(report);
      } catch {
        // An observer's fault is its own; the lease is not worth losing over a metric.
      }
    }
  }
}
