// Opens a store that may not exist yet, and shows that it works.

import { openSession } from '../../../src/index.ts';
import { openStoreAt, type StoreAddress } from '../stage/store-address.ts';
import { serveCalls } from './serve-calls.ts';

export interface NewcomerApi {
  /** Returns when everything is loaded, so that all can start in the same moment. */
  ready(input: null): Promise<void>;
  /** Returns the fence of its own lease. */
  enter(input: { readonly store: StoreAddress; readonly name: string }): Promise<number>;
}

serveCalls<NewcomerApi>({
  ready: () => undefined,
  async enter({ store: address, name }) {
    const store = await openStoreAt(address);
    const session = await openSession({ store, owner: name });
    const outcome = await session.acquire(name);
    if (outcome.kind !== 'acquired') throw new Error(`acquire: ${JSON.stringify(outcome)}`);
    const { fence } = outcome.lease;
    await session.close();
    await store.close();
    return fence;
  },
});
