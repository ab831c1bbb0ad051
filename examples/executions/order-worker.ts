// A worker in a process of its own. It stands still when the customer has been charged, so that it can
// be killed exactly there.

import { openHoldfast } from '../../src/index.ts';
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

/** How long its executions stay its own after its last heartbeat. */
const TTL_MS = 1_500;

const { name, storeFile, shopFile } = await ordered<WorkerOrder>();
const order = orderPipeline(new Shop(shopFile), async () => {
  await sendReport<WorkerReport>({ kind: 'charged' });
  await new Promise(() => undefined);
});
const holdfast = await openHoldfast({ store: storeFile });
await holdfast.worker({ pipelines: [order], owner: name, ttlMs: TTL_MS });
