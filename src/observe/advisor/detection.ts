// How long a key of a dead holder stays without one. A holder dies at any moment between two
// heartbeats, so its session has between ttl − heartbeat and ttl left; then a waiter has to notice
// and to ask. Waiters of this library are told when the key will be free and ask at that moment;
// `pollMs` is for those that only look every so often.

export interface DetectionInput {
  readonly ttlMs: number;
  /** From one renewal reaching the store to the next. */
  readonly periodMs: number;
  readonly pollMs: number;
  /** From the first try after the expiry to the grant. */
  readonly delayMs: number;
}

/** `share` of all takeovers are done after this long. */
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
