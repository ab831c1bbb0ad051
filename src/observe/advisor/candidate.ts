// One choice of settings, with its cost and the limits that it breaks.

import { RETRIES_PER_TTL } from '../../lease/session.ts';
import type { Goals } from './goals.ts';
import { authorityUnder, defaultGuardMs, type LeaseModel, type LeaseSettings } from './model.ts';
import { dalyInterval, type Prediction, pauseAt, predict } from './predict.ts';
import { HOUR_MS } from './rate.ts';

/**
 * A limit that settings must keep.
 *
 * - `attempts`: at least three attempts of a renewal fit into the authority.
 * - `pauses`: the authority outlasts the pause that one heartbeat in ten thousand meets.
 * - `longest-effect`: the longest effect fits.
 * - `takeover`: the takeover time is within its limit.
 * - `false-losses`: false losses are within their limit.
 */
export type Constraint = 'attempts' | 'pauses' | 'longest-effect' | 'takeover' | 'false-losses';

/** Settings that were considered. */
export interface Candidate {
  /** The settings. */
  readonly settings: LeaseSettings;
  /** The prediction for them. */
  readonly predicted: Prediction;
  /** The cost per hour that a lease is held, in the currency of the prices. */
  readonly cost: number;
  /** The limits that they break. */
  readonly broken: readonly Constraint[];
}

const ATTEMPTS_MIN = 3;
const PAUSE_SHARE = 1e-4;
const CHECKPOINT_MS = { min: 100, max: HOUR_MS } as const;

/** Derives the settings for a ttl. The others follow from it in closed form. */
function candidate(
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
 * Long enough for work to stop after the lapse and for one rejoin to succeed, and no longer: the
 * grace reduces the authority.
 */
function graceFor(model: LeaseModel, ttlMs: number): number {
  const rejoin = ttlMs / RETRIES_PER_TTL + 2 * model.roundTripTailMs;
  const needed = Math.max(rejoin, model.overrunMs ?? ttlMs / 5);
  return Math.round(Math.min(needed, ttlMs / 2));
}

/** All losses count alike, crashes and false ones. */
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
  // A checkpoint costs the holder time, at the price of work, and the store one write.
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
    authorityUnder(settings, model.driftPpm) - settings.heartbeatMs - model.roundTripTailMs;
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

// Finds the cheapest settings that keep every limit by trying all candidates, a few hundred.

export type Found =
  | {
      readonly kind: 'found';
      readonly best: Candidate;
      /** The limit without which a cheaper choice would exist. Absent if the prices decide. */
      readonly binding: Constraint | undefined;
      readonly all: readonly Candidate[];
    }
  /** No settings keep all limits: the longest ttl breaks some, every shorter one breaks others. */
  | {
      readonly kind: 'conflict';
      readonly between: readonly Constraint[];
      readonly all: readonly Candidate[];
    };

const TTL_STEP = 1.08;

export function search(model: LeaseModel, goals: Goals): Found {
  const all = ttlGrid(goals).flatMap((ttlMs) =>
    goals.beatsPerTtl.map((beats) => candidate(model, goals, { ttlMs, beats })),
  );
  const best = cheapest(all.filter(({ broken }) => broken.length === 0));
  if (best === undefined) return { kind: 'conflict', between: conflictOf(all), all };
  return { kind: 'found', best, binding: bindingOf(all, best), all };
}

/**
 * Builds the grid from the least to the greatest ttl in steps of eight percent, each rounded to two
 * digits.
 */
function ttlGrid({ ttlMsMin, ttlMsMax }: Goals): readonly number[] {
  const grid = new Set<number>();
  for (let ttlMs = ttlMsMin; ttlMs < ttlMsMax; ttlMs *= TTL_STEP) {
    grid.add(Math.max(ttlMsMin, Number(ttlMs.toPrecision(2))));
  }
  grid.add(ttlMsMax);
  return [...grid];
}

function cheapest(candidates: readonly Candidate[]): Candidate | undefined {
  let best: Candidate | undefined;
  for (const each of candidates) if (best === undefined || each.cost < best.cost) best = each;
  return best;
}

/** Returns the one limit whose removal would save the most. */
function bindingOf(all: readonly Candidate[], best: Candidate): Constraint | undefined {
  const saving = new Map<Constraint, number>();
  for (const { broken, cost } of all) {
    const [only, ...others] = broken;
    if (only === undefined || others.length > 0 || cost >= best.cost) continue;
    saving.set(only, Math.max(saving.get(only) ?? 0, best.cost - cost));
  }
  const [most] = [...saving].sort(([, a], [, b]) => b - a);
  return most?.[0];
}

/** Returns the limits that the candidates with the fewest violations break. */
function conflictOf(all: readonly Candidate[]): readonly Constraint[] {
  const fewest = Math.min(...all.map(({ broken }) => broken.length));
  return [
    ...new Set(
      all.filter(({ broken }) => broken.length === fewest).flatMap(({ broken }) => broken),
    ),
  ];
}
