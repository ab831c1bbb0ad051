// A worker in its own process. It waits after it has charged the customer, so that the example can kill it
// exactly there.

import { openHoldfast } from 'holdfast';
import { ordered, sendReport } from '../leases/child-process.ts';
import { orderPipeline, Shop } from './order.ts';

export interface WorkerOrder {
  readonly name: string;
  readonly storeFile: string;
  readonly shopFile: string;
}

export interface WorkerReport {
  readonly kind: 'charged';
}

/** After this time without a heartbeat, another worker takes over. */
const TTL_MS = 1_500;

const { name, storeFile, shopFile } = await ordered<WorkerOrder>();
const order = orderPipeline(new Shop(shopFile), async () => {
  await sendReport<WorkerReport>({ kind: 'charged' });
  await new Promise(() => undefined);
});
const holdfast = await openHoldfast({ store: storeFile });
await holdfast.worker({ pipelines: [order], owner: name, ttlMs: TTL_MS });
