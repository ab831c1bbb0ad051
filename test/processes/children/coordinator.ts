// A coordinator in a process of its own, without authentication.

import { openServer } from '../../../src/server/serve.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { openStoreAt, type StoreAddress } from '../stage/store-address.ts';
import { serveCalls } from './serve-calls.ts';

interface Served {
  readonly store: StoreAddress;
  readonly port: number;
}

export interface CoordinatorApi {
  /** Returns its URL. */
  serve(input: Served): Promise<string>;
  /** Returns the address of its gRPC listener. */
  serveGrpc(input: Served): Promise<string>;
}

serveCalls<CoordinatorApi>({
  async serve({ store: address, port }) {
    const store = (await openStoreAt(address)) as CoordinatorStore;
    const { url } = await openServer({ store, port, auth: 'off', console: false });
    return url;
  },

  async serveGrpc({ store: address, port }) {
    const store = (await openStoreAt(address)) as CoordinatorStore;
    const options = { auth: 'off', console: false, grpc: { port } } as const;
    const { grpcAddress = '' } = await openServer({ store, port: 0, ...options });
    return grpcAddress;
  },
});
