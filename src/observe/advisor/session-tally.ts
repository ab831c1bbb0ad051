// One session's reports, added up. Renewals are looked at as gaps: from the sending of one that was
// answered to the answer of the next, whatever came in between.

import type { LeaseReport, OperationReport, SettingsReport } from '../../lease/observer.ts';
import { Histogram } from './histogram.ts';

export interface Renewal {
  /** From the sending of the last good heartbeat to the answer of this one. */
  readonly gapMs: number;
  /** It found the session gone. */
  readonly lost: boolean;
  /** The longest pause in between. */
  readonly pauseMs: number;
  /** Tries that failed before it, and how long that lasted. */
  readonly failedTries: number;
  readonly failingMs: number;
}

export interface FailureRow {
  readonly tries: number;
  /** Of those, the ones that ran into their time limit. */
  readonly unknown: number;
  /** From the first of them to the try that was answered. */
  readonly lastedMs: number;
}

export interface RecordedSession {
  readonly id: string;
  readonly settings: SettingsReport | undefined;
  readonly livedMs: number;
  readonly lastAt: number;
  readonly renewals: readonly Renewal[];
  readonly latency: Histogram;
  readonly failedLatency: Histogram;
  /** What was left of the authority when a renewal was answered, had it not been renewed. */
  readonly slack: Histogram;
  /** Renewals that came to an answer, good or bad. */
  readonly answered: number;
  /** Tries in a row that had no answer. */
  readonly failures: readonly FailureRow[];
  readonly pauses: readonly number[];
  readonly lapsed: number;
  readonly rejoined: number;
  readonly lost: boolean;
  /** The last good checkpoint, or the grant. */
  readonly savedAt: number | undefined;
}

/** Less than this is the ordinary unevenness of timers. */
export const PAUSE_MS_MIN = 20;

export class SessionTally {
  readonly #id: string;
  readonly #renewals: Renewal[] = [];
  readonly #latency: Histogram = new Histogram();
  readonly #failedLatency: Histogram = new Histogram();
  readonly #slack: Histogram = new Histogram();
  readonly #failures: FailureRow[] = [];
  readonly #pauses: number[] = [];
  #settings: SettingsReport | undefined;
  #firstAt: number | undefined;
  #lastAt = 0;
  #goodSentAt: number | undefined;
  #pauseMs = 0;
  #failing: OperationReport[] = [];
  #failingSince = 0;
  #answered = 0;
  #lapsed = 0;
  #rejoined = 0;
  #lost = false;
  #savedAt: number | undefined;

  constructor(id: string) {
    this.#id = id;
  }

  add(report: Exclude<LeaseReport, { kind: 'dropped' }>): void {
    this.#firstAt ??= report.at;
    this.#lastAt = Math.max(this.#lastAt, report.at);
    if (report.kind === 'settings') this.#settings = report;
    if (report.kind === 'lapsed') this.#lapsed += 1;
    if (report.kind === 'rejoined') this.#rejoined += 1;
    if (report.kind === 'lost') this.#lost = true;
    if (report.kind !== 'operation') return;
    this.#addPause(report);
    const sentAt = report.at - report.latencyMs;
    if (report.operation === 'open-session' && report.outcome === 'ok') this.#goodSentAt = sentAt;
    if (report.operation === 'heartbeat') this.#addHeartbeat(report, sentAt);
    const saves = report.operation === 'checkpoint' || report.granted !== undefined;
    if (saves && report.outcome === 'ok') this.#savedAt = sentAt;
  }

  #addPause(report: OperationReport): void {
    const seen = report.loopLagMs + report.suspendedMs;
    if (seen < PAUSE_MS_MIN) return;
    // A pause begins between two looks at the loop: half of that was not seen.
    const pause = seen + (this.#settings?.lagEveryMs ?? 0) / 2;
    this.#pauses.push(pause);
    this.#pauseMs = Math.max(this.#pauseMs, pause);
  }

  #addHeartbeat(report: OperationReport & { readonly at: number }, sentAt: number): void {
    if (report.outcome === 'unknown' || report.outcome === 'unavailable') {
      if (this.#failing.length === 0) this.#failingSince = sentAt;
      this.#failing.push(report);
      return;
    }
    this.#answered += 1;
    const lost = report.outcome !== 'ok';
    if (this.#goodSentAt !== undefined) {
      const failedTries = this.#failing.length;
      this.#renewals.push({
        gapMs: report.at - this.#goodSentAt,
        lost,
        pauseMs: this.#pauseMs,
        failedTries,
        failingMs: failedTries === 0 ? 0 : sentAt - this.#failingSince,
      });
    }
    this.#pauseMs = 0;
    this.#endFailing(sentAt);
    if (lost) return;
    this.#latency.add(report.latencyMs);
    this.#slack.add(report.remainingAtSendMs - report.latencyMs);
    this.#goodSentAt = sentAt;
  }

  #endFailing(sentAt: number): void {
    if (this.#failing.length === 0) return;
    for (const failed of this.#failing) this.#failedLatency.add(failed.latencyMs);
    this.#failures.push({
      tries: this.#failing.length,
      unknown: this.#failing.filter((failed) => failed.outcome === 'unknown').length,
      lastedMs: sentAt - this.#failingSince,
    });
    this.#failing = [];
  }

  recorded(): RecordedSession {
    return {
      id: this.#id,
      settings: this.#settings,
      livedMs: this.#lastAt - (this.#firstAt ?? this.#lastAt),
      lastAt: this.#lastAt,
      renewals: this.#renewals,
      latency: this.#latency,
      failedLatency: this.#failedLatency,
      slack: this.#slack,
      answered: this.#answered,
      failures: this.#failures,
      pauses: this.#pauses,
      lapsed: this.#lapsed,
      rejoined: this.#rejoined,
      lost: this.#lost,
      savedAt: this.#savedAt,
    };
  }
}
