import type { Clock } from './clock.ts';
import type { Timers } from './timer.ts';

// A few at a time under each name, in the order in which they came, so that a name with many requests under way has no
// more of what is costly at a time than one with few.

interface Line {
  underWay: number;
  readonly waiting: (() => void)[];
}

export class Turns {
  readonly #width: number;
  readonly #lines: Map<string, Line> = new Map();

  /** How many are under way at a time under one name. */
  constructor(width: number) {
    this.#width = width;
  }

  async take<Answer>(name: string, act: () => Promise<Answer>): Promise<Answer> {
    const line = this.#lines.get(name) ?? { underWay: 0, waiting: [] };
    this.#lines.set(name, line);
    if (line.underWay < this.#width) line.underWay += 1;
    // Whoever ends gives its place to the first that waits.
    else await new Promise<void>((resolve) => line.waiting.push(resolve));
    try {
      return await act();
    } finally {
      const next = line.waiting.shift();
      if (next === undefined) line.underWay -= 1;
      else next();
      if (line.underWay === 0) this.#lines.delete(name);
    }
  }
}

/** Works on all of them, so many at once. When one fails, no other is begun, and those under way are waited for. */
export async function inLanes<Item, Result>(
  items: readonly Item[],
  lanes: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const left = [...items];
  const results: Result[] = [];
  const lane = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      try {
        results.push(await work(item));
      } catch (fault) {
        left.length = 0;
        throw fault;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: lanes }, lane));
  const failed = ends.find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return results;
}

interface LookOptions<Found> {
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

/** A name counts as active for this long after it last began something. */
const ACTIVE_MS = 1_000;

interface Share {
  underWay: number;
  readonly waiting: { readonly weight: number; readonly begin: () => void }[];
}

/**
 * Fair shares of one process. While two or more names are active, each has at most its share under way, so that a name
 * with many requests leaves as much of the process to others as one with few. A name that is active alone has no limit.
 */
export class FairShares {
  readonly #share: number;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #timers: Pick<Timers, 'soon'>;
  readonly #shares: Map<string, Share> = new Map();
  /** The last two names that began something, the newest first. */
  #newest = { name: '', atMs: Number.NEGATIVE_INFINITY };
  #other = this.#newest;

  constructor(
    share: number,
    { clock, timers }: { clock: Pick<Clock, 'monotonicMs'>; timers: Pick<Timers, 'soon'> },
  ) {
    this.#share = share;
    this.#clock = clock;
    this.#timers = timers;
  }

  /** Resolves when it may begin, to a function that ends it. A weight above the share begins alone. */
  async enter(name: string, weight = 1): Promise<() => void> {
    this.#noteActive(name);
    const share = this.#shares.get(name) ?? { underWay: 0, waiting: [] };
    this.#shares.set(name, share);
    if (share.waiting.length === 0 && this.#hasRoom(name, share, weight)) share.underWay += weight;
    else await new Promise<void>((begin) => share.waiting.push({ weight, begin }));
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      // In the next turn of the event loop: requests that end at once must not pass through their share in one turn.
      this.#timers.soon(() => {
        share.underWay -= weight;
        this.#beginNext(name, share);
      });
    };
  }

  #beginNext(name: string, share: Share): void {
    for (let next = share.waiting[0]; next !== undefined; next = share.waiting[0]) {
      if (!this.#hasRoom(name, share, next.weight)) return;
      share.waiting.shift();
      share.underWay += next.weight;
      next.begin();
    }
    if (share.underWay === 0) this.#shares.delete(name);
  }

  #hasRoom(name: string, { underWay }: Share, weight: number): boolean {
    return underWay === 0 || underWay + weight <= this.#share || !this.#isContended(name);
  }

  #isContended(name: string): boolean {
    const { atMs } = this.#newest.name === name ? this.#other : this.#newest;
    return this.#clock.monotonicMs() - atMs < ACTIVE_MS;
  }

  #noteActive(name: string): void {
    if (this.#newest.name !== name) this.#other = this.#newest;
    this.#newest = { name, atMs: this.#clock.monotonicMs() };
  }
}
