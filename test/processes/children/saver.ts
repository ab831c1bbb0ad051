// Saves one checkpoint after another and reports each acknowledged one, until the test kills it.

import { openSession } from '../../../src/index.ts';
import { openStoreAt, type StoreAddress } from '../stage/store-address.ts';
import { emit, serveCalls } from './serve-calls.ts';

export interface SaverApi {
  save(input: { readonly store: StoreAddress; readonly key: string }): Promise<never>;
}

serveCalls<SaverApi>({
  async save({ store: address, key }) {
    const store = await openStoreAt(address);
    const session = await openSession({ store, owner: 'saver' });
    const outcome = await session.acquire(key);
    if (outcome.kind !== 'acquired') throw new Error(`acquire: ${outcome.kind}`);
    for (let number = 1; ; number += 1) {
      const saved = await outcome.lease.checkpoint(String(number));
      if (saved.kind !== 'saved') throw new Error(`checkpoint: ${saved.kind}`);
      void emit('saved', number);
    }
  },
});
