// Group commit: items that arrive during a flush form the next flush.
//
//   push ──▶ queue ──▶ lane free: up to 1,000 items ──▶ flush: one statement ──▶ results
//                          ▲                             │
//                          └── items that share a key    └─▶ not done: each is settled alone
//
//   - No batching delay. Items of one turn of the event loop go together.
//   - Items that share a key (an execution) are never in flight together and keep their order. A
//     statement that wrote a row twice would silently lose one of the writes.
//   - A rejected item fails alone: a flush that the server rejects is halved until it is found.
//   - A flush repeats, for a bounded time, if it was not applied or may have been: repeating a verb
//     that was applied changes nothing.

import { AssertionFault } from '../../support/assert.ts';
import { type Clock, systemClock } from '../../support/clock.ts';
import { Fault, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import { wordsIn } from '../../support/options.ts';
import { jittered, type Random, systemRandom } from '../../support/random.ts';
import { systemTimers, type Timers } from '../../support/timer.ts';
import { type Committing, type Database, type Queries, stateOf, toFault } from './database.ts';

export interface StoreEnvironment {
  readonly timers: Timers;
  readonly random: Random;
  readonly clock: Clock;
}

export const SYSTEM: StoreEnvironment = {
  timers: systemTimers,
  random: systemRandom,
  clock: systemClock,
};

export interface Flusher<Item, Result> {
  /** The number of concurrent flushes. */
  readonly lanes: number;
  /** The longest time for which a flush repeats before its items fail; 10 s by default. */
  readonly repeatMs?: number;
  /** The key or keys that must not be in flight twice. */
  keysOf(item: Item): string | readonly string[];
  /** False for an item that needs more than a flush can do. */
  fits(item: Item): boolean;
  /** The length of the item's values. */
  charsOf(item: Item): number;
  /**
   * Writes all items in one transaction, in the order of their keys. Undefined for an item that it
   * did not write.
   */
  flush(items: readonly Item[]): Promise<readonly (Result | undefined)[]>;
  /** Writes or refuses an item that the flush did not write, in its own transaction. */
  settle(item: Item): Promise<Result>;
}

interface Queued<Item, Result> {
  readonly item: Item;
  readonly keys: string | readonly string[];
  readonly resolve: (result: Result) => void;
  readonly reject: (reason: unknown) => void;
  /** A flush with this item got no reply, so the item may have been applied. */
  isUnclear: boolean;
}

const FLUSH_ITEMS_MAX = 1_000;

/**
 * A flush takes no further item beyond this length. Otherwise large values of many callers could
 * form one statement that the server cancels or refuses, and all of them would fail.
 */
const FLUSH_CHARS_MAX = 8 * 1024 * 1024;

const REPEAT_MS_MAX = 10_000;

const PAUSE_MS_MAX = 250;

/** Faults that concern the whole flush, not one item. */
const OF_ALL: ReadonlySet<string> = new Set(
  wordsIn('store-unavailable outcome-unknown store-sealed'),
);

/** The number of lost races for a unique key. With a newer snapshot, the loser sees the winner. */
const CLASHES_MAX = 5;

export class Committer<Item, Result> {
  readonly #flusher: Flusher<Item, Result>;
  readonly #environment: StoreEnvironment;
  #queue: Queued<Item, Result>[] = [];
  readonly #busy: Set<string> = new Set();
  #lanesFree: number;
  #pending = 0;
  #isScheduled = false;
  #isClosed = false;
  #idle: (() => void) | undefined;

  constructor(flusher: Flusher<Item, Result>, environment: StoreEnvironment) {
    this.#flusher = flusher;
    this.#environment = environment;
    this.#lanesFree = flusher.lanes;
  }

  /** True if a flush begins at the end of this turn of the event loop. */
  get isDue(): boolean {
    return this.#isScheduled;
  }

  push(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closedFault());
      const keys = this.#flusher.keysOf(item);
      this.#pending += 1;
      this.#queue.push({ item, keys, resolve, reject, isUnclear: false });
      this.#schedule();
    });
  }

  /** Refuses new items, and resolves when all items have a result. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#pending === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#lanesFree === 0 || this.#queue.length === 0) return;
    this.#isScheduled = true;
    this.#environment.timers.soon(() => {
      this.#isScheduled = false;
      this.#start();
    });
  }

  #start(): void {
    if (this.#lanesFree === 0) return;
    const batch = this.#take();
    if (batch.length === 0) return;
    this.#lanesFree -= 1;
    void this.#run(batch).finally(() => {
      this.#lanesFree += 1;
      this.#schedule();
    });
  }

  /** Takes the first item of each key, if none of its keys is in flight. */
  #take(): readonly Queued<Item, Result>[] {
    const batch: Queued<Item, Result>[] = [];
    const left: Queued<Item, Result>[] = [];
    const passedBy = new Set<string>();
    let seen = 0;
    let chars = 0;
    for (const queued of this.#queue) {
      if (batch.length >= FLUSH_ITEMS_MAX || chars >= FLUSH_CHARS_MAX) break;
      seen += 1;
      const isFree =
        !hasAny(this.#busy, queued.keys) && (passedBy.size === 0 || !hasAny(passedBy, queued.keys));
      addAll(isFree ? this.#busy : passedBy, queued.keys);
      if (!isFree) left.push(queued);
      else if (this.#flusher.fits(queued.item)) {
        batch.push(queued);
        chars += this.#flusher.charsOf(queued.item);
      } else this.#settleAlone(queued);
    }
    this.#queue = seen === this.#queue.length ? left : left.concat(this.#queue.slice(seen));
    // All flushes lock rows in this order, so that they cannot deadlock.
    return batch.sort((a, b) => (a.keys < b.keys ? -1 : 1));
  }

  /** Never rejects. It settles every item of the batch or queues it again. */
  async #run(batch: readonly Queued<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#repeat(batch);
      for (const [index, queued] of batch.entries()) {
        const result = results[index];
        if (result === undefined) this.#settleAlone(queued);
        else this.#succeed(queued, result);
      }
    } catch (fault) {
      const mayBeOne = !(fault instanceof Fault && OF_ALL.has(fault.code));
      if (batch.length === 1 || !mayBeOne) {
        for (const queued of batch) this.#failing(queued)(fault);
        return;
      }
      const middle = Math.ceil(batch.length / 2);
      await this.#run(batch.slice(0, middle));
      await this.#run(batch.slice(middle));
    }
  }

  async #repeat(batch: readonly Queued<Item, Result>[]): Promise<readonly (Result | undefined)[]> {
    const items = batch.map(({ item }) => item);
    return this.#withRetries(async () => {
      try {
        return await this.#flusher.flush(items);
      } catch (fault) {
        if (fault instanceof OutcomeUnknown) for (const queued of batch) queued.isUnclear = true;
        throw fault;
      }
    });
  }

  /** Runs outside the lane, so neither its neighbours nor the next flush wait for it. */
  #settleAlone(queued: Queued<Item, Result>): void {
    this.#withRetries(() => this.#flusher.settle(queued.item)).then(
      (result) => this.#succeed(queued, result),
      this.#failing(queued),
    );
  }

  #withRetries<Value>(work: () => Promise<Value>): Promise<Value> {
    return withRetries(this.#environment, work, this.#flusher.repeatMs);
  }

  #failing(queued: Queued<Item, Result>): (reason: unknown) => void {
    return (reason) => {
      const fault =
        queued.isUnclear && reason instanceof StoreUnavailable ? unclear(reason) : reason;
      this.#leave(queued);
      queued.reject(fault);
    };
  }

  #succeed(queued: Queued<Item, Result>, result: Result): void {
    this.#leave(queued);
    queued.resolve(result);
  }

  #leave(queued: Queued<Item, Result>): void {
    deleteAll(this.#busy, queued.keys);
    this.#pending -= 1;
    if (this.#pending === 0) this.#idle?.();
    // Items that share a key with this one may now be free to start.
    if (this.#queue.length > 0) this.#schedule();
  }
}

/**
 * Repeats work that was not applied, or that is safe to repeat, with short, jittered pauses and for
 * a bounded time.
 */
export async function withRetries<Result>(
  environment: StoreEnvironment,
  work: () => Promise<Result>,
  repeatMs: number = REPEAT_MS_MAX,
): Promise<Result> {
  const { clock, random, timers } = environment;
  const startedMs = clock.monotonicMs();
  let isUnclear = false;
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (cause) {
      const fault = cause instanceof AssertionFault ? cause : toFault(cause);
      isUnclear ||= fault instanceof OutcomeUnknown;
      const again = fault instanceof OutcomeUnknown || fault instanceof StoreUnavailable;
      if (!again && !(isClash(fault) && tries <= CLASHES_MAX)) throw fault;
      const isTime = clock.monotonicMs() - startedMs >= repeatMs;
      if (again && isTime) throw isUnclear ? unclear(fault) : fault;
    }
    await timers.pause(jittered(random, Math.min(2 ** tries, PAUSE_MS_MAX), 0.5));
  }
}

