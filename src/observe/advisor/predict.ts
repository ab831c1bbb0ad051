// Predicts the results of given settings from measurements.

import { RETRIES_PER_TTL } from '../../lease/session.ts';
import { authorityUnder, type LeaseModel, type LeaseSettings } from './model.ts';
import type { Observations, Renewal } from './observations.ts';
import type { PauseRates } from './pause-law.ts';
import { type Estimate, HOUR_MS, scaled, sum } from './rate.ts';

/** The predicted effects of settings. */
export interface Prediction {
  /** The median takeover time in milliseconds. */
  readonly takeoverP50Ms: number;
  /** The takeover time that 99 of 100 takeovers do not exceed. */
  readonly takeoverP99Ms: number;
  /** The mean takeover time. */
  readonly takeoverMeanMs: number;
  /** Losses of a term by a live holder. */
  readonly falseLossesPer1000LeaseDays: Estimate;
  /** Lapses of a live holder, which has to stop and may rejoin. */
  readonly falseLapsesPer1000LeaseDays: Estimate;
  /** Deaths of holders. */
  readonly crashesPer1000LeaseDays: Estimate;
  /** Seconds of work that is done again per day of holding a lease. */
  readonly reworkSecondsPerLeaseDay: number;
  /** Writes per second of one session with its leases. */
  readonly storeWritesPerSecond: number;
  /** The number of attempts of a renewal that fit into the authority. */
  readonly attemptsThatFit: number;
}

export const HOURS_PER_1000_DAYS = 24_000;

/**
 * Predicts takeover times, false losses and load for given settings. `pollMs` is how often waiters
 * poll (default 0: they get hints).
 *
 * @example
 * const prediction = predict(modelOf(observationsOf([])), {
 *   ttlMs: 15_000,
 *   heartbeatMs: 5_000,
 *   graceMs: 3_000,
 *   guardMs: 150,
 * });
 * console.log(prediction.takeoverP99Ms);
 */
export function predict(
  model: LeaseModel,
  settings: LeaseSettings,
  pollMs: number = 0,
): Prediction {
  const { ttlMs, heartbeatMs, checkpointMs } = settings;
  const losing = renewing(model, settings, ttlMs);
  const lapsing = renewing(model, settings, authorityUnder(settings, model.driftPpm));
  const detection = {
    ttlMs,
    periodMs: Math.min(ttlMs, heartbeatMs + model.roundTripMs),
    pollMs,
    delayMs: model.takeoverDelayMs,
  };
  const losses = scaled(lossesPerHour(model, losing), HOURS_PER_1000_DAYS);
  const crashes = scaled(model.crashesPerHour, HOURS_PER_1000_DAYS);
  const perDay = (losses.mean + crashes.mean) / 1_000;
  const saving = checkpointMs === undefined ? 0 : (1_000 / checkpointMs) * model.leasesPerSession;
  return {
    takeoverP50Ms: takeoverQuantile(detection, 0.5),
    takeoverP99Ms: takeoverQuantile(detection, 0.99),
    takeoverMeanMs: takeoverMean(detection),
    falseLossesPer1000LeaseDays: losses,
    falseLapsesPer1000LeaseDays: scaled(lossesPerHour(model, lapsing), HOURS_PER_1000_DAYS),
    crashesPer1000LeaseDays: crashes,
    reworkSecondsPerLeaseDay: checkpointMs === undefined ? 0 : (perDay * checkpointMs) / 2_000,
    storeWritesPerSecond: 1_000 / heartbeatMs + saving,
    attemptsThatFit: attemptsThatFit({ ...lapsing, roundTripMs: model.roundTripTailMs }),
  };
}

/** Losses of a live holder, per hour that a lease is held. */
function lossesPerHour(model: LeaseModel, holding: Renewing): Estimate {
  return sum(lossesByLostHeartbeats(holding, model.failure), lossesByPauses(holding, model.pauses));
}

export function renewing(model: LeaseModel, settings: LeaseSettings, lastsMs: number): Renewing {
  return {
    lastsMs,
    heartbeatMs: settings.heartbeatMs,
    retryMs: settings.ttlMs / RETRIES_PER_TTL,
    roundTripMs: model.roundTripMs,
    failedTripMs: model.failedTripMs(settings.ttlMs),
  };
}

