import type { Context } from '../../src/engine/context.ts';
import { type Pipeline, pipeline } from '../../src/engine/pipeline.ts';

/** A build of it: its name, and the name of its first step. It ends with both builds it ran on. */
export function releasedOrder(build: string, step: string): Pipeline<number, unknown> {
  return pipeline({
    name: 'order',
    async run(ctx: Context, n: number) {
      const began = await ctx.step(step, () => build);
      await ctx.receive('go');
      return ctx.step('end', () => ({ n, began, ended: build }));
    },
  });
}
