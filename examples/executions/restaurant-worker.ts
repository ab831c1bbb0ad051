// A worker in its own process. The example kills it while an order waits for the restaurant.

import { openHoldfast } from 'holdfast';
import { ordered } from '../leases/child-process.ts';
import { Shop } from './order.ts';
import { mealPipeline } from './restaurant.ts';

export interface WorkerOrder {
  readonly name: string;
  readonly storeFile: string;
  readonly shopFile: string;
  readonly approvalMs: number;
}

const TTL_MS = 1_500;

const { name, storeFile, shopFile, approvalMs } = await ordered<WorkerOrder>();
const holdfast = await openHoldfast({ store: storeFile });
const pipelines = [mealPipeline(new Shop(shopFile), approvalMs)];
await holdfast.worker({ pipelines, owner: name, ttlMs: TTL_MS });
