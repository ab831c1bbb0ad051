// Statistics of a fleet from its lease logs: renewals, pauses, losses, takeovers, checkpoints.
// Reports are grouped by session, and the store's events show how each session ended.

import type { LeaseEvent } from '../../lease/event.ts';
import type { LeaseReport, OperationReport, SettingsReport } from '../../lease/observer.ts';
import { present } from '../../support/options.ts';
import type { LogEntry } from '../lease-log/entry.ts';
import { Histogram } from './histogram.ts';
import type { LeaseSettings } from './model.ts';
import { HOUR_MS } from './rate.ts';

/** Facts that were read from lease logs. */
export interface Observations {
  /** The sessions. */
  readonly sessions: readonly RecordedSession[];
  /** The hours that sessions lived, added up. */
  readonly sessionHours: number;
  /** The hours that leases were held, added up. */
  readonly leaseHours: number;
  /** The settings of the latest session, with its `driftPpm`. */
  readonly current: (LeaseSettings & { readonly driftPpm: number }) | undefined;
  /**
   * The ends of sessions: `crashed` expired and never returned; `falselyLost` expired while their
   * process lived; `lapsed` and `rejoined` count lapses; `unattributed` expired without a log of
   * their process.
   */
  readonly losses: {
    readonly crashed: number;
    readonly falselyLost: number;
    readonly lapsed: number;
    readonly rejoined: number;
    readonly unattributed: number;
  };
  /** Milliseconds from an expiry to the grant to a waiter. */
  readonly takeoverDelay: Histogram;
  /** Milliseconds that checkpoints took. */
  readonly checkpointLatency: Histogram;
  /** The sizes of checkpoints. */
  readonly checkpointBytes: Histogram;
  /** Milliseconds between checkpoints. */
  readonly sinceCheckpoint: Histogram;
  /** Milliseconds of work that was lost since the last checkpoint. */
  readonly rework: Histogram;
  /** Milliseconds that work continued after its authority ended. */
  readonly overrun: Histogram;
  /** Milliseconds that acquires took. */
  readonly acquireLatency: Histogram;
  /** The number of writes that were refused because of their fence. */
  readonly fenceRejections: number;
  /** True if the logs have events of the store. */
  readonly hasEvents: boolean;
}

/**
 * Reads observations from log entries.
 *
 * @example
 * const entries = [];
 * for await (const entry of readLeaseLog('./leases.log')) if (entry.kind !== 'malformed') entries.push(entry);
 * console.log(observationsOf(entries).losses);
 */
export function observationsOf(entries: Iterable<LogEntry>): Observations {
  const collector = new ObservationCollector();
  for (const entry of entries) collector.add(entry);
  return collector.observations();
}

interface OpenTerm {
  readonly session: string;
  readonly at: number;
}

/**
 * Collects observations entry by entry, so that logs need not fit into memory.
 *
 * @example
 * const collector = new ObservationCollector();
 * for await (const entry of readLeaseLog('./leases.log')) if (entry.kind !== 'malformed') collector.add(entry);
 * console.log(collector.observations().sessionHours);
 */
