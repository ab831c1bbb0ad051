// Holdfast inside the process: client and worker share it, as in an embedded service.

import { openHoldfast } from '../../../src/embedded/open-holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { inBatches } from './subject-tools.mjs';

export async function open({ url, concurrency }) {
  const holdfast = await openHoldfast({ store: url });
  let began = () => undefined;
  const pipelines = pipelinesOf(() => began());
  const handles = [];
  return {
    settings: `concurrency ${concurrency}`,
    submitMany: (shape, count) =>
      inBatches(count, async (batch) => {
        const each = batch.map((nth) => holdfast.submit(pipelines[shape], nth));
        handles.push(...(await Promise.all(each)));
      }),
    work: () => holdfast.worker({ pipelines: Object.values(pipelines), concurrency }),
    finished: () => Promise.all(handles.map((handle) => handle.result())),
    run: async (shape) => (await holdfast.submit(pipelines[shape], 1)).result(),
    pickupMs: () =>
      new Promise((resolve, reject) => {
        const sentAt = performance.now();
        began = () => resolve(performance.now() - sentAt);
        holdfast.submit(pipelines.ping, 1).catch(reject);
      }),
    close: () => holdfast.close(),
  };
}

export function pipelinesOf(began) {
  return {
    one: pipeline({ name: 'one', run: (ctx, nth) => ctx.step('s1', () => nth) }),
    three: pipeline({
      name: 'three',
      async run(ctx, nth) {
        const first = await ctx.step('s1', () => nth + 1);
        const second = await ctx.step('s2', () => first + 1);
        return ctx.step('s3', () => second + 1);
      },
    }),
    ping: pipeline({ name: 'ping', run: async () => began() }),
  };
}
