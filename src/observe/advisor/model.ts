// The measured numbers behind predictions, each with its uncertainty.

import { Histogram } from './histogram.ts';
import type { Observations, RecordedSession } from './observations.ts';
import { PauseLaw, type PauseRates } from './pause-law.ts';
import { type Estimate, estimateRate } from './rate.ts';

/**
 * Rates that predictions use. Durations are in milliseconds.
 *
 * @example
 * const model = modelOf(observationsOf([]));
 * console.log(model.failedTripMs(15_000));
 */
export interface LeaseModel {
  /** The number of recorded renewals. */
  readonly renewals: number;
  /** The probability that a heartbeat fails. */
  readonly failure: Estimate;
  /** The median time from a heartbeat to its response. */
  readonly roundTripMs: number;
  /** The time that one heartbeat in a thousand exceeds. */
  readonly roundTripTailMs: number;
  /** The variance of that time. */
  readonly roundTripVarianceMs2: number;
  /** Returns how long a failed attempt takes with this ttl. */
  failedTripMs(ttlMs: number): number;
  /** The rates of pauses. */
  readonly pauses: PauseRates;
  /** Deaths of holders per hour. */
  readonly crashesPerHour: Estimate;
  /** The number of recorded crashes. */
  readonly crashes: number;
  /** The time from an expiry to the successor's grant. */
  readonly takeoverDelayMs: number;
  /** The time that a checkpoint takes, if one was recorded. */
  readonly checkpointCostMs: number | undefined;
  /** How long work continues after its authority ended, at most, if that was recorded. */
  readonly overrunMs: number | undefined;
  /** The mean number of leases per session. */
  readonly leasesPerSession: number;
  /** The assumed difference between clock rates, in parts per million. */
  readonly driftPpm: number;
  /** The recorded hours of sessions. */
  readonly sessionHours: number;
}

/**
 * Estimates rates from observations.
 *
 * @example
 * const prediction = predict(modelOf(observationsOf([])), {
 *   ttlMs: 15_000,
 *   heartbeatMs: 5_000,
 *   graceMs: 3_000,
 *   guardMs: 150,
 * });
 */
export function modelOf(observations: Observations): LeaseModel {
  const { sessions, sessionHours } = observations;
  const latency = merged(sessions, (session) => session.latency);
  const failed = merged(sessions, (session) => session.failedLatency);
  const answered = total(sessions, (session) => session.answered);
  const rows = sessions.flatMap((session) => session.failures);
  // Only the first try of each renewal counts: in an outage, the others fail because the first did.
  const failure = capped(estimateRate(rows.length, Math.max(1, answered)));
  const outage = outageTries(failure.mean, answered);
  const outages = rows.filter((row) => row.tries >= outage).map((row) => row.lastedMs);
  const tries = rows.reduce((sum, row) => sum + row.tries, 0);
  const unknown = rows.reduce((sum, row) => sum + row.unknown, 0);
  const failedMs = failed.count > 0 ? failed.quantile(0.5) : latency.quantile(0.5);
  const ttlMs = observations.current?.ttlMs ?? 0;
  const pauses = [...sessions.flatMap((session) => session.pauses), ...outages];
  const hours = Math.max(sessionHours, Number.MIN_VALUE);
  const { takeoverDelay, acquireLatency, overrun, checkpointLatency, losses } = observations;
  return {
    renewals: latency.count,
    failure,
    roundTripMs: latency.quantile(0.5),
    roundTripTailMs: latency.quantile(0.999),
    roundTripVarianceMs2: ((latency.quantile(0.99) - latency.quantile(0.5)) / 2.33) ** 2,
    failedTripMs: (wanted) =>
      unknown * 2 > tries && ttlMs > 0 ? (failedMs * wanted) / ttlMs : failedMs,
    pauses: new PauseLaw(pauses, hours),
    crashes: losses.crashed,
    crashesPerHour: estimateRate(losses.crashed, hours),
    takeoverDelayMs:
      takeoverDelay.count > 0 ? takeoverDelay.quantile(0.5) : 1 + acquireLatency.quantile(0.5),
    checkpointCostMs: checkpointLatency.count > 0 ? checkpointLatency.mean : undefined,
    overrunMs: overrun.count > 0 ? overrun.quantile(0.999) : undefined,
    leasesPerSession:
      sessionHours > 0 && observations.leaseHours > 0
        ? Math.max(1, observations.leaseHours / sessionHours)
        : 1,
    driftPpm: observations.current?.driftPpm ?? 500,
    sessionHours,
  };
}

/** So many failures in a row are not chance among this many renewals: the store was unavailable. */
function outageTries(failure: number, renewals: number): number {
  const chance = 0.01 / Math.max(1, renewals);
  return Math.max(3, Math.ceil(Math.log(chance) / Math.log(failure)));
}

function capped(probability: Estimate): Estimate {
  const within = (value: number): number => Math.min(value, 0.99);
  return {
    mean: within(probability.mean),
    low: within(probability.low),
    high: within(probability.high),
  };
}

function total(
  sessions: readonly RecordedSession[],
  count: (session: RecordedSession) => number,
): number {
  return sessions.reduce((sum, session) => sum + count(session), 0);
}

function merged(
  sessions: readonly RecordedSession[],
  part: (session: RecordedSession) => Histogram,
): Histogram {
  const all = new Histogram();
  for (const session of sessions) all.merge(part(session));
  return all;
}

// The settings, and the values that the library derives from them.

/** Settings of a session, in milliseconds. */
export interface LeaseSettings {
  /** The ttl. */
  readonly ttlMs: number;
  /** The heartbeat interval. */
  readonly heartbeatMs: number;
  /** The grace. */
  readonly graceMs: number;
  /** The guard. */
  readonly guardMs: number;
  /** The work between two checkpoints. */
  readonly checkpointMs?: number;
}

export function defaultGuardMs(ttlMs: number): number {
  return Math.max(5, Math.floor(ttlMs / 100));
}

/**
 * The time for which the holder may act after it sent a renewal: the ttl less grace, drift and
 * guard (C-3, G-1).
 */
export function authorityUnder(settings: LeaseSettings, driftPpm: number): number {
  const rho = driftPpm / 1_000_000;
  const granted = settings.ttlMs - settings.graceMs;
  return (granted * (1 - rho)) / (1 + rho) - settings.guardMs;
}

export function sameSettings(a: LeaseSettings, b: LeaseSettings): boolean {
  const close = (x: number, y: number): boolean => Math.abs(x - y) <= 0.01 * Math.max(x, y);
  return (
    close(a.ttlMs, b.ttlMs) && close(a.heartbeatMs, b.heartbeatMs) && close(a.graceMs, b.graceMs)
  );
}
