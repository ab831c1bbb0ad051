import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everyWorker } from '../../engine/possible-workers.ts';
import type { WorkerRecord } from './model.ts';
import { type ListWorkers, workerPages } from './port.ts';

/** A fleet in which each worker announces so many pipelines. */
function fleetOf(count: number, names: number) {
  const limits: number[] = [];
  const pipelines = Array.from({ length: names }, (_, nth) => `p${nth}`);
  const workers = async ({ limit, after }: ListWorkers): Promise<readonly WorkerRecord[]> => {
    limits.push(limit);
    const from = after === undefined ? 0 : Number(after) + 1;
    const length = Math.min(limit, count - from);
    return Array.from({ length }, (_, nth) => {
      return { session: `${from + nth}`, pipelines } as unknown as WorkerRecord;
    });
  };
  return { workers, limits };
}

test('RE-11: workers are read in pages of at most 20,000 names', async () => {
  const { workers, limits } = fleetOf(100, 1_000);
  let seen = 0;
  for await (const page of workerPages({ workers })) seen += page.length;
  assert.deepEqual([seen, limits], [100, [20, 20, 20, 20, 20, 20]]);
});

test('RE-11: workers with few names are read in pages of 1,000', async () => {
  const { workers, limits } = fleetOf(1_100, 3);
  let seen = 0;
  for await (const page of workerPages({ workers })) seen += page.length;
  assert.deepEqual([seen, limits], [1_100, [20, 1_000, 1_000]]);
});

test('RE-11: a fleet with too many names is not read to its end', async () => {
  const { workers } = fleetOf(10_000, 1_000);
  const found = await everyWorker({ store: { executions: { workers } } as never }, undefined);
  assert.equal(found.length, 60);
});
