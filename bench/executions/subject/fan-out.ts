import { pipeline } from '../../../src/engine/pipeline.ts';
import type { Place } from '../place.ts';
import { ORDER, ORDER_SCHEMA, type Order, openSubject, stepsPipeline } from './open-subject.ts';

export interface FanOutOrder {
  readonly children: number;
  readonly inFlight: number;
}

export interface FanOut {
  /** From before `submit` to the result of the parent, which has the results of all. */
  readonly seconds: number;
  /** The most that was resident at any time. */
  readonly peakBytes: number;
}

export async function fanOut(place: Place, { children, inFlight }: FanOutOrder): Promise<FanOut> {
  const { holdfast, close } = await openSubject(place);
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
  const right = await (await holdfast.submit(parent, ORDER)).result();
  const seconds = (performance.now() - startedAt) / 1_000;
  if (right !== children) throw new Error(`Not measured: ${right} of ${children} were right.`);
  const peakBytes = process.resourceUsage().maxRSS * 1_024;
  await close();
  return { seconds, peakBytes };
}
