// Shared memory through which the heartbeat thread and the main thread exchange data without
// waiting.
//
//   main → thread   when its event loop last turned; the end of an announced busy section
//   thread → main   the end of authority, on both clocks, and the notice that it applies to
//
// The thread writes its numbers together, under a version that is odd while they change, so that a
// reader never mixes two updates.

import type { Moment } from '../lease/authority.ts';

const TURNED_AT = 0;
const BUSY_UNTIL = 1;
const UNTIL_MONOTONIC = 2;
const UNTIL_WALL = 3;
const NOTICES = 4;
const NUMBERS = 5;
const VERSION_AT = NUMBERS * Float64Array.BYTES_PER_ELEMENT;

export class ThreadPulse {
  readonly memory: SharedArrayBuffer;
  readonly #numbers: Float64Array;
  readonly #version: Int32Array;

  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(VERSION_AT + 8)) {
    this.memory = memory;
    this.#numbers = new Float64Array(memory, 0, NUMBERS);
    this.#version = new Int32Array(memory, VERSION_AT, 1);
  }

  /** Notes that the event loop turned. */
  turn(monotonicMs: number): void {
    this.#numbers[TURNED_AT] = monotonicMs;
  }

  /** Announces that the main thread will be busy until this time at most. */
  busyUntil(monotonicMs: number): void {
    this.#numbers[BUSY_UNTIL] = monotonicMs;
  }

  /** Returns true if the main thread has turned recently, or is within its announced time. */
  isProved(monotonicMs: number, stallMs: number): boolean {
    const turnedAt = this.#numbers[TURNED_AT] ?? 0;
    const busyUntil = this.#numbers[BUSY_UNTIL] ?? 0;
    return monotonicMs - turnedAt <= stallMs || monotonicMs <= busyUntil;
  }

  publish(sentAt: Moment, usableMs: number, notices: number): void {
    Atomics.add(this.#version, 0, 1);
    this.#numbers[UNTIL_MONOTONIC] = sentAt.monotonicMs + usableMs;
    this.#numbers[UNTIL_WALL] = sentAt.wallMs + usableMs;
    this.#numbers[NOTICES] = notices;
    Atomics.add(this.#version, 0, 1);
  }

  /**
   * The time since authority ended. Undefined before there was any, negative while there is some.
   */
  overForMs(now: Moment): number | undefined {
    if (Atomics.load(this.#version, 0) === 0) return undefined;
    const byMonotonic = now.monotonicMs - (this.#numbers[UNTIL_MONOTONIC] ?? 0);
    const byWall = now.wallMs - (this.#numbers[UNTIL_WALL] ?? 0);
    return Math.max(byMonotonic, byWall);
  }

  /** The rest of the authority published with this notice; zero for any other notice. */
  remainingMs(now: Moment, notices: number): number {
    const before = Atomics.load(this.#version, 0);
    const byMonotonic = (this.#numbers[UNTIL_MONOTONIC] ?? 0) - now.monotonicMs;
    const byWall = (this.#numbers[UNTIL_WALL] ?? 0) - now.wallMs;
    const under = this.#numbers[NOTICES];
    const torn = before % 2 !== 0 || Atomics.load(this.#version, 0) !== before;
    return torn || under !== notices ? 0 : Math.min(byMonotonic, byWall);
  }
}
