import type { Clock } from './clock.ts';
import type { Timers } from './timer.ts';

// Runs a few operations at a time under each name, in order of arrival. So a name with many
// requests never has more costly work in progress than a name with few.

interface Queue {
  underWay: number;
  readonly waiting: (() => void)[];
}

export class Turns {
  readonly #width: number;
  readonly #together: number;
  /** The name that began least recently comes first. */
  readonly #queues: Map<string, Queue> = new Map();
  #underWay = 0;

  /** The most operations in progress under one name, and under all names together. */
  constructor(width: number, together: number = Infinity) {
    this.#width = width;
    this.#together = together;
  }

  async take<Value>(name: string, operation: () => Promise<Value>): Promise<Value> {
    const queue = this.#queues.get(name) ?? { underWay: 0, waiting: [] };
    if (queue.underWay < this.#width && this.#underWay < this.#together) this.#begin(name, queue);
    else await new Promise<void>((resolve) => this.#wait(name, queue, resolve));
    try {
      return await operation();
    } finally {
      queue.underWay -= 1;
      this.#underWay -= 1;
      if (queue.underWay === 0 && queue.waiting.length === 0) this.#queues.delete(name);
      this.#beginNext();
    }
  }

  #wait(name: string, queue: Queue, begin: () => void): void {
    queue.waiting.push(begin);
    if (!this.#queues.has(name)) this.#queues.set(name, queue);
  }

  #begin(name: string, queue: Queue): void {
    queue.underWay += 1;
    this.#underWay += 1;
    this.#queues.delete(name);
    this.#queues.set(name, queue);
  }

  /** Passes the turn of an operation that ended to the name with the fewest in progress. */
  #beginNext(): void {
    let next: { readonly name: string; readonly queue: Queue } | undefined;
    for (const [name, queue] of this.#queues) {
      const fewest = next?.queue.underWay ?? this.#width;
      if (queue.waiting.length > 0 && queue.underWay < fewest) next = { name, queue };
    }
    if (next === undefined) return;
    this.#begin(next.name, next.queue);
    next.queue.waiting.shift()?.();
  }
}

interface Receiving {
  bytes: number;
  readonly waiting: { readonly bytes: number; readonly begin: () => void }[];
}

/** Limits the bytes in progress under each name. Further ones wait, in order of arrival. */
export class ByteTurns {
  readonly #max: number;
  readonly #names: Map<string, Receiving> = new Map();

  constructor(max: number) {
    this.#max = max;
  }

