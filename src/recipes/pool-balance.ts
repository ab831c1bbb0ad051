// Computes how many keys each member of a pool should hold. All members that see the same members
// get the same result, so they need no coordination. It also handles keys that the designated
// member does not take.

import type { Exit } from '../lease/exit.ts';
import type { Clock } from '../support/clock.ts';

/** Shares differ by at most one. The first members in order have the larger ones. */
export function shareOf(member: string, members: readonly string[], keys: number): number {
  const order = [...members].sort();
  const rank = order.indexOf(member);
  if (rank === -1) return 0;
  const least = Math.floor(keys / order.length);
  return rank < keys % order.length ? least + 1 : least;
}

/** Rotates the keys, so that members do not all try the same one first. */
export function rotated<Item>(items: readonly Item[], by: number): readonly Item[] {
  if (items.length === 0) return [];
  const start = ((by % items.length) + items.length) % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}

interface FreeKey {
  readonly key: string;
  /** The exit of its last term, if it had one. */
  readonly exit: Exit | undefined;
}

/**
 * After an expiry, every member checks at once. A member that has not taken the key by now does
 * not.
 */
const EXPIRED_LEFT_MS = 1_000;
/** A released key is meant for a member that checks only when its turn comes. */
const ROUNDS_UNTIL_LEFT = 2;

interface Extra {
  readonly until: number;
  readonly keptMs: number;
}

/**
 * A member may have room in its share but be unable to take a key: it lost the key too often (G-4),
 * does not know it, or is slow. The others would wait for it (P4). So any member may take a key
 * that stays free. If the key is beyond its share, it offers the key again after a few checks. Each
 * time the key stays free again, it waits twice as long, up to the duration of damping.
 */
export class Leftovers {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #keepMsMin: number;
  readonly #keepMsMax: number;
  readonly #leftAt: Map<string, number> = new Map();
  readonly #extras: Map<string, Extra> = new Map();

  constructor(clock: Clock, everyMs: number, flapUnitMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#keepMsMin = 2 * ROUNDS_UNTIL_LEFT * everyMs;
    this.#keepMsMax = Math.max(2 * flapUnitMs, this.#keepMsMin);
  }

  /**
   * Notes the keys that are free now. For a key that was not free in between, the wait starts
   * again.
   */
  update(free: readonly FreeKey[]): void {
    const now = this.#clock.monotonicMs();
    const seen = new Set(free.map(({ key }) => key));
    for (const key of this.#leftAt.keys()) if (!seen.has(key)) this.#leftAt.delete(key);
    for (const { key, exit } of free) {
      const leftAfterMs = ROUNDS_UNTIL_LEFT * this.#everyMs;
      const inMs = exit === 'expired' ? Math.min(EXPIRED_LEFT_MS, leftAfterMs) : leftAfterMs;
      if (!this.#leftAt.has(key)) this.#leftAt.set(key, now + inMs);
    }
  }

  isLeft(key: string): boolean {
    return (this.#leftAt.get(key) ?? Number.POSITIVE_INFINITY) <= this.#clock.monotonicMs();
  }

  /**
   * The time until any member may take a key that is still free. It is never so short that the
   * caller spins.
   */
  dueInMs(): number {
    const now = this.#clock.monotonicMs();
    const due = [...this.#leftAt.values()].filter((leftAt) => leftAt > now);
    return Math.max(1, Math.min(...due.map((leftAt) => leftAt - now)));
  }

  took(key: string): void {
    const keptMs = this.#extras.get(key)?.keptMs ?? 0;
    const keepMs = Math.min(Math.max(this.#keepMsMin, 2 * keptMs), this.#keepMsMax);
    this.#extras.set(key, { until: this.#clock.monotonicMs() + keepMs, keptMs: keepMs });
  }

  /** The number of these keys that are justifiably held beyond the share. */
  extra(held: readonly string[]): number {
    const now = this.#clock.monotonicMs();
    for (const [key, { until }] of this.#extras) {
      if (until + this.#keepMsMax <= now) this.#extras.delete(key);
    }
    const kept = [...this.#extras].filter(([key, { until }]) => until > now && held.includes(key));
    return kept.length;
  }
}
