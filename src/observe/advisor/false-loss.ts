// How often a holder that is alive and well loses its lease: because its heartbeats got lost, or
// because it stood still for longer than its slack.

import type { PauseRates } from './pause-law.ts';
import { type Estimate, scaled } from './rate.ts';

export const HOUR_MS = 3_600_000;

export interface Renewing {
  /** How long one renewal lasts: authority for a lapse, the ttl for a loss. */
  readonly lastsMs: number;
  /** From an answer to the next heartbeat. */
  readonly heartbeatMs: number;
  /** From a try that failed to the next one. */
  readonly retryMs: number;
  /** From a request to its answer, and to knowing that there will be none. */
  readonly roundTripMs: number;
  readonly failedTripMs: number;
}

/** How many tries of one renewal can be answered in time. */
export function attemptsThatFit(renewing: Renewing): number {
  const { lastsMs, heartbeatMs, retryMs, roundTripMs, failedTripMs } = renewing;
  const afterFirst = lastsMs - heartbeatMs - roundTripMs;
  if (afterFirst < 0) return 0;
  return 1 + Math.floor(afterFirst / (retryMs + failedTripMs));
}

/** Mean time between losses when each try fails on its own with this probability. */
export function meanTimeBetweenLosses(renewing: Renewing, failure: number): number {
  const { heartbeatMs, retryMs, failedTripMs } = renewing;
  const attempts = attemptsThatFit(renewing);
  if (attempts === 0) return heartbeatMs;
  if (failure <= 0) return Number.POSITIVE_INFINITY;
  // Failures before the success, or all of them; each costs one retry.
  let retries = 0;
  for (let count = 1; count < attempts; count += 1) retries += failure ** count;
  return (heartbeatMs + (retryMs + failedTripMs) * retries) / failure ** attempts;
}

const JITTER = 0.1;
const JITTER_POINTS = 41;

/** The same per hour, averaged over the jitter of the heartbeat, which decides how many tries fit. */
export function lossesByLostHeartbeats(renewing: Renewing, failure: Estimate): Estimate {
  const at = (probability: number): number => {
    let total = 0;
    for (let point = 0; point < JITTER_POINTS; point += 1) {
      const factor = 1 - JITTER + (2 * JITTER * point) / (JITTER_POINTS - 1);
      const jittered = { ...renewing, heartbeatMs: renewing.heartbeatMs * factor };
      total += HOUR_MS / meanTimeBetweenLosses(jittered, probability);
    }
    return total / JITTER_POINTS;
  };
  return { mean: at(failure.mean), low: at(failure.low), high: at(failure.high) };
}

const SLACK_POINTS = 33;

/**
 * A pause begins at any moment between two renewals, so its slack is uniform between what is left just
 * before the next one is sent and what is left just after one was answered.
 */
export function lossesByPauses(renewing: Renewing, pauses: Pick<PauseRates, 'perHour'>): Estimate {
  const { lastsMs, heartbeatMs, roundTripMs } = renewing;
  const most = lastsMs - roundTripMs;
  const least = Math.max(0, most - heartbeatMs - roundTripMs);
  let total: Estimate = { mean: 0, low: 0, high: 0 };
  for (let point = 0; point < SLACK_POINTS; point += 1) {
    const slack = least + ((most - least) * (point + 0.5)) / SLACK_POINTS;
    const rate = pauses.perHour(slack);
    total = {
      mean: total.mean + rate.mean,
      low: total.low + rate.low,
      high: total.high + rate.high,
    };
  }
  return scaled(total, 1 / SLACK_POINTS);
}
