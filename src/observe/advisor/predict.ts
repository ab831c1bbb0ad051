// What would happen under given settings, from what was measured.

import { takeoverMean, takeoverQuantile } from './detection.ts';
import {
  attemptsThatFit,
  HOUR_MS,
  lossesByLostHeartbeats,
  lossesByPauses,
  type Renewing,
} from './false-loss.ts';
import type { LeaseModel } from './model.ts';
import { type Estimate, scaled, sum } from './rate.ts';
import { authorityMs, type LeaseSettings, RETRIES_PER_TTL } from './settings.ts';

export interface Prediction {
  readonly takeoverP50Ms: number;
  readonly takeoverP99Ms: number;
  readonly takeoverMeanMs: number;
  /** A live holder loses its term. */
  readonly falseLossesPer1000LeaseDays: Estimate;
  /** A live holder has to stop and may rejoin. */
  readonly falseLapsesPer1000LeaseDays: Estimate;
  readonly crashesPer1000LeaseDays: Estimate;
  /** Work done again after losses, for each day that a lease is held. */
  readonly reworkSecondsPerLeaseDay: number;
  /** Of one session with the leases that sessions usually carry. */
  readonly storeWritesPerSecond: number;
  readonly attemptsThatFit: number;
}

export const HOURS_PER_1000_DAYS = 24_000;

export function predict(
  model: LeaseModel,
  settings: LeaseSettings,
  pollMs: number = 0,
): Prediction {
  const { ttlMs, heartbeatMs, checkpointMs } = settings;
  const losing = renewing(model, settings, ttlMs);
  const lapsing = renewing(model, settings, authorityMs(settings, model.driftPpm));
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

/** Losses of a live holder per hour that a lease is held. */
export function lossesPerHour(model: LeaseModel, holding: Renewing): Estimate {
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

/** The share of an hour's pauses that a heartbeat period may meet: for the constraint on pauses. */
export function pauseAt(model: LeaseModel, settings: LeaseSettings, share: number): number {
  const perHour = (share * HOUR_MS) / (settings.heartbeatMs + model.roundTripMs);
  return model.pauses.lengthAt(perHour);
}
