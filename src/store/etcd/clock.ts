import { type Clock, type Instant, toInstant } from '../../support/clock.ts';

// Records when this process learned of which revision. Every reply of etcd contains the store's
// revision, so everything up to it was written by then. This shows how long a key has stayed
// unchanged, measured by one clock only.

interface Known {
  readonly revision: number;
  readonly tick: number;
}

/** Drops some entries that are closer together than this. */
const RESOLUTION_MS = 50;
const ENTRIES_MAX = 2_048;

export class RevisionLog {
  #entries: Known[] = [];
  #newest = 0;

  /** The greatest known revision. */
  get newest(): number {
    return this.#newest;
  }

  /**
   * Ticks must not go back. Dropping an entry only makes the next one count for it, which is later.
   */
  note(revision: number, tick: number): void {
    if (revision <= this.#newest) return;
    this.#newest = revision;
    const entries = this.#entries;
    const last = entries.at(-1);
    const before = entries.at(-2);
    const isSameMoment = last !== undefined && last.tick === tick;
    const isCrowded = before !== undefined && tick - before.tick < RESOLUTION_MS;
    if (isSameMoment || isCrowded) entries.pop();
    entries.push({ revision, tick });
    if (entries.length > ENTRIES_MAX) this.#thinOut();
  }

  /** Starts another history. Knowledge of the previous one does not apply to it. */
  clear(): void {
    this.#entries = [];
    this.#newest = 0;
  }

  /** Returns since when this revision was known to be written, or undefined if it is unknown. */
  knownSince(revision: number): number | undefined {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#entries[middle]?.revision ?? 0) < revision) low = middle + 1;
      else high = middle;
    }
    return this.#entries[low]?.tick;
  }

  /** Drops every second entry of the older half. */
  #thinOut(): void {
    const half = ENTRIES_MAX / 2;
    this.#entries = this.#entries.filter((_, index) => index >= half || index % 2 === 1);
  }
}

// Store time of etcd, which has no clock of its own. It is a number in a key. Clients advance it,
// never faster than time passes.
//
//   C-10 The key holds the time at which it was written. A client that has seen it adds the time
//        that its own monotonic clock counted since, which is never too much. It may write the
//        sum as the new value if no other client wrote meanwhile. So store time never goes back,
//        no wall clock matters, and two clients differ by at most the delay of a write.
//
// See ADR 0016.

/**
 * Any writer updates the key when it is older than this. Store time loses the delay between a write
 * and its arrival at other clients. The last writer learns of it first, so it has the shorter
 * period.
 */
const TICK_MS = 5_000;
const TICK_OF_OTHERS_MS = 15_000;

export class RevisionClock {
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

  /** The revision of the key as last seen. Decisions about time are conditioned on it. */
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

  /** An upper bound of store time, for a key written by a request that left at `sentTick`. */
  latest(sentTick: number): Instant {
    return toInstant(this.#at + Math.ceil(this.tick - sentTick));
  }

  /** The first time of a new store, from the wall clock, so that people recognise it. */
  get origin(): Instant {
    return toInstant(this.#clock.wallMs());
  }

  /** Starts another history, with other revisions. */
  clear(): void {
    this.#revision = 0;
    this.#isOwn = false;
  }

  /** Learns that the key was written with this value at this revision. The log knows since when. */
  learn(at: number, revision: number, isOwn = false): void {
    if (revision < this.#revision) return;
    this.#isOwn = isOwn || (this.#isOwn && revision === this.#revision);
    if (revision === this.#revision) return;
    this.#at = at;
    this.#revision = revision;
    this.#seenTick = this.#log.knownSince(revision) ?? this.tick;
  }
}
