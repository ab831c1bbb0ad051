import type { Clock } from './clock.ts';

export interface LookOptions<Found> {
  readonly look: () => Promise<Found>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** For so long after it ended a look is good enough for others. */
  readonly ageMs: number;
}

/** Callers share one look: while it is under way, and for a while after it ended. */
export class SharedLook<Found> {
  readonly #options: LookOptions<Found>;
  #last: Promise<Found> | undefined;
  #endedMs: number | undefined;

  constructor(options: LookOptions<Found>) {
    this.#options = options;
  }

  found(): Promise<Found> {
    const { look, clock, ageMs } = this.#options;
    const isOld = this.#endedMs !== undefined && clock.monotonicMs() - this.#endedMs >= ageMs;
    if (this.#last !== undefined && !isOld) return this.#last;
    this.#endedMs = undefined;
    this.#last = look().finally(() => {
      this.#endedMs = clock.monotonicMs();
    });
    return this.#last;
  }
}