/**
 * Runs one transaction and repeats it as above, but not if it may have been applied. For work that
 * is not safe to repeat, and whose outcome the caller can query later.
 */
export async function commitOnce<Result>(
  on: {
    readonly database: Database;
    readonly environment: StoreEnvironment;
    readonly boundaries: Committing;
  },
  work: (queries: Queries) => Promise<Result>,
): Promise<Result> {
  const done = await withRetries(on.environment, async () => {
    try {
      const body = async (queries: Queries) => ({ keep: true, result: await work(queries) });
      return { result: await on.database.attempt(body, on.boundaries) };
    } catch (fault) {
      if (fault instanceof OutcomeUnknown) return { fault };
      throw fault;
    }
  });
  if ('fault' in done) throw done.fault;
  return done.result;
}

type Keys = string | readonly string[];

function hasAny(set: ReadonlySet<string>, keys: Keys): boolean {
  return typeof keys === 'string' ? set.has(keys) : keys.some((key) => set.has(key));
}

function addAll(set: Set<string>, keys: Keys): void {
  if (typeof keys === 'string') set.add(keys);
  else for (const key of keys) set.add(key);
}

function deleteAll(set: Set<string>, keys: Keys): void {
  if (typeof keys === 'string') set.delete(keys);
  else for (const key of keys) set.delete(key);
}

/** This try was not applied, but an earlier one may have been. */
function unclear(fault: Fault): OutcomeUnknown {
  return fault instanceof OutcomeUnknown
    ? fault
    : new OutcomeUnknown(fault.message, { cause: fault });
}

export function isClash(fault: unknown): boolean {
  return fault instanceof Fault && stateOf(fault) === '23505';
}

export function closedFault(): StoreUnavailable {
  return new StoreUnavailable('The PostgreSQL store is closed. Nothing was done. Open it again.');
}
