// The only source of randomness. `seededRandom` makes every run of a simulation repeatable.

import { randomBytes, randomUUID } from 'node:crypto';

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  uuid(): string;
}

export const systemRandom: Random = { next: () => Math.random(), uuid: () => randomUUID() };

/** For secrets and nonces: never seeded. */
export function secureBytes(count: number): Uint8Array {
  return randomBytes(count);
}

/** mulberry32: small, fast, good enough to choose schedules; never for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => Math.floor(next() * 16).toString(16)).join('');
  return { next, uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}` };
}

/** Varies `value` by at most ±`share` of itself. */
export function jittered(random: Random, value: number, share: number): number {
  return value * (1 - share + 2 * share * random.next());
}
