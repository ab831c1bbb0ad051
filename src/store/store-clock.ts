// Store time of the memory store and of SQLite: the host's clock, which people set back, made into one that
// only goes on.
//
//   C-2  now = max(high-water mark in the file, host's wall clock, last answer + monotonic elapsed).
//        The mark is read and written in each write transaction, so it holds over processes and
//        restarts; the monotonic part keeps time moving in a process whose wall clock went back.
//   C-8  A mark that went back was set back by an operator: all processes follow.

import { type Clock, type Instant, toInstant } from '../support/clock.ts';

export class StoreClock {
  readonly #clock: Clock;
  // Store time and monotonic time of the same moment. Moved only when the others are ahead: adding
  // up many small steps would add up their rounding.
  #anchorAt = Number.NEGATIVE_INFINITY;
  #anchorTick = 0;
  #highWater = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  read(highWater: number): Instant {
    const tick = this.#clock.monotonicMs();
    if (highWater < this.#highWater) this.#anchorAt = Number.NEGATIVE_INFINITY;
    this.#highWater = highWater;
    const ahead = Math.max(highWater, this.#clock.wallMs());
    const elapsed = this.#anchorAt + (tick - this.#anchorTick);
    if (ahead <= elapsed) return toInstant(elapsed);
    this.#anchorAt = ahead;
    this.#anchorTick = tick;
    return toInstant(ahead);
  }
}
