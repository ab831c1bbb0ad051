// A coordinator in a process of its own, without authentication.

import { openServer } from '../../../src/server/serve.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { openStoreAt, type StoreAddress } from '../stage/store-address.ts';
import { serveCalls } from './serve-calls.ts';

export interface CoordinatorApi {
  /** Returns its URL. */
  serve(input: { readonly store: StoreAddress; readonly port: number }): Promise<string>;
}

serveCalls<CoordinatorApi>({
  async serve({ store: address, port }) {
    const store = (await openStoreAt(address)) as CoordinatorStore;
    const { url } = await openServer({ store, port, auth: 'off', console: false });
    return url;
  },
});
