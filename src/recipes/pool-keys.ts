// The keys of a pool as the store has them: one read for all, so that nobody has to try each key to
// find out that it is taken, and everybody learns of the keys that were retired.

import { parseLeaseKey } from '../lease/names.ts';
import type { KernelStore, ListedLease } from '../lease/port.ts';
import { InvalidInput } from '../support/fault.ts';
import { shown } from '../support/options.ts';

const PAGE = 500;

export function leaseKeyOf(pool: string, key: string): string {
  return `${pool}/${key}`;
}

/** By key as the pool's users say it; keys that nobody has ever held are not in it. */
export async function keyStates(
  store: KernelStore,
  pool: string,
): Promise<ReadonlyMap<string, ListedLease>> {
  const prefix = leaseKeyOf(pool, '');
  const states = new Map<string, ListedLease>();
  let after: ListedLease['key'] | undefined;
  for (;;) {
    const from = after === undefined ? {} : { after };
    const page = await store.leases.list({ prefix, limit: PAGE, ...from });
    for (const lease of page) states.set(lease.key.slice(prefix.length), lease);
    after = page.at(-1)?.key;
    if (page.length < PAGE) return states;
  }
}

/** Worth an acquire: an `expired` term is ended by whoever asks for its key. */
export function isTakeable(lease: ListedLease | undefined): boolean {
  return lease === undefined || lease.state === 'free' || lease.state === 'expired';
}

export function listOf(what: string, keys: unknown): readonly string[] {
  if (Array.isArray(keys) && keys.every((key) => typeof key === 'string')) return keys;
  throw new InvalidInput(`${what}: keys must be a list of strings; got ${shown(keys)}.`);
}

/** Each key once, as the store will spell it: texts that are one key there are one here. */
export function normalKeys(pool: string, keys: readonly string[]): readonly string[] {
  const prefix = leaseKeyOf(pool, '');
  const stored = keys.map((key) => parseLeaseKey(leaseKeyOf(pool, key)));
  return [...new Set(stored)].map((key) => key.slice(prefix.length));
}