  /** Resolves when they may begin, with the function that frees them. One larger than `max` begins alone. */
  async take(name: string, bytes: number): Promise<() => void> {
    const own = this.#names.get(name) ?? { bytes: 0, waiting: [] };
    this.#names.set(name, own);
    if (own.waiting.length === 0 && this.#hasRoom(own, bytes)) own.bytes += bytes;
    else await new Promise<void>((begin) => own.waiting.push({ bytes, begin }));
    return () => this.#free(name, bytes);
  }

  /** Takes them now. Returns the function that frees them, or undefined if there is no room. */
  tryTake(name: string, bytes: number): (() => void) | undefined {
    const own = this.#names.get(name) ?? { bytes: 0, waiting: [] };
    if (own.waiting.length > 0 || !this.#hasRoom(own, bytes)) return undefined;
    own.bytes += bytes;
    this.#names.set(name, own);
    return () => this.#free(name, bytes);
  }

  #hasRoom(own: Receiving, bytes: number): boolean {
    return own.bytes === 0 || own.bytes + bytes <= this.#max;
  }

  #free(name: string, bytes: number): void {
    const own = this.#names.get(name);
    if (own === undefined) return;
    own.bytes -= bytes;
    for (let next = own.waiting[0]; next !== undefined; next = own.waiting[0]) {
      if (!this.#hasRoom(own, next.bytes)) return;
      own.waiting.shift();
      own.bytes += next.bytes;
      next.begin();
    }
    if (own.bytes === 0) this.#names.delete(name);
  }
}

/**
 * A bounded number of operations in progress, of which each name has a fair part: with two names, a
 * third of them each. So there is always room for one more name.
 */
export class FairSlots {
  readonly #max: number;
  readonly #taken: Map<string, number> = new Map();

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns the function that frees the slot, or undefined if the name has its part. */
  take(name: string): (() => void) | undefined {
    const taken = this.#taken.get(name) ?? 0;
    const names = this.#taken.size + (taken === 0 ? 1 : 0);
    if (taken >= Math.max(1, Math.floor(this.#max / (names + 1)))) return undefined;
    this.#taken.set(name, taken + 1);
    return () => this.#free(name);
  }

  #free(name: string): void {
    const left = (this.#taken.get(name) ?? 1) - 1;
    if (left === 0) this.#taken.delete(name);
    else this.#taken.set(name, left);
  }
}

/**
 * Works on all items, several at once. When one fails, starts no other, and waits for those in
 * progress.
 */
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

interface SharedReadOptions<Found> {
  readonly read: () => Promise<Found>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** The time after its end for which a result serves other callers. */
  readonly ageMs: number;
}

/** Callers share one query: while it is in progress, and for a while after it ended. */
export class SharedRead<Found> {
  readonly #options: SharedReadOptions<Found>;
  #last: Promise<Found> | undefined;
  #endedMs: number | undefined;

  constructor(options: SharedReadOptions<Found>) {
    this.#options = options;
  }

  found(): Promise<Found> {
    const { read, clock, ageMs } = this.#options;
    const isOld = this.#endedMs !== undefined && clock.monotonicMs() - this.#endedMs >= ageMs;
    if (this.#last !== undefined && !isOld) return this.#last;
    this.#endedMs = undefined;
    this.#last = read().finally(() => {
      this.#endedMs = clock.monotonicMs();
    });
    return this.#last;
  }
}

/** A name counts as active for this long after its last request. */
const ACTIVE_MS = 1_000;

/** While two names are active, a turn lasts at least this long, so that begun requests can end. */
const TURN_MS = 1;
/** A turn that lasts longer than this shows a busy event loop. */
const LATE_MS = 2 * TURN_MS;

/** This many bytes, sent or received, cost as much as a small request. */
const BYTES_PER_WEIGHT = 8 * 1024;

export function weightOfBytes(bytes: number): number {
  return Math.floor(bytes / BYTES_PER_WEIGHT);
}

/** Below this size, a message's own weight covers its parsing. */
export const LARGE_BYTES = 64 * 1024;

/** Parsing JSON blocks the event loop, and costs this many times as much as moving its bytes. */
const PARSING_PER_BYTE = 8;

/** The weight of parsing a message that has arrived. */
export function weightOfParsing(bytes: number): number {
  return bytes <= LARGE_BYTES ? 0 : weightOfBytes(bytes * PARSING_PER_BYTE);
}

interface Begun {
  /** The weight begun in this turn, and the excess of earlier turns. */
  weight: number;
  readonly waiting: { readonly weight: number; readonly begin: () => void }[];
}

/**
 * Fair shares of the event loop. In one turn, a name may begin requests of a bounded weight, and
 * fewer while another name is active. So a name with many requests leaves as much to others as a
 * name with few. While the event loop is busy, each begins half as much: a request passes the loop
 * several times, and waits each time for what the other names have begun. A request heavier than a
 * share takes the share of the next turns too. The rest waits for later turns, in order. Nothing is
 * held, so the duration of a request and a vanished caller do not matter.
 */
export class FairShares {
  readonly #share: { readonly alone: number; readonly beside: number };
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #timers: Pick<Timers, 'after' | 'soon'>;
  readonly #names: Map<string, Begun> = new Map();
  /** The last two names that asked, the newest first. */
  #newest = { name: '', atMs: Number.NEGATIVE_INFINITY };
  #other = this.#newest;
  #turnSinceMs = 0;
  /** The last turn was late. */
  #isBusy = false;

  constructor(
    share: { readonly alone: number; readonly beside: number },
    {
      clock,
      timers,
    }: { clock: Pick<Clock, 'monotonicMs'>; timers: Pick<Timers, 'after' | 'soon'> },
  ) {
    this.#share = share;
    this.#clock = clock;
    this.#timers = timers;
  }

  /** Resolves when the request may begin. */
  async begin(name: string, weight = 1): Promise<void> {
    this.#noteActive(name);
    const begun = this.#names.get(name) ?? { weight: 0, waiting: [] };
    if (this.#names.size === 0) this.#awaitTurn();
    this.#names.set(name, begun);
    if (begun.waiting.length === 0 && this.#hasRoom(name, begun, weight)) begun.weight += weight;
    else await new Promise<void>((begin) => begun.waiting.push({ weight, begin }));
  }

  /** Adds to what the name has begun: a cost that shows only while or after a request runs. */
  charge(name: string, weight: number): void {
    const begun = this.#names.get(name) ?? { weight: 0, waiting: [] };
    if (this.#names.size === 0) this.#awaitTurn();
    this.#names.set(name, begun);
    begun.weight += weight;
  }

  #awaitTurn(): void {
    const turn = (): void => this.#nextTurn();
    this.#turnSinceMs = this.#clock.monotonicMs();
    if (this.#isContended(this.#newest.name)) this.#timers.after(TURN_MS, turn);
    else this.#timers.soon(turn);
  }

  #nextTurn(): void {
    this.#isBusy = this.#clock.monotonicMs() - this.#turnSinceMs > LATE_MS;
    for (const [name, begun] of this.#names) {
      begun.weight = Math.max(0, begun.weight - this.#shareOf(name));
      if (begun.waiting.length === 0 && begun.weight === 0) this.#names.delete(name);
      for (let next = begun.waiting[0]; next !== undefined; next = begun.waiting[0]) {
        if (!this.#hasRoom(name, begun, next.weight)) break;
        begun.waiting.shift();
        begun.weight += next.weight;
        next.begin();
      }
    }
    if (this.#names.size > 0) this.#awaitTurn();
  }

  /** The first request of a turn begins, however heavy it is. */
  #hasRoom(name: string, begun: Begun, weight: number): boolean {
    return begun.weight === 0 || begun.weight + weight <= this.#shareOf(name);
  }

  #shareOf(name: string): number {
    if (!this.#isContended(name)) return this.#share.alone;
    return this.#isBusy ? this.#share.beside / 2 : this.#share.beside;
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
