import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Place } from '../place.ts';
import { pause } from './counted.ts';
import { ORDER, ORDER_SCHEMA, type Order, openSubject } from './open-subject.ts';

export interface InFlightOrder {
  readonly executions: number;
}

export interface InFlight {
  /** With a worker that has nothing to do. */
  readonly idleBytes: number;
  readonly bytes: number;
}

const REST_MS = 1_000;

/** A worker asks for more only while half of its slots are free. */
const PLACES_PER_EXECUTION = 2;

/** Resident memory of a worker whose executions are all inside a step that waits. */
export async function inFlight(place: Place, { executions }: InFlightOrder): Promise<InFlight> {
  const { holdfast, watch, close } = await openSubject(place);
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
  const concurrency = executions * PLACES_PER_EXECUTION;
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
