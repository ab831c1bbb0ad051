// What somebody wants from their leases: prices for what goes wrong, and limits that no price buys.
// The presets are a start; every number can be replaced.

import { InvalidInput } from '../../support/fault.ts';
import { nearestName } from '../../support/nearest.ts';
import { rejectUnknownOptions } from '../../support/options.ts';

/** In any one currency; only their ratios matter. */
export interface Prices {
  readonly storeWrite: number;
  /** One second in which a key of a dead holder has no other. */
  readonly downSecond: number;
  /** A live holder loses its term. */
  readonly falseLoss: number;
  /** One second of work that is done again. */
  readonly reworkSecond: number;
}

export interface Goals {
  readonly prices: Prices;
  readonly takeoverP99MsMax: number;
  readonly falseLossesPer1000LeaseDaysMax: number;
  /** The longest effect that is begun under `assertHeld`. */
  readonly longestEffectMs: number;
  readonly ttlMsMin: number;
  readonly ttlMsMax: number;
  /** How often waiters look that are not told when a key will be free; this library's are. */
  readonly pollMs: number;
  /** Heartbeats for each ttl that may be chosen. The keeper sends three. */
  readonly beatsPerTtl: readonly number[];
}

export type Preset = 'batch' | 'interactive' | 'money';

const SHARED = {
  longestEffectMs: 0,
  ttlMsMin: 1_000,
  ttlMsMax: 600_000,
  pollMs: 0,
  beatsPerTtl: [3],
} as const;

export const PRESETS: Readonly<Record<Preset, Goals>> = {
  /** Throughput: being down for a minute is cheap, doing work twice is not. */
  batch: {
    ...SHARED,
    prices: { storeWrite: 0.001, downSecond: 0.2, falseLoss: 30, reworkSecond: 1 },
    takeoverP99MsMax: 120_000,
    falseLossesPer1000LeaseDaysMax: 100,
  },
  /** Somebody is waiting for an answer. */
  interactive: {
    ...SHARED,
    prices: { storeWrite: 0.001, downSecond: 5, falseLoss: 20, reworkSecond: 1 },
    takeoverP99MsMax: 15_000,
    falseLossesPer1000LeaseDaysMax: 500,
  },
  /** Every loss is an effect that somebody has to reconcile. */
  money: {
    ...SHARED,
    prices: { storeWrite: 0.001, downSecond: 1, falseLoss: 600, reworkSecond: 10 },
    takeoverP99MsMax: 60_000,
    falseLossesPer1000LeaseDaysMax: 10,
  },
};

export function goalsOf(preset: string, changes: Partial<Goals> = {}): Goals {
  const known = Object.keys(PRESETS);
  const goals = Object.hasOwn(PRESETS, preset) ? PRESETS[preset as Preset] : undefined;
  if (goals === undefined) {
    const nearest = nearestName(preset, known);
    const hint =
      nearest === undefined ? `Known: ${known.join(', ')}.` : `Did you mean "${nearest}"?`;
    throw new InvalidInput(`There is no preset "${preset}". ${hint}`);
  }
  rejectUnknownOptions('goals', changes, Object.keys(goals));
  return { ...goals, ...changes };
}
