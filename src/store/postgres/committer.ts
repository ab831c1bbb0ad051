// Group commit: what is asked for while a flush is under way becomes the next flush.
//
//   push ──▶ queue ──▶ lane free: up to 1,000 items ──▶ flush: one statement ──▶ answers
//                          ▲                             │
//                          └── items that share a key    └─▶ not done: each is settled alone
//
//   - No waiting window. Items of one turn of the event loop go together.
//   - Items that share a key (an execution) are never in flight together and keep their order, so no
//     statement writes a row twice, which PostgreSQL would drop without a word.
//   - A rejected item fails alone: a flush that the server rejects is halved until it is found.
//   - A flush is repeated while it is known not to have been applied, or may have been (the verbs are
//     no-ops when repeated), for a bounded time.

import { AssertionFault } from '../../support/assert.ts';
import type { Clock } from '../../support/clock.ts';
import { Fault, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import { jittered, type Random } from '../../support/random.ts';
import type { Timers } from '../../support/timer.ts';
import { type Committing, type Database, type Queries, stateOf, toFault } from './database.ts';

export interface Surroundings {
  readonly timers: Timers;
  readonly random: Random;
  readonly clock: Clock;
}

export interface Flusher<Item, Answer> {
  /** How many flushes at once. */
  readonly lanes: number;
  /** What must not be in flight twice: one key, or several. */
  keysOf(item: Item): string | readonly string[];
  /** False for what brings more than a flush can do. */
  fits(item: Item): boolean;
  /** One transaction for all of them, in the order of their keys; undefined for what it did not do. */
  flush(items: readonly Item[]): Promise<readonly (Answer | undefined)[]>;
  /** What the flush did not do: done after all, or refused, in a transaction of its own. */
  settle(item: Item): Promise<Answer>;
}

interface Queued<Item, Answer> {
  readonly item: Item;
  readonly keys: string | readonly string[];
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: unknown) => void;
  /** A flush with it got no answer: it may have been applied. */
  isUnclear: boolean;
}

const FLUSH_ITEMS_MAX = 1_000;

/** How long a flush is repeated before its items are told. */
const REPEAT_MS_MAX = 10_000;

const PAUSE_MS_MAX = 250;

/** Faults that are not about one item of a flush. */
const OF_ALL: ReadonlySet<string> = new Set([
  'store-unavailable',
  'outcome-unknown',
  'store-sealed',
]);

/** Lost races for a unique key: with a newer snapshot the loser sees the winner. */
const CLASHES_MAX = 5;

export class Committer<Item, Answer> {
  readonly #flusher: Flusher<Item, Answer>;
  readonly #surroundings: Surroundings;
  #queue: Queued<Item, Answer>[] = [];
  readonly #busy: Set<string> = new Set();
  #lanesFree: number;
  #pending = 0;
  #isScheduled = false;
  #isClosed = false;
  #idle: (() => void) | undefined;

  constructor(flusher: Flusher<Item, Answer>, surroundings: Surroundings) {
    this.#flusher = flusher;
    this.#surroundings = surroundings;
    this.#lanesFree = flusher.lanes;
  }

