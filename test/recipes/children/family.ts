// A process with a session and child sessions, each with its own leases.

import { type HeldLease, openSession, type Session } from '../../../src/index.ts';
import { serveCalls } from '../../processes/children/serve-calls.ts';
import { openStoreAt, type StoreAddress } from '../../processes/stage/store-address.ts';

export interface Raise {
  readonly store: StoreAddress;
  readonly ttlMs: number;
  readonly prefix: string;
  readonly children: number;
  readonly leasesEach: number;
}

export interface FamilyApi {
  /** Returns the id of the parent once every lease is held. */
  raise(input: Raise): Promise<string>;
  /** How many leases still have authority, by their holder's own knowledge. */
  held(input: null): Promise<number>;
}

const leases: HeldLease[] = [];

async function acquireAll(session: Session, keys: readonly string[]): Promise<void> {
  const outcomes = await Promise.all(keys.map((key) => session.acquire(key)));
  for (const outcome of outcomes) {
    if (outcome.kind !== 'acquired') throw new Error(`acquire: ${JSON.stringify(outcome)}`);
    leases.push(outcome.lease);
  }
}

serveCalls<FamilyApi>({
  async raise({ store: address, ttlMs, prefix, children, leasesEach }) {
    const store = await openStoreAt(address);
    const parent = await openSession({ store, owner: 'parent', ttlMs });
    for (let child = 0; child < children; child += 1) {
      const session = await parent.openChild({ owner: `child-${child}`, ttlMs });
      const keys = Array.from({ length: leasesEach }, (_, each) => `${prefix}${child}/${each}`);
      await acquireAll(session, keys);
    }
    return parent.id;
  },
  held: () => leases.filter((lease) => lease.remainingMs() > 0).length,
});
