// The keys of a pool as the store has them: one read for all, so that nobody has to try each key to
// find out that it is taken, and everybody learns of the keys that were retired.

import type { LeaseState } from '../lease/lease.ts';
import type { KernelStore, ListedLease } from '../lease/port.ts';

const PAGE = 500;

export function leaseKeyOf(pool: string, key: string): string {
  return `${pool}/${key}`;
}

/** By key as the pool's users say it; keys that nobody has ever held are not in it. */
export async function keyStates(
  store: KernelStore,
  pool: string,
): Promise<ReadonlyMap<string, LeaseState>> {
  const prefix = leaseKeyOf(pool, '');
  const states = new Map<string, LeaseState>();
  let after: ListedLease['key'] | undefined;
  for (;;) {
    const from = after === undefined ? {} : { after };
    const page = await store.leases.list({ prefix, limit: PAGE, ...from });
    for (const { key, state } of page) states.set(key.slice(prefix.length), state);
    after = page.at(-1)?.key;
    if (page.length < PAGE) return states;
  }
}

/** Worth an acquire: an `expired` term is ended by whoever asks for its key. */
export function isTakeable(state: LeaseState | undefined): boolean {
  return state === undefined || state === 'free' || state === 'expired';
}
