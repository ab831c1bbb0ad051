import { type Pipeline, pipeline } from '../../src/engine/pipeline.ts';

export const child: Pipeline<undefined, string> = pipeline({
  name: 'child',
  run: async () => 'done',
});

/** Calls `before`, then writes an event with a child: a transaction of several statements. */
export function spawning(before: () => void): Pipeline<undefined, string> {
  return pipeline({
    name: 'spawning',
    async run(ctx) {
      before();
      return (await ctx.spawn(child, undefined)).result();
    },
  });
}
