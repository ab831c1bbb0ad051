// Revokes everything under a prefix and reports every page.

import { revokePrefix } from '../../../src/recipes/index.ts';
import { emit, serveCalls } from '../../processes/children/serve-calls.ts';
import { openStoreAt, type StoreAddress } from '../../processes/stage/store-address.ts';

export interface RevokeAll {
  readonly store: StoreAddress;
  readonly prefix: string;
  readonly pageSize: number;
  readonly after?: string;
}

/** Sent with the event `progress`. */
export interface Page {
  readonly after: string;
  readonly ended: number;
}

export interface RevokerApi {
  /** Returns how many terms it has ended. */
  revoke(input: RevokeAll): Promise<number>;
}

serveCalls<RevokerApi>({
  async revoke({ store: address, ...rest }) {
    const store = await openStoreAt(address);
    let all = 0;
    const options = { ...rest, store, actor: 'olga', reason: 'the contract ended' };
    for await (const { after, ended } of revokePrefix(options)) {
      all = ended;
      await emit('progress', { after, ended } satisfies Page);
    }
    await store.close();
    return all;
  },
});