  push(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closedFault());
      const keys = this.#flusher.keysOf(item);
      this.#pending += 1;
      this.#queue.push({ item, keys, resolve, reject, isUnclear: false });
      this.#schedule();
    });
  }

  /** Nothing new is taken; resolves when everything is answered. */
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
    this.#surroundings.timers.soon(() => {
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

  /** What comes first of each key, as long as none of its keys is in flight. */
  #take(): readonly Queued<Item, Answer>[] {
    const batch: Queued<Item, Answer>[] = [];
    const left: Queued<Item, Answer>[] = [];
    const passedBy = new Set<string>();
    let seen = 0;
    for (const queued of this.#queue) {
      if (batch.length >= FLUSH_ITEMS_MAX) break;
      seen += 1;
      const isFree =
        !hasAny(this.#busy, queued.keys) && (passedBy.size === 0 || !hasAny(passedBy, queued.keys));
      addAll(isFree ? this.#busy : passedBy, queued.keys);
      if (!isFree) left.push(queued);
      else if (this.#flusher.fits(queued.item)) batch.push(queued);
      else this.#settleAlone(queued);
    }
    this.#queue = seen === this.#queue.length ? left : left.concat(this.#queue.slice(seen));
    // Rows are locked in this order by everybody, so that flushes never wait for each other in a ring.
    return batch.sort((a, b) => (a.keys < b.keys ? -1 : 1));
  }

  /** Never rejects; answers every item of the batch or queues it again. */
  async #run(batch: readonly Queued<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#repeat(batch);
      for (const [index, queued] of batch.entries()) {
        const answer = answers[index];
        if (answer === undefined) this.#settleAlone(queued);
        else this.#succeed(queued, answer);
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

  async #repeat(batch: readonly Queued<Item, Answer>[]): Promise<readonly (Answer | undefined)[]> {
    const items = batch.map(({ item }) => item);
    return persistently(this.#surroundings, async () => {
      try {
        return await this.#flusher.flush(items);
      } catch (fault) {
        if (fault instanceof OutcomeUnknown) for (const queued of batch) queued.isUnclear = true;
        throw fault;
      }
    });
  }

  /** Off the lane: its neighbours and the next flush do not wait for it. */
  #settleAlone(queued: Queued<Item, Answer>): void {
    persistently(this.#surroundings, () => this.#flusher.settle(queued.item)).then(
      (answer) => this.#succeed(queued, answer),
      this.#failing(queued),
    );
  }

  #failing(queued: Queued<Item, Answer>): (reason: unknown) => void {
    return (reason) => {
      const fault =
        queued.isUnclear && reason instanceof StoreUnavailable ? unclear(reason) : reason;
      this.#leave(queued);
      queued.reject(fault);
    };
  }

  #succeed(queued: Queued<Item, Answer>, answer: Answer): void {
    this.#leave(queued);
    queued.resolve(answer);
  }

  #leave(queued: Queued<Item, Answer>): void {
    deleteAll(this.#busy, queued.keys);
    this.#pending -= 1;
    if (this.#pending === 0) this.#idle?.();
    // What shares a key with it may have waited for nothing else.
    if (this.#queue.length > 0) this.#schedule();
  }
}

/**
 * Repeats what is known not to have been applied or is a no-op when repeated, with short, jittered
 * pauses, for a bounded time.
 */
export async function persistently<Answer>(
  surroundings: Surroundings,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const { clock, random, timers } = surroundings;
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
      const isTime = clock.monotonicMs() - startedMs >= REPEAT_MS_MAX;
      if (again && isTime) throw isUnclear ? unclear(fault) : fault;
    }
    await timers.pause(jittered(random, Math.min(2 ** tries, PAUSE_MS_MAX), 0.5));
  }
}

/**
 * One transaction, repeated as above; but not when it may have been applied. For what is not a no-op when repeated,
 * and can be asked for afterwards.
 */
export async function commitOnce<Answer>(
  on: {
    readonly database: Database;
    readonly surroundings: Surroundings;
    readonly boundaries: Committing;
  },
  work: (queries: Queries) => Promise<Answer>,
): Promise<Answer> {
  const done = await persistently(on.surroundings, async () => {
    try {
      const body = async (queries: Queries) => ({ keep: true, result: await work(queries) });
      return { answer: await on.database.attempt(body, on.boundaries) };
    } catch (fault) {
      if (fault instanceof OutcomeUnknown) return { fault };
      throw fault;
    }
  });
  if ('fault' in done) throw done.fault;
  return done.answer;
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

/** Not done this time; but an earlier try may have been. */
function unclear(fault: Fault): OutcomeUnknown {
  return fault instanceof OutcomeUnknown
    ? fault
    : new OutcomeUnknown(fault.message, { cause: fault });
}

export function isClash(fault: unknown): boolean {
  return fault instanceof Fault && stateOf(fault) === '23505';
}

export function closedFault(): StoreUnavailable {
  return new StoreUnavailable('The PostgreSQL store is closed. Nothing was done; open it again.');
}