export class ObservationCollector {
  readonly #tallies: Map<string, SessionTally> = new Map();
  readonly #terms: Map<string, OpenTerm> = new Map();
  readonly #expiredAt: Map<string, number> = new Map();
  readonly #endedSessions: Map<string, { readonly at: number; readonly exit: string }> = new Map();
  readonly #takeovers: { readonly waiter: string; readonly delayMs: number }[] = [];
  readonly #measured = {
    ...{ checkpointLatency: new Histogram(), checkpointBytes: new Histogram() },
    ...{ sinceCheckpoint: new Histogram(), overrun: new Histogram() },
    acquireLatency: new Histogram(),
  };
  readonly #waitedFor: Set<string> = new Set();
  readonly #seen: Set<number> = new Set();
  #leaseMs = 0;
  #fenceRejections = 0;
  #lastEventAt = 0;

  /** Adds an entry. */
  add(entry: LogEntry): void {
    if (entry.kind === 'report') this.#addReport(entry.report);
    // The ends of the open terms are unknown after a gap.
    if (entry.kind === 'missed') {
      this.#terms.clear();
      this.#expiredAt.clear();
    }
    if (entry.kind === 'event' && !this.#seen.has(entry.event.seq)) {
      this.#seen.add(entry.event.seq);
      this.#addEvent(entry.event);
    }
  }

  #addReport(report: LeaseReport): void {
    if (report.kind === 'dropped') return;
    if (report.kind === 'overrun' && report.stillRunning !== true) {
      this.#measured.overrun.add(report.overrunMs);
    }
    if (report.kind === 'operation') {
      if (report.outcome === 'fenced') this.#fenceRejections += 1;
      if (report.operation === 'checkpoint' && report.outcome === 'ok') {
        this.#measured.checkpointLatency.add(report.latencyMs);
        this.#measured.checkpointBytes.add(report.bytes ?? 0);
        if (report.saved?.sinceLastMs !== undefined) {
          this.#measured.sinceCheckpoint.add(report.saved.sinceLastMs);
        }
      }
      if (report.operation === 'acquire') {
        if (report.outcome === 'ok') this.#measured.acquireLatency.add(report.latencyMs);
        if (report.outcome === 'contended') this.#waitedFor.add(`${report.session} ${report.key}`);
      }
    }
    const tally = this.#tallies.get(report.session) ?? new SessionTally(report.session);
    this.#tallies.set(report.session, tally);
    tally.add(report);
  }

  #addEvent(event: LeaseEvent): void {
    this.#lastEventAt = Math.max(this.#lastEventAt, event.at);
    if (event.kind === 'session-ended') {
      this.#endedSessions.set(event.session, { at: event.at, exit: event.exit });
    }
    if (event.kind === 'acquired') {
      const expiredAt = this.#expiredAt.get(event.key);
      if (expiredAt !== undefined) {
        const waiter = `${event.session} ${event.key}`;
        this.#takeovers.push({ waiter, delayMs: event.at - expiredAt });
      }
      this.#expiredAt.delete(event.key);
      this.#terms.set(event.key, { session: event.session, at: event.at });
    }
    if (event.kind === 'ended') {
      const term = this.#terms.get(event.key);
      if (term !== undefined) this.#leaseMs += event.at - term.at;
      this.#terms.delete(event.key);
      if (event.exit === 'expired') this.#expiredAt.set(event.key, event.at);
    }
  }

  /** Returns the observations so far. */
  observations(): Observations {
    const sessions = [...this.#tallies.values()].map((tally) => tally.recorded);
    const sessionMs = sessions.reduce((total, session) => total + session.livedMs, 0);
    const openMs = [...this.#terms.values()].reduce(
      (total, term) => total + Math.max(0, this.#lastEventAt - term.at),
      0,
    );
    const takeoverDelay = new Histogram();
    // A later acquire does not show how soon the key was available. Logs come in any order, so the
    // waiters are known only now.
    for (const { waiter, delayMs } of this.#takeovers) {
      if (this.#waitedFor.has(waiter)) takeoverDelay.add(delayMs);
    }
    const rework = new Histogram();
    const losses = this.#losses(sessions, rework);
    return {
      sessions,
      sessionHours: sessionMs / HOUR_MS,
      leaseHours: (this.#leaseMs + openMs) / HOUR_MS,
      current: currentSettings(sessions, this.#measured.sinceCheckpoint),
      losses,
      takeoverDelay,
      ...this.#measured,
      rework,
      fenceRejections: this.#fenceRejections,
      hasEvents: this.#seen.size > 0,
    };
  }

  #losses(sessions: readonly RecordedSession[], rework: Histogram): Observations['losses'] {
    let crashed = 0;
    let falselyLost = 0;
    for (const session of sessions) {
      const end = this.#endedSessions.get(session.id);
      const expired = end?.exit === 'expired';
      const seenAfter = end !== undefined && session.lastAt > end.at;
      const wasReportedLost = session.lost && end === undefined;
      if (wasReportedLost || (expired && (session.lost || seenAfter))) falselyLost += 1;
      else if (expired) crashed += 1;
      else continue;
      if (end !== undefined && session.savedAt !== undefined) rework.add(end.at - session.savedAt);
    }
    const known = new Set(sessions.map((session) => session.id));
    const unattributed = [...this.#endedSessions].filter(
      ([id, { exit }]) => exit === 'expired' && !known.has(id),
    ).length;
    const lapsed = sessions.reduce((total, session) => total + session.lapsed, 0);
    const rejoined = sessions.reduce((total, session) => total + session.rejoined, 0);
    return { crashed, falselyLost, lapsed, rejoined, unattributed };
  }
}

/** The settings under which sessions spent most of the recorded time. */
function currentSettings(
  sessions: readonly RecordedSession[],
  sinceCheckpoint: Histogram,
): Observations['current'] {
  const lived = new Map<string, number>();
  const shown = new Map<string, RecordedSession>();
  for (const session of sessions) {
    if (session.settings === undefined) continue;
    const { ttlMs, graceMs, heartbeatMs } = session.settings;
    const name = `${ttlMs} ${graceMs} ${heartbeatMs}`;
    lived.set(name, (lived.get(name) ?? 0) + session.livedMs + 1);
    shown.set(name, session);
  }
  const [most] = [...lived].sort(([, a], [, b]) => b - a);
  const settings = most && shown.get(most[0])?.settings;
  if (settings === undefined) return undefined;
  const { ttlMs, heartbeatMs, graceMs, guardMs, driftPpm } = settings;
  const checkpointMs = sinceCheckpoint.count > 0 ? sinceCheckpoint.quantile(0.5) : undefined;
  return { ttlMs, heartbeatMs, graceMs, guardMs, driftPpm, ...present({ checkpointMs }) };
}

// Aggregates the reports of one session. A renewal is a gap: from sending one heartbeat that got a
// reply to the reply of the next, whatever came in between.

/** One renewal of a session. Durations are in milliseconds. */
export interface Renewal {
  /** From the sending of the last successful heartbeat to the response of this one. */
  readonly gapMs: number;
  /** True if the session was gone. */
  readonly lost: boolean;
  /** The longest pause in between. */
  readonly pauseMs: number;
  /** The number of failed attempts before it. */
  readonly failedTries: number;
  /** The time that they took. */
  readonly failingMs: number;
}

/** Heartbeats in a row that got no response. */
export interface FailureRow {
  /** How many. */
  readonly tries: number;
  /** The number of them that timed out. */
  readonly unknown: number;
  /** Milliseconds from the first to the next successful one. */
  readonly lastedMs: number;
}

/** A session as the logs have it. */
export interface RecordedSession {
  /** The id of the session. */
  readonly id: string;
  /** Its settings, if they were recorded. */
  readonly settings: SettingsReport | undefined;
  /** Milliseconds that it was seen to live. */
  readonly livedMs: number;
  /** When the last report was made. */
  readonly lastAt: number;
  /** Its renewals. */
  readonly renewals: readonly Renewal[];
  /** Milliseconds that successful heartbeats took. */
  readonly latency: Histogram;
  /** Milliseconds that failed heartbeats took. */
  readonly failedLatency: Histogram;
  /** Milliseconds of authority left when a renewal arrived. */
  readonly slack: Histogram;
  /** The number of renewals with a response. */
  readonly answered: number;
  /** Heartbeats in a row that got no response. */
  readonly failures: readonly FailureRow[];
  /** The lengths of its pauses in milliseconds. */
  readonly pauses: readonly number[];
  /** The number of lapses. */
  readonly lapsed: number;
  /** The number of rejoins. */
  readonly rejoined: number;
  /** True if it was lost. */
  readonly lost: boolean;
  /** When the last checkpoint was saved, or the lease was granted. */
  readonly savedAt: number | undefined;
}

/** Shorter pauses are normal timer jitter. */
export const PAUSE_MS_MIN = 20;

type Adding<Record> = {
  -readonly [Name in keyof Record]: Record[Name] extends readonly (infer Item)[]
    ? Item[]
    : Record[Name];
};

class SessionTally {
  readonly recorded: Adding<RecordedSession>;
  #firstAt: number | undefined;
  #goodSentAt: number | undefined;
  #pauseMs = 0;
  #failing: OperationReport[] = [];
  #failingSince = 0;

  constructor(id: string) {
    this.recorded = {
      ...{ id, settings: undefined, savedAt: undefined, lost: false, livedMs: 0, lastAt: 0 },
      ...{ answered: 0, lapsed: 0, rejoined: 0, renewals: [], failures: [], pauses: [] },
      ...{ latency: new Histogram(), failedLatency: new Histogram(), slack: new Histogram() },
    };
  }

  add(report: Exclude<LeaseReport, { kind: 'dropped' }>): void {
    const { recorded } = this;
    this.#firstAt ??= report.at;
    recorded.lastAt = Math.max(recorded.lastAt, report.at);
    recorded.livedMs = recorded.lastAt - this.#firstAt;
    if (report.kind === 'settings') recorded.settings = report;
    if (report.kind === 'lapsed') recorded.lapsed += 1;
    if (report.kind === 'rejoined') recorded.rejoined += 1;
    if (report.kind === 'lost') recorded.lost = true;
    if (report.kind !== 'operation') return;
    this.#addPause(report);
    const sentAt = report.at - report.latencyMs;
    if (report.operation === 'open-session' && report.outcome === 'ok') this.#goodSentAt = sentAt;
    if (report.operation === 'heartbeat') this.#addHeartbeat(report, sentAt);
    const saves = report.operation === 'checkpoint' || report.granted !== undefined;
    if (saves && report.outcome === 'ok') recorded.savedAt = sentAt;
  }

  #addPause(report: OperationReport): void {
    const seen = report.loopLagMs + report.suspendedMs;
    if (seen < PAUSE_MS_MIN) return;
    // A pause starts between two measurements of the loop, so on average half an interval of it is
    // missing.
    const pause = seen + (this.recorded.settings?.lagEveryMs ?? 0) / 2;
    this.recorded.pauses.push(pause);
    this.#pauseMs = Math.max(this.#pauseMs, pause);
  }

  #addHeartbeat(report: OperationReport & { readonly at: number }, sentAt: number): void {
    if (report.outcome === 'unknown' || report.outcome === 'unavailable') {
      if (this.#failing.length === 0) this.#failingSince = sentAt;
      this.#failing.push(report);
      return;
    }
    this.recorded.answered += 1;
    const lost = report.outcome !== 'ok';
    if (this.#goodSentAt !== undefined) {
      const failedTries = this.#failing.length;
      this.recorded.renewals.push({
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
    this.recorded.latency.add(report.latencyMs);
    this.recorded.slack.add(report.remainingAtSendMs - report.latencyMs);
    this.#goodSentAt = sentAt;
  }

  #endFailing(sentAt: number): void {
    if (this.#failing.length === 0) return;
    for (const failed of this.#failing) this.recorded.failedLatency.add(failed.latencyMs);
    this.recorded.failures.push({
      tries: this.#failing.length,
      unknown: this.#failing.filter((failed) => failed.outcome === 'unknown').length,
      lastedMs: sentAt - this.#failingSince,
    });
    this.#failing = [];
  }
}