/**
 * The length of the pause that affects this share of heartbeat periods, for the constraint on
 * pauses.
 */
export function pauseAt(model: LeaseModel, settings: LeaseSettings, share: number): number {
  const perHour = (share * HOUR_MS) / (settings.heartbeatMs + model.roundTripMs);
  return model.pauses.lengthAt(perHour);
}

// The time for which a dead holder's key has no holder. A holder dies at any moment between two
// heartbeats, so its session has between ttl − heartbeat and ttl left. Then a waiter has to notice
// and acquire. Waiters of this library know when the key will be free and acquire at that moment.
// `pollMs` is for waiters that only poll.

interface DetectionInput {
  readonly ttlMs: number;
  /** The time between two renewals that reach the store. */
  readonly periodMs: number;
  readonly pollMs: number;
  /** The time from the first try after the expiry to the grant. */
  readonly delayMs: number;
}

/** The time within which `share` of all takeovers are done. */
export function takeoverQuantile(input: DetectionInput, share: number): number {
  const { ttlMs, periodMs, pollMs, delayMs } = input;
  return ttlMs - periodMs + delayMs + uniformSumQuantile(periodMs, pollMs, share);
}

export function takeoverMean({ ttlMs, periodMs, pollMs, delayMs }: DetectionInput): number {
  return ttlMs - periodMs / 2 + pollMs / 2 + delayMs;
}

/** The quantile of the sum of two independent times, uniform in [0, a] and [0, b]. */
export function uniformSumQuantile(a: number, b: number, share: number): number {
  const [short, long] = a < b ? [a, b] : [b, a];
  if (short === 0) return long * share;
  const corner = short / (2 * long);
  if (share < corner) return Math.sqrt(2 * short * long * share);
  if (share > 1 - corner) return short + long - Math.sqrt(2 * short * long * (1 - share));
  return long * share + short / 2;
}

// The rate at which a healthy holder loses its lease: its heartbeats got lost, or it paused for
// longer than its slack.

interface Renewing {
  /** The duration of one renewal: authority for a lapse, the ttl for a loss. */
  readonly lastsMs: number;
  /** From a reply to the next heartbeat. */
  readonly heartbeatMs: number;
  /** From a failed try to the next one. */
  readonly retryMs: number;
  /** From a request to its reply, and to the time-out without one. */
  readonly roundTripMs: number;
  readonly failedTripMs: number;
}

/** The number of tries of one renewal that can get a reply in time. */
export function attemptsThatFit(renewing: Renewing): number {
  const { lastsMs, heartbeatMs, retryMs, roundTripMs, failedTripMs } = renewing;
  const afterFirst = lastsMs - heartbeatMs - roundTripMs;
  if (afterFirst < 0) return 0;
  return 1 + Math.floor(afterFirst / (retryMs + failedTripMs));
}

/** The mean time between losses if each try fails independently with this probability. */
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

/**
 * The same rate per hour, averaged over the jitter of the heartbeat, which decides how many tries
 * fit.
 */
