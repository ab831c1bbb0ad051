// While another transaction holds an old snapshot, index entries of claimed executions stay, and
// each claim walks past them. So a claimer remembers the ready time of the first execution in each
// spot and starts there. From time to time it starts at the beginning again, because an execution
// may have become ready with an earlier time (X-11, ADR 0040). Fast claims remember nothing.

import type { Clock } from '../../../support/clock.ts';
import type { Queries } from '../database.ts';
import { OLDEST_SNAPSHOT, type SnapshotRow } from '../oldest-snapshot.ts';

/** A faster whole claim is not worth avoiding. */
const SLOW_MS = 25;

/**
 * The pause after a whole claim, as a multiple of its duration. Whole claims then take at most an
 * eleventh of a claimer's time.
 */
const REST_TIMES = 10;

/** A snapshot is old if this many transactions began after it. */
const TRANSACTIONS_MIN = 100;

/** The minimum time between two checks for an old snapshot. */
const POLL_MS = 5_000;

/** Claimers that were silent for this long are gone. */
const FORGET_MS = 60_000;

interface Spot {
  readonly source: number;
  readonly pipeline: string;
  readonly lane: number;
  readonly project: string;
}

interface Memory {
  /** Spots and floors as JSON. Null before the first whole claim that returned them. */
  known: string | null;
  walkedAtMs: number;
  tookMs: number;
  dueAtMs: number;
}

/** The part of the indexes that one claim reads. */
export interface View {
  readonly name: string;
  readonly beganAtMs: number;
  /** Null for a whole claim. */
  readonly known: string | null;
  readonly readsFloors: boolean;
}

export class ClaimFloors {
  readonly #queries: Queries;
  readonly #clock: Clock;
  readonly #memories: Map<string, Memory> = new Map();
  #polledAtMs = Number.NEGATIVE_INFINITY;
  #isHeld = false;

  constructor(queries: Queries, clock: Clock) {
    this.#queries = queries;
    this.#clock = clock;
  }

  /** `name` contains everything that decides which spots a claim visits. */
  begin(name: string): View {
    const beganAtMs = this.#clock.monotonicMs();
    const memory = this.#memories.get(name);
    const known = memory !== undefined && beganAtMs < memory.dueAtMs ? memory.known : null;
    return { name, beganAtMs, known, readsFloors: memory !== undefined };
  }

  /**
   * Call this after a successful claim. After a partial claim, it returns the milliseconds until
   * the next whole claim.
   */
  async done(
    view: View,
    { floors, claimed }: { readonly floors: string | null; readonly claimed: number },
  ): Promise<number | undefined> {
    const memory = this.#memories.get(view.name);
    if (view.known === null) {
      await this.#walked(view, memory, floors);
      return undefined;
    }
    if (memory === undefined) return undefined;
    memory.known = floors ?? memory.known;
    // The claimer is idle, so it looks for missed work as often as a whole claim takes.
    if (claimed === 0) memory.dueAtMs = Math.min(memory.dueAtMs, memory.walkedAtMs + memory.tookMs);
    return Math.max(0, memory.dueAtMs - this.#clock.monotonicMs());
  }

  /** A whole claim that was cancelled is not repeated at once. */
  failed({ name, known, beganAtMs }: View): void {
    const memory = this.#memories.get(name);
    if (memory !== undefined && known === null) this.#rest(memory, beganAtMs);
  }

  async #walked(view: View, memory: Memory | undefined, floors: string | null): Promise<void> {
    const { name, beganAtMs } = view;
    const isSlow = this.#clock.monotonicMs() - beganAtMs >= SLOW_MS;
    if (!isSlow || !(await this.#isSnapshotOld())) {
      this.#memories.delete(name);
      return;
    }
    if (memory === undefined) {
      this.#forgetGone();
      this.#memories.set(name, { known: null, walkedAtMs: 0, tookMs: 0, dueAtMs: 0 });
      return;
    }
    memory.known = merged(memory.known, floors);
    this.#rest(memory, beganAtMs);
  }

  #rest(memory: Memory, beganAtMs: number): void {
    memory.walkedAtMs = this.#clock.monotonicMs();
    memory.tookMs = memory.walkedAtMs - beganAtMs;
    memory.dueAtMs = memory.walkedAtMs + REST_TIMES * memory.tookMs;
  }

  async #isSnapshotOld(): Promise<boolean> {
    const now = this.#clock.monotonicMs();
    if (now - this.#polledAtMs < POLL_MS) return this.#isHeld;
    this.#polledAtMs = now;
    // If this read fails, the claimed executions must still be returned.
    const reading = this.#queries.rows<SnapshotRow & object>(OLDEST_SNAPSHOT, []).catch(() => []);
    const [row] = await reading;
    this.#isHeld = (row?.transactions ?? 0) >= TRANSACTIONS_MIN;
    return this.#isHeld;
  }

  #forgetGone(): void {
    const before = this.#clock.monotonicMs() - FORGET_MS;
    for (const [name, { dueAtMs }] of this.#memories) {
      if (dueAtMs < before) this.#memories.delete(name);
    }
  }
}

/** Keeps spots that were empty during a whole claim, because they may fill a moment later. */
function merged(before: string | null, found: string | null): string {
  const spots = new Map<string, Spot>();
  for (const text of [before, found]) {
    for (const spot of JSON.parse(text ?? '[]') as readonly Spot[]) {
      spots.set(JSON.stringify([spot.source, spot.pipeline, spot.lane, spot.project]), spot);
    }
  }
  return JSON.stringify([...spots.values()]);
}
