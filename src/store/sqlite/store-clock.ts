// The clock of the SQLite and memory stores. It reads the host's clock and never runs backwards,
// even when an operator sets the host's clock back.
//
//   C-2  now = max(high-water mark in the file, host's wall clock, last reading + monotonic time since).
//        Each write transaction reads and writes the mark, so it holds across processes and
//        restarts. The monotonic part keeps time moving when the wall clock goes back.
//   C-8  If the mark went back, an operator set it back. All processes follow it.
//   C-9  A wall clock can be further ahead than the machine's uptime explains. The store follows it
//        only after it has stayed there for two minutes, so a brief jump has no effect (ADR 0041).

import { type Clock, type Instant, toInstant } from '../../support/clock.ts';

/** The clock follows smaller corrections at once. */
const JUMP_MS = 10_000;
const HOLD_MS = 120_000;

/** The minimum time between two samples of store time and uptime. */
const SEE_MS = 1_000;

/** Store time and the machine's uptime at the same moment. */
interface Seen {
  readonly at: number;
  readonly boot: string;
  readonly bootMs: number;
}

export class StoreClock {
  readonly #clock: Clock;
  // Store time and monotonic time at the same moment. The anchor moves only when another source is
  // ahead: adding up many small steps would add up their rounding errors.
  #anchorAt = Number.NEGATIVE_INFINITY;
  #anchorTick = 0;
  #highWater = 0;
  #seen: Seen | undefined;
  #seenTick = Number.NEGATIVE_INFINITY;
  #jumpTick: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `kept` is the sample that the writer of the mark stored with it. */
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

  /** The sample to store with the mark. */
  get kept(): string | null {
    return this.#seen === undefined ? null : JSON.stringify(this.#seen);
  }

  /**
   * Milliseconds by which store time is ahead of the host's clock. Negative while the store holds
   * back a jump.
   */
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

  /**
   * The store time that the machine's uptime predicts. Undefined after a reboot, or where the host
   * does not report its uptime.
   */
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
