// The advisor. From recorded logs and goals, it derives ttl, heartbeat, grace and checkpoint
// interval. It adds the predicted results and their confidence, or reports the missing evidence.

import { BEATS_PER_TTL } from '../../lease/session.ts';
import { type Candidate, type Constraint, type Found, judge, search } from './candidate.ts';
import { checkedGoals, type Goals } from './goals.ts';
import {
  defaultGuardMs,
  type LeaseModel,
  type LeaseSettings,
  modelOf,
  sameSettings,
} from './model.ts';
import type { Observations } from './observations.ts';
import { type PauseRates, TAIL_MIN } from './pause-law.ts';
import { HOURS_PER_1000_DAYS, lossesByPauses, type Prediction, renewing } from './predict.ts';
import { EVENTS_ENOUGH, estimateRate, exactly, SPREAD_MAX, spreadOf } from './rate.ts';
import { conflictReasons, reasonsFor } from './words.ts';

/**
 * Recommended settings of sessions, with the predictions behind them. Durations are in
 * milliseconds.
 */
export interface Recommendation {
  /** Always `recommendation`. */
  readonly kind: 'recommendation';
  /**
   * `change`: use these settings. `keep`: the current ones are as good, and these are the current
   * ones.
   */
  readonly verdict: 'change' | 'keep';
  /** The recommended ttl. */
  readonly ttlMs: number;
  /** The heartbeat interval that follows. */
  readonly heartbeatMs: number;
  /** The recommended grace. */
  readonly graceMs: number;
  /** The recommended guard. */
  readonly guardMs: number;
  /** The recommended work between checkpoints. Absent if the log has no checkpoint. */
  readonly checkpointMs?: number;
  /** The prediction for these settings. */
  readonly predicted: Prediction;
  /** The current `settings`, and the prediction for them as `predicted`. */
  readonly current: { readonly settings: LeaseSettings; readonly predicted: Prediction };
  /** The limit that excludes cheaper settings. Absent if the prices decide. */
  readonly binding?: Constraint;
  /** `high`, or `medium` if a rate is known only roughly. */
  readonly confidence: 'high' | 'medium';
  /** How much cheaper this is than the current settings, as a fraction. */
  readonly gainShare: number;
  /** The reasons, for people. */
  readonly reasons: readonly string[];
  /** All settings that were considered. */
  readonly candidates: readonly Candidate[];
}

/**
 * The result of `advise`.
 *
 * - `recommendation`: recommended settings.
 * - `not-enough-evidence`: the log is too short; `missing` lists what to record.
 * - `goals-conflict`: no settings keep all limits; `between` names those that conflict, and
 *   `reasons` explains them.
 */
export type Advice =
  | Recommendation
  | { readonly kind: 'not-enough-evidence'; readonly missing: readonly MissingEvidence[] }
  | {
      readonly kind: 'goals-conflict';
      readonly between: readonly Constraint[];
      readonly reasons: readonly string[];
    };

/**
 * Recommends a ttl, a grace and a checkpoint interval from recorded leases and your goals. Throws
 * `InvalidInput` for invalid goals.
 *
 * @example
 * const entries = [];
 * for await (const entry of readLeaseLog('./leases.log')) if (entry.kind !== 'malformed') entries.push(entry);
 * const advice = advise(observationsOf(entries), goalsOf('interactive'));
 * if (advice.kind === 'recommendation') console.log(advice.ttlMs, advice.reasons);
 */
export function advise(observations: Observations, wanted: Goals): Advice {
  const goals = checkedGoals(wanted);
  return adviseOn({ model: modelOf(observations), current: observations.current, goals });
}

/** Advises on a model, whatever its source. */
function adviseOn({
  model,
  current,
  goals,
}: {
  readonly model: LeaseModel;
  readonly current: LeaseSettings | undefined;
  readonly goals: Goals;
}): Advice {
  const missing = missingAtAll(model, current !== undefined);
  if (current === undefined || missing.length > 0) return { kind: 'not-enough-evidence', missing };
  const found = search(model, goals);
  if (found.kind === 'conflict') {
    const { between } = found;
    const unseen = missingInConflict(model, goals);
    if (unseen.length > 0) return { kind: 'not-enough-evidence', missing: unseen };
    return { kind: 'goals-conflict', between, reasons: conflictReasons(found.all, goals) };
  }
  const gaps = missingFor(model, goals, found.best.settings);
  if (gaps.length > 0) return { kind: 'not-enough-evidence', missing: gaps };
  return recommend({ model, goals, current: judge(model, goals, current), found });
}

