// Store time of SQLite, on a file or in memory: the host's clock, which people set back, made into one that only
// goes on.
//
//   C-2  now = max(high-water mark in the file, host's wall clock, last answer + monotonic elapsed).
//        The mark is read and written in each write transaction, so it holds over processes and
//        restarts; the monotonic part keeps time moving in a process whose wall clock went back.
//   C-8  A mark that went back was set back by an operator: all processes follow.
//   C-9  A wall clock that is further than the machine's own time since its start explains is followed only when it
//        has stayed there for two minutes: a clock that was wrong for a moment leaves nothing behind (ADR 0041).

import { type Clock, type Instant, toInstant } from '../support/clock.ts';

/** Corrections that are smaller are followed at once. */
const JUMP_MS = 10_000;
const HOLD_MS = 120_000;

/** How often the two times are read together. */
const SEE_MS = 1_000;

/** Store time, and the machine's time since its start, of one moment. */
interface Seen {
  readonly at: number;
  readonly boot: string;
  readonly bootMs: number;
}

export class StoreClock {
  readonly #clock: Clock;
  // Store time and monotonic time of the same moment. Moved only when the others are ahead: adding
  // up many small steps would add up their rounding.
  #anchorAt = Number.NEGATIVE_INFINITY;
  #anchorTick = 0;
  #highWater = 0;
  #seen: Seen | undefined;
  #seenTick = Number.NEGATIVE_INFINITY;
  #jumpTick: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `kept` is what the process that wrote the mark kept with it. */
  read(highWater: number, kept: string | null = null): Instant {
    const tick = this.#clock.monotonicMs();
    if (highWater < this.#highWater) this.#begin();
    this.#highWater = highWater;
    const elapsed = this.#anchorAt + (tick - this.#anchorTick);
    const now = this.#follow(Math.max(highWater, elapsed), tick, kept);
    if (now > elapsed) {
      this.#anchorAt = now;
      this.#anchorTick = tick;
    }
    this.#see(now, tick);
    return toInstant(now);
  }

  /** To be kept with the mark. */
  get kept(): string | null {
    return this.#seen === undefined ? null : JSON.stringify(this.#seen);
  }

  /** By how much store time is ahead of the host's clock; below zero while a jump is not followed. */
  get leadMs(): number {
    const now = this.#anchorAt + (this.#clock.monotonicMs() - this.#anchorTick);
    return Math.trunc(now - this.#clock.wallMs());
  }

  #begin(): void {
    this.#anchorAt = Number.NEGATIVE_INFINITY;
    this.#seen = undefined;
    this.#seenTick = Number.NEGATIVE_INFINITY;
    this.#jumpTick = undefined;
  }

  #follow(least: number, tick: number, kept: string | null): number {
    const wall = this.#clock.wallMs();
    const expected = wall > least + JUMP_MS ? this.#expected(kept) : undefined;
    if (expected === undefined || wall <= expected + JUMP_MS) {
      this.#jumpTick = undefined;
      return Math.max(wall, least);
    }
    this.#jumpTick ??= tick;
    if (tick - this.#jumpTick >= HOLD_MS) return wall;
    return Math.max(expected, least);
  }

  /** By the machine's time since its start; undefined where that was another start, or is not known. */
  #expected(kept: string | null): number | undefined {
    const seen = this.#seen ?? (kept === null ? undefined : (JSON.parse(kept) as Seen));
    const started = seen && this.#clock.sinceBoot?.();
    if (started === undefined || started.boot !== seen?.boot) return undefined;
    return seen.at + Math.max(0, started.ms - seen.bootMs);
  }

  #see(at: number, tick: number): void {
    if (tick - this.#seenTick < SEE_MS) return;
    const started = this.#clock.sinceBoot?.();
    if (started === undefined) return;
    this.#seen = { at, boot: started.boot, bootMs: started.ms };
    this.#seenTick = tick;
  }
}
