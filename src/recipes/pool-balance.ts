// Who of a pool should hold how many keys. The same for every member that sees the same members, so
// that nobody has to be asked; and what becomes of keys that whoever should take does not.

import type { Exit } from '../lease/exit.ts';
import type { Clock } from '../support/clock.ts';

/** Shares differ by one at most; the members first in order have the larger ones. */
export function shareOf(member: string, members: readonly string[], keys: number): number {
  const order = [...members].sort();
  const rank = order.indexOf(member);
  if (rank === -1) return 0;
  const least = Math.floor(keys / order.length);
  return rank < keys % order.length ? least + 1 : least;
}

/** The keys a member tries first, so that members do not all try the same one. */
export function rotated<Item>(items: readonly Item[], by: number): readonly Item[] {
  if (items.length === 0) return [];
  const start = ((by % items.length) + items.length) % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}

interface FreeKey {
  readonly key: string;
  /** How its last term ended, if it had one. */
  readonly exit: Exit | undefined;
}

/** After an expiry every member looks at once: whoever has not taken the key by now does not. */
const EXPIRED_LEFT_MS = 1_000;
/** A key that was given up is for a member that looks only when its turn comes. */
const LOOKS_UNTIL_LEFT = 2;

interface Extra {
  readonly until: number;
  readonly keptMs: number;
}

/**
 * P4: a member may have a share and be unable to take a certain key, because it lost it too often
 * (G-4), was not told of it, or is slow. The others would wait for it. So any member may take a key
 * that stays free. A member that takes it beyond its share offers it again after a few looks, and each
 * time that the key stays free again after twice as long, up to the time that damping lasts.
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
    this.#keepMsMin = 2 * LOOKS_UNTIL_LEFT * everyMs;
    this.#keepMsMax = Math.max(2 * flapUnitMs, this.#keepMsMin);
  }

  /** What is free now. What was not free in between begins anew. */
  look(free: readonly FreeKey[]): void {
    const now = this.#clock.monotonicMs();
    const seen = new Set(free.map(({ key }) => key));
    for (const key of this.#leftAt.keys()) if (!seen.has(key)) this.#leftAt.delete(key);
    for (const { key, exit } of free) {
      const patience = LOOKS_UNTIL_LEFT * this.#everyMs;
      const inMs = exit === 'expired' ? Math.min(EXPIRED_LEFT_MS, patience) : patience;
      if (!this.#leftAt.has(key)) this.#leftAt.set(key, now + inMs);
    }
  }

  isLeft(key: string): boolean {
    return (this.#leftAt.get(key) ?? Number.POSITIVE_INFINITY) <= this.#clock.monotonicMs();
  }

  /** How long until a key that nobody has taken by then is anybody's; never so short as to spin. */
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

  /** How many of these keys are held beyond the share for good reason. */
  extra(held: readonly string[]): number {
    const now = this.#clock.monotonicMs();
    for (const [key, { until }] of this.#extras) {
      if (until + this.#keepMsMax <= now) this.#extras.delete(key);
    }
    const kept = [...this.#extras].filter(([key, { until }]) => until > now && held.includes(key));
    return kept.length;
  }
}
