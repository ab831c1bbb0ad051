import type { Clock } from './clock.ts';

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
