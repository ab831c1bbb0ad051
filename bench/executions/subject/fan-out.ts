import { pipeline } from '../../../src/engine/pipeline.ts';
import type { StoreLocation } from '../store-location.ts';
import { ORDER, ORDER_SCHEMA, type Order, openSubject, stepsPipeline } from './open-subject.ts';

export interface FanOutOrder {
  readonly children: number;
  readonly inFlight: number;
}

export interface FanOut {
  /** From `submit` to the result of the parent, which waits for all children. */
  readonly seconds: number;
  /** The peak of the resident memory. */
  readonly peakBytes: number;
}

export async function fanOut(
  location: StoreLocation,
  { children, inFlight }: FanOutOrder,
): Promise<FanOut> {
  const { holdfast, close } = await openSubject(location);
  const child = stepsPipeline(1);
  const parent = pipeline<Order, number>({
    name: 'parent',
    input: ORDER_SCHEMA,
    run: async (ctx, order) => {
      const spawned = await ctx.fanOut(
        child,
        Array.from({ length: children }, () => order),
      );
      const results = await spawned.results();
      return results.filter((text) => text === order.text).length;
    },
  });
  await holdfast.worker({ pipelines: [parent, child], concurrency: inFlight });
  const startedAt = performance.now();
  const correct = await (await holdfast.submit(parent, ORDER)).result();
  const seconds = (performance.now() - startedAt) / 1_000;
  if (correct !== children) {
    throw new Error(`Not measured: ${correct} of ${children} results were correct.`);
  }
  const peakBytes = process.resourceUsage().maxRSS * 1_024;
  await close();
  return { seconds, peakBytes };
}