function lossesByLostHeartbeats(renewing: Renewing, failure: Estimate): Estimate {
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
 * A pause starts at any moment between two renewals. So its slack is uniform between the time left
 * just before the next renewal is sent and just after a reply arrived.
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

// The longest heartbeat that reaches a quality of detection, after Chen, Toueg and Aguilera. The
// inputs are a bound on the detection time, the least time between mistakes, the greatest length of
// a mistake, the share of lost heartbeats and the variance of their delay.

interface Quality {
  readonly detectionMs: number;
  readonly betweenMistakesMs: number;
  readonly mistakeMs: number;
  readonly lossProbability: number;
  readonly delayVarianceMs2: number;
}

/** Returns zero if no heartbeat is frequent enough. */
export function longestHeartbeat(quality: Quality): number {
  const { detectionMs, mistakeMs, lossProbability, delayVarianceMs2, betweenMistakesMs } = quality;
  const gamma = ((1 - lossProbability) * detectionMs ** 2) / (delayVarianceMs2 + detectionMs ** 2);
  const most = Math.min(gamma * mistakeMs, detectionMs);
  // The function is not monotonic where one heartbeat less fits, so walk down in small steps.
  const step = most / 2_000;
  for (let heartbeat = most; heartbeat > step; heartbeat -= step) {
    if (betweenMistakes(quality, heartbeat) >= betweenMistakesMs) return heartbeat;
  }
  return 0;
}

export function betweenMistakes(quality: Quality, heartbeatMs: number): number {
  const { detectionMs, lossProbability, delayVarianceMs2: variance } = quality;
  let product = heartbeatMs;
  const count = Math.ceil(detectionMs / heartbeatMs) - 1;
  for (let beat = 1; beat <= count; beat += 1) {
    const left = (detectionMs - beat * heartbeatMs) ** 2;
    product *= (variance + left) / (variance + lossProbability * left);
    if (product === Number.POSITIVE_INFINITY) break;
  }
  return product;
}

// The amount of work between two checkpoints: saving costs time, and unsaved work is done again
// after a loss. Young's rule, Daly's refinement, and both for work in steps.

/**
 * Returns Young's checkpoint interval √(2·cost/losses), weighted with what a second of `saving` and
 * of `rework` are worth.
 *
 * @example
 * const intervalMs = youngInterval(20, 1 / 3_600_000);
 */
export function youngInterval(
  costMs: number,
  lossesPerMs: number,
  worth: { readonly saving: number; readonly rework: number } = { saving: 1, rework: 1 },
): number {
  return Math.sqrt((2 * costMs * worth.saving) / (lossesPerMs * worth.rework));
}

/**
 * Returns Daly's checkpoint interval, for checkpoints that are not short against the time between
 * losses.
 *
 * @example
 * const intervalMs = dalyInterval(20, 1 / 3_600_000);
 */
export function dalyInterval(costMs: number, lossesPerMs: number): number {
  const between = 1 / lossesPerMs;
  if (costMs >= 2 * between) return between;
  const ratio = costMs / (2 * between);
  return Math.sqrt(2 * costMs * between) * (1 + Math.sqrt(ratio) / 3 + ratio / 9) - costMs;
}

/**
 * Returns the fraction of time that is spent on checkpoints, on rework and standing still.
 *
 * `perMs` is how many losses occur per millisecond, `downMs` how long each stops the work.
 *
 * @example
 * const waste = wasteShare(60_000, 20, { perMs: 1 / 3_600_000, downMs: 15_000 });
 */
export function wasteShare(
  intervalMs: number,
  costMs: number,
  losses: { readonly perMs: number; readonly downMs: number },
): number {
  return costMs / intervalMs + losses.perMs * (intervalMs / 2 + losses.downMs);
}

/**
 * Returns true if enough work was done since the last checkpoint to save again. Call it at the end
 * of each step.
 *
 * @example
 * if (shouldCheckpoint(70_000, 60_000)) await lease.checkpoint('page 7');
 */
export function shouldCheckpoint(sinceLastMs: number, intervalMs: number): boolean {
  return sinceLastMs >= intervalMs;
}

// Replays a recorded log under other settings. Each recorded renewal happens again, with its pause
// and its failures. The replay decides if the lease would have lapsed or been lost.

/** A recorded log under other settings. */
export interface Replay {
  /** The number of replayed renewals. */
  readonly renewals: number;
  /** The recorded days of sessions. */
  readonly sessionDays: number;
  /** The `lapses` and `losses` that were recorded. */
  readonly recorded: { readonly lapses: number; readonly losses: number };
  /**
   * The `lapses` and `losses` that the other settings would have had. Not whole numbers if they
   * depend on when a pause began.
   */
  readonly replayed: { readonly lapses: number; readonly losses: number };
  /** The number of recorded crashes. */
  readonly crashes: number;
  /**
   * The delay of each takeover from a crashed holder, compared with the log, in milliseconds.
   * Negative if sooner.
   */
  readonly takeoverLaterMs: number;
}

/**
 * Replays recorded renewals under other settings and counts the lapses and losses.
 *
 * @example
 * const replayed = replay(observationsOf([]), { ttlMs: 30_000, heartbeatMs: 10_000, graceMs: 6_000, guardMs: 300 });
 * console.log(describeReplay(replayed));
 */
export function replay(observations: Observations, settings: LeaseSettings): Replay {
  const authority = authorityUnder(settings, observations.current?.driftPpm ?? 500);
  const recorded = { lapses: 0, losses: 0 };
  const replayed = { lapses: 0, losses: 0 };
  let renewals = 0;
  for (const session of observations.sessions) {
    const was = session.settings;
    if (was === undefined) continue;
    const wasAuthority = authorityUnder(was, was.driftPpm);
    for (const renewal of session.renewals) {
      renewals += 1;
      recorded.losses += renewal.lost ? 1 : 0;
      recorded.lapses += renewal.lost || renewal.gapMs > wasAuthority ? 1 : 0;
      const gap = gapUnder(settings, renewal, was.heartbeatMs);
      replayed.losses += chanceBeyond(gap, settings.ttlMs);
      replayed.lapses += chanceBeyond(gap, authority);
    }
  }
  const { current } = observations;
  const median = (each: LeaseSettings): number => each.ttlMs - each.heartbeatMs / 2;
  return {
    renewals,
    sessionDays: observations.sessionHours / 24,
    recorded,
    replayed,
    crashes: observations.losses.crashed,
    takeoverLaterMs: current === undefined ? 0 : median(settings) - median(current),
  };
}

/** The gap is uniformly distributed between these two values. */
interface Gap {
  readonly from: number;
  readonly to: number;
}

/** This many failures in a row are one outage, whose length does not depend on the settings. */
const OUTAGE_TRIES = 3;

function gapUnder(settings: LeaseSettings, renewal: Renewal, wasHeartbeatMs: number): Gap {
  const { ttlMs, heartbeatMs } = settings;
  const { gapMs, pauseMs, failedTries, failingMs } = renewal;
  // Retries follow the ttl; an outage of the store does not.
  const failing = failedTries < OUTAGE_TRIES ? failedTries * (ttlMs / RETRIES_PER_TTL) : failingMs;
  const least = heartbeatMs + failing;
  if (pauseMs === 0) return { from: least, to: least };
  const begunAt = gapMs - pauseMs - failingMs;
  if (begunAt <= wasHeartbeatMs) {
    // The pause delayed the renewal, so its start is known, as a share of the heartbeat.
    const share = Math.max(0, begunAt / wasHeartbeatMs);
    const gap = Math.max(least, share * heartbeatMs + pauseMs + failing);
    return { from: gap, to: gap };
  }
  return { from: pauseMs + failing, to: heartbeatMs + pauseMs + failing };
}

function chanceBeyond({ from, to }: Gap, limit: number): number {
  if (from >= limit) return from > limit ? 1 : 0;
  return to <= limit ? 0 : (to - limit) / (to - from);
}

/**
 * Returns a sentence that explains a replay: more or fewer false losses, and the change of the
 * takeover time.
 *
 * @example
 * const settings = { ttlMs: 30_000, heartbeatMs: 10_000, graceMs: 6_000, guardMs: 300 };
 * console.log(describeReplay(replay(observationsOf([]), settings)));
 */
export function describeReplay(replay: Replay): string {
  const was = replay.recorded.losses;
  const would = Math.round(replay.replayed.losses);
  const difference = would - was;
  const losses =
    difference === 0
      ? 'as many false losses'
      : `${Math.abs(difference)} ${difference < 0 ? 'fewer' : 'more'} false ${Math.abs(difference) === 1 ? 'loss' : 'losses'}`;
  const seconds = Math.abs(replay.takeoverLaterMs / 1_000).toFixed(1);
  const takeover = `${seconds} s ${replay.takeoverLaterMs < 0 ? 'less' : 'more'} time to take over`;
  return `With these settings the recorded time would have had ${losses} (${would} instead of ${was}) and ${takeover}.`;
}