interface Choice {
  readonly model: LeaseModel;
  readonly goals: Goals;
  readonly current: Candidate;
  readonly found: Extract<Found, { kind: 'found' }>;
}

function recommend(choice: Choice): Recommendation {
  const { current, found } = choice;
  const { best, binding } = found;
  const gainShare = 1 - best.cost / current.cost;
  const keep = current.broken.length === 0 && !isWorthwhile(choice, gainShare);
  const chosen = keep ? current : best;
  const { ttlMs, heartbeatMs, graceMs, guardMs, checkpointMs } = chosen.settings;
  return {
    kind: 'recommendation',
    verdict: keep ? 'keep' : 'change',
    ttlMs,
    heartbeatMs: Math.round(heartbeatMs),
    graceMs,
    guardMs,
    ...(checkpointMs === undefined ? {} : { checkpointMs }),
    predicted: chosen.predicted,
    current: { settings: current.settings, predicted: current.predicted },
    ...(binding === undefined ? {} : { binding }),
    confidence: confidenceIn(choice, chosen),
    gainShare,
    reasons: reasonsFor({ ...choice, chosen, keep, gainShare }),
    candidates: found.all,
  };
}

/** Returns true if the change is a tenth cheaper, and cheaper at both ends of the uncertainty. */
function isWorthwhile({ model, goals, current, found }: Choice, gainShare: number): boolean {
  if (gainShare <= REGRET_MAX || sameSettings(current.settings, found.best.settings)) return false;
  return (['low', 'high'] as const).every((end) => {
    const world = atEnd(model, end);
    const costs = [found.best, current].map(({ settings }) => judge(world, goals, settings).cost);
    return (costs[0] ?? 0) < (costs[1] ?? 0);
  });
}

function atEnd(model: LeaseModel, end: 'low' | 'high'): LeaseModel {
  const at = (estimate: { readonly low: number; readonly high: number }) => {
    const value = estimate[end];
    return { mean: value, low: value, high: value };
  };
  return { ...model, failure: at(model.failure), crashesPerHour: at(model.crashesPerHour) };
}

/** So far below its limit that the exact value does not matter. */
const NEGLIGIBLE_SHARE = 0.01;

function confidenceIn({ model, goals }: Choice, chosen: Candidate): 'high' | 'medium' {
  const { falseLossesPer1000LeaseDays: losses } = chosen.predicted;
  const negligible = NEGLIGIBLE_SHARE * goals.falseLossesPer1000LeaseDaysMax;
  const isKnown = spreadOf(losses) <= SPREAD_MAX || losses.high <= negligible;
  return isKnown && spreadOf(model.crashesPerHour) <= SPREAD_MAX ? 'high' : 'medium';
}

// Assumed rates instead of recorded ones. The advisor takes them as exact, so the advice is only as
// good as they are.

/** Rates that you assume instead of recording them. Durations are in milliseconds. */
export interface Assumptions {
  /** The current ttl. */
  readonly ttlMs: number;
  /** The current grace. */
  readonly graceMs: number;
  /** The usual time from a heartbeat to its response. */
  readonly roundTripMs: number;
  /** The time that one heartbeat in a thousand exceeds. */
  readonly roundTripTailMs: number;
  /** The number of heartbeats without a response, out of a thousand. */
  readonly failuresPer1000: number;
  /** Pauses of a holder per day. */
  readonly pausesPerDay: number;
  /** The mean length of a pause. */
  readonly pauseMs: number;
  /** Deaths of a holder per month. */
  readonly crashesPerMonth: number;
}

const HOURS_PER_DAY = 24;
const HOURS_PER_MONTH = 730;
const DRIFT_PPM = 500;
/** The 99.9th percentile of a normal distribution, in standard deviations. */
const TAIL_DEVIATIONS = 3.09;

