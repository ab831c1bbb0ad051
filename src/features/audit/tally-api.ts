// Counts the writes that the store refused to the workers of this process, and reports the counts to
// the store (J-10 … J-12). Without refusals there is no timer.
//
//   note ──▶ counts by execution, fence and verb ──▶ a second later: 500 lines, the oldest first
//                    ▲                                      │ failed: counts on, for the next report
//                    └──────────────────────────────────────┘

import type { CoordinatorStore } from '../../store/contract/execution-store.ts';
import type { Clock } from '../../support/clock.ts';
import { StoreUnavailable } from '../../support/fault.ts';
import type { Timers } from '../../support/timer.ts';
import { REFUSED_WRITES_MAX, type RefusedWriteKey, type RefusedWrites } from './model.ts';

export type RefusedWriteNote = Omit<RefusedWrites, 'count' | 'firstAgoMs' | 'lastAgoMs'>;

interface Line extends RefusedWriteNote {
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

const EVERY_MS = 1_000;
const LINES_MAX = 500;
/** The longest time that a silent store may delay a close. */
const CLOSE_MS_MAX = 2_000;

export class RefusalTally {
  readonly #store: CoordinatorStore;
  readonly #timers: Timers;
  readonly #clock: Clock;
  /** In the order of the last occurrence, oldest first. */
  readonly #lines: Map<string, Line> = new Map();
  #flushing: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(store: CoordinatorStore, timers: Timers, clock: Clock) {
    this.#store = store;
    this.#timers = timers;
    this.#clock = clock;
  }

  /** The number of lines that the store does not have yet. */
  get waiting(): number {
    return this.#lines.size;
  }

  note(refused: RefusedWriteNote): void {
    if (this.#isClosed) return;
    const ms = this.#clock.monotonicMs();
    this.#add({ ...refused, count: 1, firstMs: ms, lastMs: ms });
    this.#schedule();
  }

  /** Reports everything counted until now, as far as the store accepts it. */
  async flush(): Promise<void> {
    await this.#flushing;
    for (let left = this.#lines.size; left > 0; ) {
      await this.#flushOnce();
      if (this.#lines.size >= left) return;
      left = this.#lines.size;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#lines.size === 0 && this.#flushing === undefined) return;
    const done = new AbortController();
    const flushed = this.flush().finally(() => done.abort());
    await Promise.race([flushed, this.#timers.pause(CLOSE_MS_MAX, done.signal)]);
  }

  #schedule(): void {
    if (this.#isClosed || this.#lines.size === 0) return;
    this.#cancelTimer ??= this.#timers.after(EVERY_MS, () => {
      this.#cancelTimer = undefined;
      void this.#flushOnce().then(() => this.#schedule());
    });
  }

  /** Never rejects, and runs once at a time. */
  #flushOnce(): Promise<void> {
    this.#flushing ??= this.#flushBatch().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #flushBatch(): Promise<void> {
    const lines = [...this.#lines].slice(0, LINES_MAX);
    if (lines.length === 0) return;
    for (const [key] of lines) this.#lines.delete(key);
    const now = this.#clock.monotonicMs();
    try {
      await this.#store.executions.noteRefusals(
        lines.map(([, line]) => refusedWritesOf(line, now)),
      );
    } catch (fault) {
      // The store may have counted these lines. Do not report them again, because a count must
      // never be too high.
      if (!(fault instanceof StoreUnavailable)) return;
      for (const [, line] of lines) this.#add(line);
    }
  }

  #add(line: Line): void {
    const key = keyOf(line);
    const known = this.#lines.get(key);
    // Move the line to the end, because the map keeps the order of the last occurrence.
    this.#lines.delete(key);
    this.#lines.set(key, known === undefined ? line : merged(known, line));
    if (this.#lines.size <= REFUSED_WRITES_MAX) return;
    for (const first of this.#lines.keys()) {
      this.#lines.delete(first);
      return;
    }
  }
}

function merged(a: Line, b: Line): Line {
  const newer = b.lastMs >= a.lastMs ? b : a;
  return { ...newer, count: a.count + b.count, firstMs: Math.min(a.firstMs, b.firstMs) };
}

function keyOf({ execution, fence, verb }: RefusedWriteKey): string {
  return `${execution} ${fence} ${verb}`;
}

function refusedWritesOf({ firstMs, lastMs, ...line }: Line, now: number): RefusedWrites {
  const ago = (ms: number): number => Math.max(0, Math.round(now - ms));
  return { ...line, firstAgoMs: ago(firstMs), lastAgoMs: ago(lastMs) };
}
