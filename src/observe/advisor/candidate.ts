// One choice of settings with what it costs and which limits it breaks.

import { dalyInterval } from './checkpoint-interval.ts';
import { HOUR_MS } from './false-loss.ts';
import type { Goals } from './goals.ts';
import type { LeaseModel } from './model.ts';
import { type Prediction, pauseAt, predict } from './predict.ts';
import { authorityMs, defaultGuardMs, type LeaseSettings, RETRIES_PER_TTL } from './settings.ts';

export type Constraint =
  /** At least three tries of a renewal fit into the authority. */
  | 'attempts'
  /** The authority outlasts the pause that meets one heartbeat in ten thousand. */
  | 'pauses'
  | 'longest-effect'
  | 'takeover'
  | 'false-losses';

export interface Candidate {
  readonly settings: LeaseSettings;
  readonly predicted: Prediction;
  /** For each hour that a lease is held, in the currency of the prices. */
  readonly cost: number;
  readonly broken: readonly Constraint[];
}

export const ATTEMPTS_MIN = 3;
const PAUSE_SHARE = 1e-4;
const CHECKPOINT_MS = { min: 100, max: HOUR_MS } as const;

/** The settings that go with a ttl: the rest follows from it in closed form. */
export function candidate(
  model: LeaseModel,
  goals: Goals,
  choice: { readonly ttlMs: number; readonly beats: number },
): Candidate {
  const { ttlMs, beats } = choice;
  const bare: LeaseSettings = {
    ttlMs,
    heartbeatMs: Math.round(ttlMs / beats),
    graceMs: graceFor(model, ttlMs),
    guardMs: defaultGuardMs(ttlMs),
  };
  const checkpointMs = checkpointFor(model, goals, bare);
  return judge(model, goals, { ...bare, ...(checkpointMs === undefined ? {} : { checkpointMs }) });
}

/**
 * Long enough for work to stop after the lapse and for one rejoin to come through, and no longer: what
 * goes into the grace is taken from the authority.
 */
function graceFor(model: LeaseModel, ttlMs: number): number {
  const rejoin = ttlMs / RETRIES_PER_TTL + 2 * model.roundTripTailMs;
  const needed = Math.max(rejoin, model.overrunMs ?? ttlMs / 5);
  return Math.round(Math.min(needed, ttlMs / 2));
}

/** Losses count however they come about: crashes and false ones alike. */
function checkpointFor(
  model: LeaseModel,
  goals: Goals,
  settings: LeaseSettings,
): number | undefined {
  const { checkpointCostMs } = model;
  if (checkpointCostMs === undefined) return undefined;
  const predicted = predict(model, settings, goals.pollMs);
  const per1000Days =
    predicted.falseLossesPer1000LeaseDays.mean + predicted.crashesPer1000LeaseDays.mean;
  const lossesPerMs = per1000Days / (24_000 * HOUR_MS);
  const { storeWrite, reworkSecond } = goals.prices;
  // Saving costs the holder its time, at the price of work, and the store one write.
  const costMs = checkpointCostMs + (1_000 * storeWrite) / reworkSecond;
  const interval = dalyInterval(costMs, lossesPerMs);
  return Math.round(Math.min(Math.max(interval, CHECKPOINT_MS.min), CHECKPOINT_MS.max));
}

export function judge(model: LeaseModel, goals: Goals, settings: LeaseSettings): Candidate {
  const predicted = predict(model, settings, goals.pollMs);
  return {
    settings,
    predicted,
    cost: costOf(model, goals, { settings, predicted }),
    broken: brokenBy(model, goals, { settings, predicted }),
  };
}

function costOf(
  model: LeaseModel,
  goals: Goals,
  judged: { readonly settings: LeaseSettings; readonly predicted: Prediction },
): number {
  const { storeWrite, downSecond, falseLoss, reworkSecond } = goals.prices;
  const { settings, predicted } = judged;
  const { heartbeatMs, checkpointMs } = settings;
  const beats = HOUR_MS / heartbeatMs / model.leasesPerSession;
  const saves = checkpointMs === undefined ? 0 : HOUR_MS / checkpointMs;
  const savingSeconds = (saves * (model.checkpointCostMs ?? 0)) / 1_000;
  const falseLosses = predicted.falseLossesPer1000LeaseDays.mean / 24_000;
  return (
    storeWrite * (beats + saves) +
    reworkSecond * savingSeconds +
    model.crashesPerHour.mean * downSecond * (predicted.takeoverMeanMs / 1_000) +
    falseLosses * falseLoss +
    (reworkSecond * predicted.reworkSecondsPerLeaseDay) / 24
  );
}

function brokenBy(
  model: LeaseModel,
  goals: Goals,
  judged: { readonly settings: LeaseSettings; readonly predicted: Prediction },
): readonly Constraint[] {
  const { settings, predicted } = judged;
  const afterBeat =
    authorityMs(settings, model.driftPpm) - settings.heartbeatMs - model.roundTripTailMs;
  const broken: Constraint[] = [];
  if (predicted.attemptsThatFit < ATTEMPTS_MIN) broken.push('attempts');
  if (afterBeat < pauseAt(model, settings, PAUSE_SHARE)) broken.push('pauses');
  if (afterBeat < goals.longestEffectMs) broken.push('longest-effect');
  if (predicted.takeoverP99Ms > goals.takeoverP99MsMax) broken.push('takeover');
  if (predicted.falseLossesPer1000LeaseDays.mean > goals.falseLossesPer1000LeaseDaysMax) {
    broken.push('false-losses');
  }
  return broken;
}
