// Store time of etcd, which has no clock to ask: a number that is kept in a key and moved on by its
// clients, never faster than time passes.
//
//   C-10 The key holds the time at which it was written. Whoever has seen it adds what its own monotonic
//        clock counted since, which is never too much, and may write the sum as the new value, if nobody
//        has written one meanwhile. So store time never goes back, nobody's wall clock matters, and two
//        clients differ by no more than it takes to hear of a write.
//
// See ADR 0016.

import { type Clock, type Instant, toInstant } from '../../support/clock.ts';
import type { RevisionLog } from './revision-log.ts';

/**
 * Written anew by whoever writes anything when it is older than this. What passes between a write and its
 * being heard of is lost to store time, and whoever wrote last hears of it soonest: it goes first.
 */
const TICK_MS = 5_000;
const TICK_OF_OTHERS_MS = 15_000;

export class StoreClock {
  readonly #clock: Clock;
  readonly #log: RevisionLog;
  #at = 0;
  #revision = 0;
  #seenTick = 0;
  #isOwn = false;

  constructor(clock: Clock, log: RevisionLog) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Of the key as it was last seen; what is decided by time is conditioned on it. */
  get revision(): number {
    return this.#revision;
  }

  get tick(): number {
    return this.#clock.monotonicMs();
  }

  get isOld(): boolean {
    return this.tick - this.#seenTick >= (this.#isOwn ? TICK_MS : TICK_OF_OTHERS_MS);
  }

  now(): Instant {
    return toInstant(this.#at + Math.floor(this.tick - this.#seenTick));
  }

  /** No later than this, when the key was written by a request that left at `sentTick`. */
  latest(sentTick: number): Instant {
    return toInstant(this.#at + Math.ceil(this.tick - sentTick));
  }

  /** For the first client of a new store: people should recognise the time. */
  get origin(): Instant {
    return toInstant(this.#clock.wallMs());
  }

  /** Another history begins, with other revisions. */
  clear(): void {
    this.#revision = 0;
    this.#isOwn = false;
  }

  /** The key was written with this value at this revision, which is known since some time. */
  learn(at: number, revision: number, isOwn = false): void {
    if (revision < this.#revision) return;
    this.#isOwn = isOwn || (this.#isOwn && revision === this.#revision);
    if (revision === this.#revision) return;
    this.#at = at;
    this.#revision = revision;
    this.#seenTick = this.#log.knownSince(revision) ?? this.tick;
  }
}
