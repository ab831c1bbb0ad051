// A histogram of durations, in buckets that grow by two percent. Any quantile is within one percent
// of its value, the space is bounded, and two histograms can be merged.

const GROWTH = 1.02;
const SMALLEST = 0.001;
const LOG_GROWTH = Math.log(GROWTH);

/**
 * Durations in buckets that grow by two percent: quantiles are within one percent.
 *
 * @example
 * const { takeoverDelay } = observationsOf([]);
 * console.log(takeoverDelay.quantile(0.99));
 */
export class Histogram {
  readonly #counts: Map<number, number> = new Map();
  #count = 0;
  #sum = 0;
  #max = 0;

  /** The number of added values. */
  get count(): number {
    return this.#count;
  }

  /** The mean of the values; zero if there are none. */
  get mean(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count;
  }

  /** The greatest value. */
  get max(): number {
    return this.#max;
  }

  /** Adds a value. Negative ones count as zero. */
  add(value: number): void {
    const bucket = value <= SMALLEST ? 0 : 1 + Math.ceil(Math.log(value / SMALLEST) / LOG_GROWTH);
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + 1);
    this.#count += 1;
    this.#sum += Math.max(0, value);
    this.#max = Math.max(this.#max, value);
  }

  /** Adds all values of another histogram. */
  merge(other: Histogram): void {
    for (const [bucket, count] of other.#counts) {
      this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count);
    }
    this.#count += other.#count;
    this.#sum += other.#sum;
    this.#max = Math.max(this.#max, other.#max);
  }

  /** Returns the value that this fraction of values does not exceed; zero if there are none. */
  quantile(share: number): number {
    const rank = share * this.#count;
    let seen = 0;
    for (const [bucket, count] of [...this.#counts].sort(([a], [b]) => a - b)) {
      seen += count;
      if (seen >= rank) return Math.min(middleOf(bucket), this.#max);
    }
    return this.#max;
  }
}

function middleOf(bucket: number): number {
  if (bucket === 0) return 0;
  const top = SMALLEST * GROWTH ** (bucket - 1);
  return (2 * top) / (1 + GROWTH);
}
