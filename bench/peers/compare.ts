// Compares what the subjects of a row reached, round by round.

import { median } from '../measure.ts';

/** The rounds of one subject in one row. */
export interface Rounds {
  /** A rate, or the median latency in milliseconds, of each round. */
  readonly values: readonly number[];
  readonly unit: '/s' | 'ms';
}

export interface Comparison {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  /** Some rounds are above 1 and others below it, so neither is faster. */
  readonly isUnclear: boolean;
}

/** How many times as fast as `other` it is. Subjects of one round ran one after the other. */
export function comparedWith(rounds: Rounds, other: Rounds): Comparison {
  const ratios = rounds.values.flatMap((value, nth) => {
    const beside = other.values[nth];
    if (beside === undefined) return [];
    return [rounds.unit === '/s' ? value / beside : beside / value];
  });
  const [lowest, highest] = [Math.min(...ratios), Math.max(...ratios)];
  return { median: median(ratios), lowest, highest, isUnclear: lowest <= 1 && highest >= 1 };
}

/** The ratio with its interval, or no ratio if the interval hides it. */
export function shownComparison({ median: ratio, lowest, highest, isUnclear }: Comparison): string {
  const interval = `(${shown(lowest)} – ${shown(highest)})`;
  return isUnclear ? `not clear ${interval}` : `${shown(ratio)} ${interval}`;
}

export function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-GB') : value.toPrecision(2);
}
