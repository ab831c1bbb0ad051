// How much of the suite this process runs. The runner sets it; a file run by hand runs as in `npm test`.

import { appendFileSync } from 'node:fs';
import { seededRandom } from '../../src/support/random.ts';

/** Backends that a run may leave out, by name on the command line. */
export const BACKENDS: readonly string[] = [
  'postgres',
  'redis',
  'etcd',
  'mariadb',
  'pgbouncer',
  'python',
];

/** Whether this run leaves a backend out (`npm test -- --without=<backend>`). */
export function isExcluded(backend: string): boolean {
  const names = process.env['HOLDFAST_TEST_WITHOUT'] ?? '';
  return names.split(',').includes(backend);
}

/** Whether this run takes every family in full (`npm run test:all`, `npm run test:guard`). */
export function isFullRun(): boolean {
  return process.env['HOLDFAST_TEST_FULL'] === '1';
}

/** The number that chooses this run's samples; `npm test -- --seed=<number>` repeats them. */
export function runSeed(): number {
  return Number(process.env['HOLDFAST_TEST_SEED'] ?? 1);
}

/**
 * The members of a family that this run takes: all in a full run, otherwise `count` of them, chosen by the
 * run's seed, in their order. The runner prints how many were left out.
 */
export function sample<Member>(
  family: string,
  members: readonly Member[],
  count: number,
): readonly Member[] {
  if (isFullRun() || members.length <= count) return members;
  noteLeftOut(family, members.length - count, members.length);
  return choose(members, count, { seed: runSeed(), family });
}

/** `count` of the members, in their order. Each family draws numbers of its own. */
export function choose<Member>(
  members: readonly Member[],
  count: number,
  { seed, family }: { readonly seed: number; readonly family: string },
): readonly Member[] {
  const random = seededRandom(seed ^ hashOf(family));
  const left = members.map((_, index) => index);
  const chosen = new Set<number>();
  while (chosen.size < count && left.length > 0) {
    const [index = 0] = left.splice(Math.floor(random.next() * left.length), 1);
    chosen.add(index);
  }
  return members.filter((_, index) => chosen.has(index));
}

/** Notes for the end of the run that it took only some members of a family. */
export function noteLeftOut(family: string, left: number, of: number): void {
  const file = process.env['HOLDFAST_TEST_NOTES'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ family, left, of })}\n`);
}

function hashOf(text: string): number {
  let hash = 0;
  for (const char of text) hash = (Math.imul(hash, 31) + (char.codePointAt(0) ?? 0)) | 0;
  return hash >>> 0;
}
