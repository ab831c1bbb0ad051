import { pipeline } from '../../../src/engine/pipeline.ts';
import type { StoreLocation } from '../store-location.ts';
import { pause } from './counted.ts';
import { ORDER, ORDER_SCHEMA, type Order, openSubject } from './open-subject.ts';

export interface InFlightOrder {
  readonly executions: number;
}

export interface InFlight {
  /** With a worker that has no work. */
  readonly idleBytes: number;
  readonly bytes: number;
}

const REST_MS = 1_000;

/** A worker claims only while half of its slots are free. */
const SLOTS_PER_EXECUTION = 2;

/** Measures resident memory while all executions wait inside a step. */
export async function inFlight(
  location: StoreLocation,
  { executions }: InFlightOrder,
): Promise<InFlight> {
  const { holdfast, watch, close } = await openSubject(location);
  const gate = Promise.withResolvers<void>();
  const full = Promise.withResolvers<void>();
  let inside = 0;
  const work = pipeline<Order, string>({
    name: 'waiting',
    input: ORDER_SCHEMA,
    run: (ctx, { text }) =>
      ctx.step('wait', async () => {
        inside += 1;
        if (inside === executions) full.resolve();
        await gate.promise;
        return text;
      }),
  });
  const concurrency = executions * SLOTS_PER_EXECUTION;
  await holdfast.worker({ pipelines: [work], concurrency });
  await pause(REST_MS);
  const idleBytes = process.memoryUsage.rss();
  watch.expect(executions);
  await Promise.all(Array.from({ length: executions }, () => holdfast.submit(work, ORDER)));
  await full.promise;
  await pause(REST_MS);
  const bytes = process.memoryUsage.rss();
  gate.resolve();
  await watch.measured();
  await close();
  return { idleBytes, bytes };
}
