import { type Pipeline, pipeline } from '../../src/engine/pipeline.ts';

export interface LoadOptions {
  readonly stepMs?: number;
  /** From another build. */
  readonly pipeline?: typeof pipeline;
}

/** Steps that take a few milliseconds, so that a restart always finds some of them half done. */
export function loadPipeline(
  effect: (line: string) => void,
  { stepMs = 5, pipeline: make = pipeline }: LoadOptions = {},
): Pipeline<number, number> {
  return make({
    name: 'load',
    async run(ctx, n: number) {
      for (const name of ['one', 'two', 'three']) {
        await ctx.step(name, async ({ idempotencyKey, fence }) => {
          effect(JSON.stringify({ key: idempotencyKey, fence }));
          await new Promise((resolve) => setTimeout(resolve, stepMs));
        });
      }
      return n;
    },
  });
}
