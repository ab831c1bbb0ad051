// Drives a floor: keeps a number of executions in flight until all have ended.

import { roundOf } from '../measure.ts';
import type { Load } from './reference.ts';

export interface Held {
  readonly id: number;
  readonly fence: number;
}

export interface FloorStore {
  submit(count: number): Promise<void>;
  claim(limit: number): Promise<readonly Held[]>;
  /** Returns false if the fence is no longer the current one. */
  step(held: Held, seq: number): Promise<boolean>;
  finish(held: Held, seq: number): Promise<boolean>;
  close(): Promise<void>;
}

export const PAYLOAD: Buffer = Buffer.alloc(200, 97);

/** Prints the round as JSON. */
export async function runFloor(store: FloorStore, load: Load): Promise<void> {
  await store.submit(load.executions);
  const latencies: number[] = [];
  const startedAt = performance.now();
  await runAll(store, load, latencies);
  console.log(JSON.stringify(roundOf(latencies, performance.now() - startedAt)));
  await store.close();
}

function runAll(store: FloorStore, load: Load, latencies: number[]): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let running = 0;
  let queued = load.executions;
  let isClaiming = false;
  const runOne = async (held: Held): Promise<void> => {
    const claimedAt = performance.now();
    let isHeld = true;
    for (let seq = 1; seq <= load.steps; seq += 1) isHeld &&= await store.step(held, seq);
    isHeld &&= await store.finish(held, load.steps + 1);
    if (!isHeld) throw new Error('Not measured: a write was refused by its fence.');
    latencies.push(performance.now() - claimedAt);
    running -= 1;
    if (latencies.length === load.executions) resolve();
    else await claimMore();
  };
  // Like a worker, claim again only when half of the slots are free.
  const claimMore = async (): Promise<void> => {
    if (isClaiming || queued === 0 || running > load.inFlight / 2) return;
    isClaiming = true;
    const claims = await store.claim(load.inFlight - running);
    isClaiming = false;
    running += claims.length;
    queued -= claims.length;
    for (const held of claims) runOne(held).catch(reject);
  };
  claimMore().catch(reject);
  return promise;
}
