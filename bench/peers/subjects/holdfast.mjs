// Holdfast inside the process: client and worker share it, as in an embedded service.

import { openHoldfast } from '../../../src/embedded/open-holdfast.ts';
import { pipeline } from '../../../src/engine/pipeline.ts';
import { ASLEEP_MS, DAY_MS, inBatches, pause } from './subject-tools.mjs';

export async function open({ url, concurrency }) {
  const holdfast = await openHoldfast({ store: url });
  let began = () => undefined;
  let woke = () => undefined;
  const pipelines = pipelinesOf({ began: () => began(), woke: () => woke() });
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
    async wakeMs() {
      const { id } = await holdfast.submit(pipelines.waits, 1);
      await pause(ASLEEP_MS);
      const awake = new Promise((resolve) => {
        woke = resolve;
      });
      const sentAt = performance.now();
      await holdfast.signal(id, { name: 'go' });
      await awake;
      return performance.now() - sentAt;
    },
    fanOut: async (children) => (await holdfast.submit(pipelines.parent, children)).result(),
    submitLater: (count) =>
      inBatches(count, (batch) =>
        Promise.all(batch.map((nth) => holdfast.submit(pipelines.one, nth, { delayMs: DAY_MS }))),
      ),
    close: () => holdfast.close(),
  };
}

function pipelinesOf({ began, woke }) {
  const one = pipeline({ name: 'one', run: (ctx, nth) => ctx.step('s1', () => nth) });
  return {
    one,
    three: pipeline({
      name: 'three',
      async run(ctx, nth) {
        const first = await ctx.step('s1', () => nth + 1);
        const second = await ctx.step('s2', () => first + 1);
        return ctx.step('s3', () => second + 1);
      },
    }),
    ping: pipeline({ name: 'ping', run: async () => began() }),
    waits: pipeline({
      name: 'waits',
      async run(ctx) {
        await ctx.receive('go');
        woke();
      },
    }),
    parent: pipeline({
      name: 'parent',
      async run(ctx, children) {
        const inputs = Array.from({ length: children }, (_, nth) => nth);
        await (await ctx.fanOut(one, inputs)).results();
      },
    }),
  };
}
