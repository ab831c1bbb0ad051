// While another transaction holds an old snapshot, the entries of all that was claimed since stay in the indexes, and a
// claim that begins at their start walks past them. So a claimer remembers where the first ready execution of each spot
// was and begins there, and now and then begins at the start again, since something may have become ready with an
// earlier time (X-11, ADR 0040). Claims that are fast remember nothing.

import type { Clock } from '../../../support/clock.ts';
import type { Queries } from '../database.ts';
import { OLDEST_SNAPSHOT, type SnapshotRow } from '../oldest-snapshot.ts';

/** A whole claim that is faster is not worth avoiding. */
const SLOW_MS = 25;

/** Whole claims take at most an eleventh of the time of one who claims. */
const REST_TIMES = 10;

/** A snapshot that so many transactions began after is old. */
const TRANSACTIONS_MIN = 100;

/** How often it is asked whether there is one. */
const LOOK_MS = 5_000;

/** Claimers that are not heard of for so long have gone. */
const FORGET_MS = 60_000;

interface Spot {
  readonly source: number;
  readonly pipeline: string;
  readonly lane: number;
  readonly project: string;
}

interface Memory {
  /** Spots and floors, as JSON; null before the first whole claim that asked for them. */
  known: string | null;
  walkedAtMs: number;
  tookMs: number;
  dueAtMs: number;
}

/** How one claim is to look. */
export interface View {
  readonly name: string;
  readonly beganAtMs: number;
  /** Null: all of it. */
  readonly known: string | null;
  readonly asksFloors: boolean;
}

export class ClaimFloors {
  readonly #queries: Queries;
  readonly #clock: Clock;
  readonly #memories: Map<string, Memory> = new Map();
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #isHeld = false;

  constructor(queries: Queries, clock: Clock) {
    this.#queries = queries;
    this.#clock = clock;
  }

  /** `name` is all that decides which spots a claim comes to. */
  begin(name: string): View {
    const beganAtMs = this.#clock.monotonicMs();
    const memory = this.#memories.get(name);
    const known = memory !== undefined && beganAtMs < memory.dueAtMs ? memory.known : null;
    return { name, beganAtMs, known, asksFloors: memory !== undefined };
  }

  /** It was answered. In how many ms the whole is to be looked at, where this was a part. */
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
    // It has nothing to do: what it may have missed is looked for as often as it takes to look.
    if (claimed === 0) memory.dueAtMs = Math.min(memory.dueAtMs, memory.walkedAtMs + memory.tookMs);
    return Math.max(0, memory.dueAtMs - this.#clock.monotonicMs());
  }

  /** One that was cut short is not repeated at once. */
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
    if (now - this.#lookedAtMs < LOOK_MS) return this.#isHeld;
    this.#lookedAtMs = now;
    // What was claimed must be answered, also when this cannot be read.
    const look = this.#queries.rows<SnapshotRow & object>(OLDEST_SNAPSHOT, []).catch(() => []);
    const [row] = await look;
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

/** A spot that was empty when all was looked at may be filled a moment later, so it stays known. */
function merged(before: string | null, found: string | null): string {
  const spots = new Map<string, Spot>();
  for (const text of [before, found]) {
    for (const spot of JSON.parse(text ?? '[]') as readonly Spot[]) {
      spots.set(JSON.stringify([spot.source, spot.pipeline, spot.lane, spot.project]), spot);
    }
  }
  return JSON.stringify([...spots.values()]);
}
