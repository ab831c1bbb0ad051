// A coordinator process, for tests that kill it.

import { openServer } from '../../../src/server/serve.ts';
import { openAddressed, type StorePlace } from '../../load/place.ts';

export interface CoordinatorArgs {
  readonly store: StorePlace;
  readonly port: number;
}

const args = JSON.parse(process.argv[2] ?? '{}') as CoordinatorArgs;
const store = await openAddressed(args.store);
const server = await openServer({ store, auth: 'off', port: args.port });
console.log(server.url);

process.on('SIGTERM', () => {
  server
    .close()
    .then(() => store.close())
    .then(
      () => process.exit(0),
      () => process.exit(1),
    );
});
