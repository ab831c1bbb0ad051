// A simulated process: its own clock, its own timers, its own dice. A crash cuts it off: its timers
// never fire, no reply reaches it, and nothing that its code still does reaches the world.

import type { Clock } from '../../src/support/clock.ts';
import { type Random, seededRandom } from '../../src/support/random.ts';
import type { Timers } from '../../src/support/timer.ts';
import type { Receiver, Scheduler } from './scheduler.ts';

/** The wall clock at the start of every run: 2030. */
const EPOCH_MS = Date.UTC(2030, 0, 1);

/** The longest time that a call of `soon` waits for its turn of the event loop. */
const TURN_MS = 0.2;
/** The least time between two of them. */
const ORDER_MS = 1e-6;

export class SimulatedProcess implements Receiver {
  readonly name: string;
  readonly clock: Clock = { wallMs: () => this.#wallMs(), monotonicMs: () => this.#monotonicMs() };
  readonly timers: Timers = {
    after: (ms, callback) => this.#after(ms, callback),
    pause: (ms, signal) => this.#pause(ms, signal),
    soon: (callback) => this.#soon(callback),
  };
  readonly random: Random;
  /** The speed of its clocks: 1 is exact. */
  readonly rate: number;
  readonly bornMs: number;
  readonly #scheduler: Scheduler;
  #state: Receiver['state'] = 'running';
  #held: (() => void)[] = [];
  /** The time of the last call of `soon`. */
  #turnMs = 0;
  #wallOffsetMs: number;
  /** Time that the monotonic clock missed, because the machine slept. */
  #sleptMs = 0;

  constructor(
    scheduler: Scheduler,
    given: {
      readonly name: string;
      readonly seed: number;
      readonly rate?: number;
      readonly skewMs?: number;
    },
  ) {
    const { name, seed, rate = 1, skewMs = 0 } = given;
    this.#scheduler = scheduler;
    this.name = name;
    this.random = streamOf(seed, name);
    this.rate = rate;
    this.bornMs = scheduler.nowMs;
    this.#wallOffsetMs = skewMs;
  }

  get state(): Receiver['state'] {
    return this.#state;
  }

  hold(run: () => void): void {
    this.#held.push(run);
  }

  /** Nothing that its code does from here on reaches the world. */
  crash(): void {
    this.#state = 'dead';
    this.#held = [];
  }

  /** Its events wait until the pause ends. If the machine sleeps, its monotonic clock stands still. */
  freeze(ms: number, isSleep: boolean): void {
    if (this.#state !== 'running') return;
    this.#state = 'paused';
    this.#scheduler.after(ms, undefined, () => {
      if (this.#state !== 'paused') return;
      this.#state = 'running';
      if (isSleep) this.#sleptMs += ms;
      const held = this.#held;
      this.#held = [];
      for (const [nth, run] of held.entries()) this.#scheduler.after(nth * ORDER_MS, this, run);
    });
  }

  /** Sets its wall clock forward or back. */
  stepWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  #wallMs(): number {
    return EPOCH_MS + this.#scheduler.nowMs * this.rate + this.#wallOffsetMs;
  }

  #monotonicMs(): number {
    return (this.#scheduler.nowMs - this.#sleptMs) * this.rate;
  }

  /** Calls of `soon` keep their order, as in an event loop: the engine counts turns. */
  #soon(callback: () => void): void {
    const { nowMs } = this.#scheduler;
    this.#turnMs = Math.max(this.#turnMs + ORDER_MS, nowMs + this.random.next() * TURN_MS);
    this.#scheduler.after(this.#turnMs - nowMs, this, callback);
  }

  #after(ms: number, callback: () => void): () => void {
    return this.#scheduler.after(Math.ceil(ms) / this.rate, this, callback);
  }

  #pause(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const cancel = this.#after(ms, () => {
        signal?.removeEventListener('abort', wake);
        resolve();
      });
      const wake = (): void => {
        cancel();
        resolve();
      };
      signal?.addEventListener('abort', wake, { once: true });
    });
  }
}

/** A stream of random numbers of its own for each name, so that one user does not shift another. */
export function streamOf(seed: number, name: string): Random {
  let hash = 0x811c9dc5 ^ seed;
  for (let at = 0; at < name.length; at += 1) {
    hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  }
  return seededRandom(hash ^ Math.imul(seed, 0x9e3779b1));
}