/**
 * Recommends settings from assumed rates and your goals. Throws `InvalidInput` for invalid goals.
 *
 * @example
 * const advice = adviseAssuming(
 *   {
 *     ttlMs: 15_000,
 *     graceMs: 3_000,
 *     roundTripMs: 2,
 *     roundTripTailMs: 50,
 *     failuresPer1000: 1,
 *     pausesPerDay: 2,
 *     pauseMs: 500,
 *     crashesPerMonth: 1,
 *   },
 *   goalsOf('batch'),
 * );
 */
export function adviseAssuming(assumed: Assumptions, wanted: Goals): Advice {
  const { ttlMs, graceMs } = assumed;
  const current = {
    ...{ ttlMs, graceMs, heartbeatMs: ttlMs / BEATS_PER_TTL },
    guardMs: defaultGuardMs(ttlMs),
  };
  return adviseOn({ model: assumedModel(assumed), current, goals: checkedGoals(wanted) });
}

export function assumedModel(assumed: Assumptions): LeaseModel {
  const { ttlMs, roundTripMs, roundTripTailMs, failuresPer1000 } = assumed;
  return {
    renewals: Number.POSITIVE_INFINITY,
    failure: exactly(Math.min(0.99, failuresPer1000 / 1_000)),
    roundTripMs,
    roundTripTailMs,
    roundTripVarianceMs2: ((roundTripTailMs - roundTripMs) / TAIL_DEVIATIONS) ** 2,
    // A try without a reply ends at its time limit, which grows with the ttl.
    failedTripMs: (wanted) => Math.max(roundTripMs, (roundTripTailMs * wanted) / ttlMs),
    pauses: new AssumedPauses(assumed.pausesPerDay / HOURS_PER_DAY, assumed.pauseMs),
    crashes: Number.POSITIVE_INFINITY,
    crashesPerHour: exactly(assumed.crashesPerMonth / HOURS_PER_MONTH),
    takeoverDelayMs: 1 + roundTripMs,
    checkpointCostMs: undefined,
    overrunMs: undefined,
    leasesPerSession: 1,
    driftPpm: DRIFT_PPM,
    sessionHours: Number.POSITIVE_INFINITY,
  };
}

/** Exponential: the distribution that assumes only a mean. */
class AssumedPauses implements PauseRates {
  readonly count: number = Number.POSITIVE_INFINITY;
  readonly tail: PauseRates['tail'];
  readonly #perHour: number;
  readonly #meanMs: number;

  constructor(perHour: number, meanMs: number) {
    this.#perHour = perHour;
    this.#meanMs = meanMs;
    const survival = (ms: number): number => Math.exp(-ms / meanMs);
    this.tail = { kind: 'assumed', threshold: 0, survival };
  }

