import { type Clock, type Instant, toInstant } from '../../support/clock.ts';

// When this process knew of which revision. Every answer of etcd says at which revision the store was;
// so by then everything up to that revision had been written. That is how long something has stood
// unchanged, counted by one clock only: no two clocks are compared.

interface Known {
  readonly revision: number;
  readonly tick: number;
}

/** Entries nearer to each other than this are not all kept. */
const RESOLUTION_MS = 50;
const ENTRIES_MAX = 2_048;

export class RevisionLog {
  #entries: Known[] = [];
  #newest = 0;

  /** The greatest revision heard of. */
  get newest(): number {
    return this.#newest;
  }

  /** Ticks must not go back. Leaving an entry out only makes later ones count for it. */
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

  /** Another history begins: what was known of the last one says nothing about it. */
  clear(): void {
    this.#entries = [];
    this.#newest = 0;
  }

  /** Since when it has been known that this revision was written; undefined when it is not known. */
  knownSince(revision: number): number | undefined {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#entries[middle]?.revision ?? 0) < revision) low = middle + 1;
      else high = middle;
    }
    return this.#entries[low]?.tick;
  }

  /** Every second entry of the older half goes. */
  #thinOut(): void {
    const half = ENTRIES_MAX / 2;
    this.#entries = this.#entries.filter((_, index) => index >= half || index % 2 === 1);
  }
}

// Store time of etcd, which has no clock to ask: a number that is kept in a key and moved on by its
// clients, never faster than time passes.
//
//   C-10 The key holds the time at which it was written. Whoever has seen it adds what its own monotonic
//        clock counted since, which is never too much, and may write the sum as the new value, if nobody
//        has written one meanwhile. So store time never goes back, nobody's wall clock matters, and two
//        clients differ by no more than it takes to hear of a write.
//
// See ADR 0016.

/**
 * Written anew by whoever writes anything when it is older than this. What passes between a write and its
 * being heard of is lost to store time, and whoever wrote last hears of it soonest: it goes first.
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
