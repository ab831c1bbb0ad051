// The user's goals: prices for failures, and hard limits. The presets are a start; you can replace
// every number.

import { InvalidInput } from '../../support/fault.ts';
import { nearestName, rejectUnknownOptions, shown } from '../../support/options.ts';

/** Costs in any one currency. Only their ratios matter. */
export interface Prices {
  /** The cost of one write to the store. */
  readonly storeWrite: number;
  /** The cost of one second in which a key has no live holder. */
  readonly downSecond: number;
  /** The cost of a live holder losing its term. */
  readonly falseLoss: number;
  /** The cost of one second of work that is done again. */
  readonly reworkSecond: number;
}

/** Prices and limits. Durations are in milliseconds. */
export interface Goals {
  /** The prices. */
  readonly prices: Prices;
  /** The longest takeover time that 99 of 100 takeovers may need. */
  readonly takeoverP99MsMax: number;
  /** The most false losses per 1,000 days of holding a lease. */
  readonly falseLossesPer1000LeaseDaysMax: number;
  /** The longest effect that starts after `assertHeld`. */
  readonly longestEffectMs: number;
  /** The shortest ttl to consider. */
  readonly ttlMsMin: number;
  /** The longest ttl to consider. */
  readonly ttlMsMax: number;
  /** The poll interval of waiters that get no hint of when a key is free. Those of Holdfast do. */
  readonly pollMs: number;
  /** Heartbeats per ttl to consider. Holdfast sends three. */
  readonly beatsPerTtl: readonly number[];
}

/**
 * A preset of goals: `batch` for throughput, `interactive` for fast takeover, `money` for few false
 * losses.
 */
export type Preset = 'batch' | 'interactive' | 'money';

const SHARED = {
  longestEffectMs: 0,
  ttlMsMin: 1_000,
  ttlMsMax: 600_000,
  pollMs: 0,
  beatsPerTtl: [3],
} as const;

/** The goals of each preset. */
export const PRESETS: Readonly<Record<Preset, Goals>> = {
  /** Throughput: being down for a minute is cheap, doing work twice is not. */
  batch: {
    ...SHARED,
    prices: { storeWrite: 0.001, downSecond: 0.2, falseLoss: 30, reworkSecond: 1 },
    takeoverP99MsMax: 120_000,
    falseLossesPer1000LeaseDaysMax: 100,
  },
  /** A person waits for the result. */
  interactive: {
    ...SHARED,
    prices: { storeWrite: 0.001, downSecond: 5, falseLoss: 20, reworkSecond: 1 },
    takeoverP99MsMax: 15_000,
    falseLossesPer1000LeaseDaysMax: 500,
  },
  /** Every loss is an effect that a person must reconcile. */
  money: {
    ...SHARED,
    prices: { storeWrite: 0.001, downSecond: 1, falseLoss: 600, reworkSecond: 10 },
    takeoverP99MsMax: 60_000,
    falseLossesPer1000LeaseDaysMax: 10,
  },
};

/**
 * Returns the goals of a preset with your changes. Throws `InvalidInput` for an unknown preset or
 * invalid goals.
 *
 * @example
 * const goals = goalsOf('interactive', { takeoverP99MsMax: 10_000 });
 */
export function goalsOf(preset: string, changes: Partial<Goals> = {}): Goals {
  const known = Object.keys(PRESETS);
  const goals = Object.hasOwn(PRESETS, preset) ? PRESETS[preset as Preset] : undefined;
  if (goals === undefined) {
    const nearest = nearestName(preset, known);
    const hint =
      nearest === undefined ? `Known: ${known.join(', ')}.` : `Did you mean "${nearest}"?`;
    throw new InvalidInput(`There is no preset "${preset}". ${hint}`);
  }
  return checkedGoals({ ...goals, ...changes });
}

/** Refuses impossible goals by name. A search for them would not end, or return a wrong result. */
export function checkedGoals(goals: Goals): Goals {
  rejectUnknownOptions('goals', goals, Object.keys(PRESETS.batch));
  rejectUnknownOptions('prices', goals.prices, Object.keys(PRESETS.batch.prices));
  const { storeWrite, downSecond, falseLoss, reworkSecond } = goals.prices;
  within('prices.storeWrite', storeWrite, { above: 0 });
  within('prices.downSecond', downSecond, { min: 0 });
  within('prices.falseLoss', falseLoss, { min: 0 });
  within('prices.reworkSecond', reworkSecond, { above: 0 });
  within('takeoverP99MsMax', goals.takeoverP99MsMax, { above: 0 });
  within('falseLossesPer1000LeaseDaysMax', goals.falseLossesPer1000LeaseDaysMax, { above: 0 });
  within('longestEffectMs', goals.longestEffectMs, { min: 0 });
  within('pollMs', goals.pollMs, { min: 0 });
  within('ttlMsMin', goals.ttlMsMin, { min: TTL_MS.min, max: TTL_MS.max });
  within('ttlMsMax', goals.ttlMsMax, { min: goals.ttlMsMin, max: TTL_MS.max });
  if (!Array.isArray(goals.beatsPerTtl) || goals.beatsPerTtl.length === 0) {
    throw new InvalidInput('beatsPerTtl must be a list of at least one number.');
  }
  // One heartbeat per ttl comes too late. More than the number of retries makes no sense.
  for (const beats of goals.beatsPerTtl) within('beatsPerTtl', beats, { above: 1, max: 20 });
  return goals;
}

/** The range that a store allows. */
const TTL_MS = { min: 10, max: 604_800_000 } as const;

function within(
  name: string,
  value: unknown,
  range: { readonly min?: number; readonly above?: number; readonly max?: number },
): void {
  const { min = Number.NEGATIVE_INFINITY, above = Number.NEGATIVE_INFINITY } = range;
  const { max = Number.MAX_VALUE } = range;
  if (typeof value === 'number' && value >= min && value > above && value <= max) return;
  const bounds = [
    ...(range.min === undefined ? [] : [`at least ${range.min}`]),
    ...(range.above === undefined ? [] : [`greater than ${range.above}`]),
    ...(range.max === undefined ? [] : [`at most ${range.max}`]),
  ];
  throw new InvalidInput(`${name} must be a number, ${bounds.join(' and ')}; got ${shown(value)}.`);
}