  perHour(ms: number): ReturnType<PauseRates['perHour']> {
    return exactly(this.#perHour * this.tail.survival(ms));
  }

  lengthAt(perHour: number): number {
    return Math.max(0, this.#meanMs * Math.log(this.#perHour / perHour));
  }

  atLeast(): PauseRates {
    return this;
  }
}

// Decides if there is enough evidence. A wide interval matters only if the advice depends on it. So
// the choice is made again at both ends, and the cost of the current choice there is compared with
// the best one.

/** Evidence that a log lacks. */
export interface MissingEvidence {
  /** The kind of evidence. */
  readonly what: 'settings' | 'renewals' | 'crashes' | 'pauses' | 'checkpoints';
  /** The evidence in the log, for people. */
  readonly have: string;
  /** The evidence that is needed, for people. */
  readonly need: string;
  /** The further hours to record with as many sessions. Absent if that does not help. */
  readonly recordHours?: number;
}

const RENEWALS_MIN = 500;
/** A choice that costs no more than this above the best counts as equally good. */
const REGRET_MAX = 0.1;

/** The evidence without which no advice is possible. */
function missingAtAll(model: LeaseModel, hasSettings: boolean): readonly MissingEvidence[] {
  const missing: MissingEvidence[] = [];
  if (!hasSettings) {
    missing.push({
      what: 'settings',
      have: 'no report of a session’s settings',
      need: 'a log from `recordLeases` given to `openSession` as its observer',
    });
  }
  if (model.renewals < RENEWALS_MIN) {
    const perHour = model.sessionHours > 0 ? model.renewals / model.sessionHours : 0;
    missing.push({
      what: 'renewals',
      have: `${model.renewals} renewals`,
      need: `${RENEWALS_MIN}, to know how late one in a thousand is`,
      ...(perHour > 0 ? { recordHours: (RENEWALS_MIN - model.renewals) / perHour } : {}),
    });
  }
  if (model.renewals >= RENEWALS_MIN && model.sessionHours <= 0) {
    missing.push({
      what: 'renewals',
      have: `${model.renewals} renewals, in no time`,
      need: 'reports with advancing times; check whether the clock was set back',
    });
  }
  return missing;
}

/** The evidence that is too vague for this choice, judged at both ends of the uncertainty. */
function missingFor(
  model: LeaseModel,
  goals: Goals,
  chosen: LeaseSettings,
): readonly MissingEvidence[] {
  return [...missingCrashes(model, goals, chosen), ...missingPauses(model, goals, chosen)];
}

/** Checks if goals conflict only because of pauses that were never observed. */
function missingInConflict(model: LeaseModel, goals: Goals): readonly MissingEvidence[] {
  if (model.pauses.count >= TAIL_MIN) return [];
  const found = search({ ...model, pauses: model.pauses.atLeast() }, goals);
  return found.kind === 'found' ? [pausesNeeded(model, goals)] : [];
}

/** With too few pauses for a distribution, only the observed time bounds the longer ones. */
function missingPauses(
  model: LeaseModel,
  goals: Goals,
  chosen: LeaseSettings,
): readonly MissingEvidence[] {
  if (model.pauses.count >= TAIL_MIN) return [];
  const { high } = lossesByPauses(renewing(model, chosen, chosen.ttlMs), model.pauses);
  const isWithin = high * HOURS_PER_1000_DAYS <= goals.falseLossesPer1000LeaseDaysMax;
  return isWithin ? [] : [pausesNeeded(model, goals)];
}

function pausesNeeded(model: LeaseModel, goals: Goals): MissingEvidence {
  const { sessionHours, pauses } = model;
  const limit = goals.falseLossesPer1000LeaseDaysMax;
  const hours = (estimateRate(pauses.count, 1).high * HOURS_PER_1000_DAYS) / limit;
  return {
    what: 'pauses',
    have: `${pauses.count} pauses in ${sessionHours.toPrecision(3)} hours of sessions`,
    need: `${TAIL_MIN} of them to know how long they get, or ${Math.ceil(hours)} hours without another: false losses must stay within ${limit} per 1,000 lease-days`,
    ...(hours > sessionHours ? { recordHours: hours - sessionHours } : {}),
  };
}

function missingCrashes(
  model: LeaseModel,
  goals: Goals,
  chosen: LeaseSettings,
): readonly MissingEvidence[] {
  const { crashesPerHour, crashes, sessionHours } = model;
  if (spreadOf(crashesPerHour) <= SPREAD_MAX) return [];
  const ends = [crashesPerHour.low, crashesPerHour.high].map((rate) => ({
    ...model,
    crashesPerHour: exactly(rate),
  }));
  const regret = Math.max(...ends.map((end) => regretOf(end, goals, chosen)));
  if (regret <= REGRET_MAX) return [];
  return [
    {
      what: 'crashes',
      have: `${crashes} crashes in ${sessionHours.toPrecision(3)} hours of sessions`,
      need: `${EVENTS_ENOUGH}: the advice depends on how often holders die, and would cost up to ${Math.round(regret * 100)} % more than the best`,
      recordHours: Math.max(0, EVENTS_ENOUGH / crashesPerHour.mean - sessionHours),
    },
  ];
}

/** The additional cost of this choice over the best one, under this model. */
function regretOf(model: LeaseModel, goals: Goals, chosen: LeaseSettings): number {
  const found = search(model, goals);
  if (found.kind === 'conflict') return 0;
  return judge(model, goals, chosen).cost / found.best.cost - 1;
}
