// A node of the service. It registers its zone and address, and runs until it must stop.

import { registry } from 'holdfast/recipes';
import { openSqliteStore } from 'holdfast/store/sqlite';
import { ordered, sendReport, stopWasRequested } from '../child-process.ts';

export interface NodeOrder {
  readonly name: string;
  readonly storeFile: string;
  readonly zone: string;
}

export type NodeReport = { readonly kind: 'registered' };

const TIMES = { ttlMs: 2_000, graceMs: 1_000 };

const order = await ordered<NodeOrder>();
const store = await openSqliteStore({ file: order.storeFile });
const nodes = registry({ store, service: 'search' });
const session = await nodes.register({
  ...TIMES,
  owner: order.name,
  metadata: { zone: order.zone, address: `${order.name}.internal:7700` },
});
await sendReport<NodeReport>({ kind: 'registered' });
await stopWasRequested();
await session.close();
await store.close();
process.disconnect();
