// The execution under test: five steps, a sleep that parks, two children, an attachment. Every
// effect is a line in a file outside all transactions, so the test sees what really ran.

import { appendFileSync } from 'node:fs';
import type { StepContext } from '../../src/engine/context.ts';
import { type Pipeline, pipeline } from '../../src/engine/pipeline.ts';

export interface Effect {
  readonly key: string;
  readonly fence: number;
}

export function crashPipelines(effects: string): {
  readonly order: Pipeline<number, unknown>;
  readonly item: Pipeline<number, number>;
} {
  const note = ({ idempotencyKey, fence }: StepContext): void => {
    appendFileSync(effects, `${JSON.stringify({ key: idempotencyKey, fence })}\n`);
  };
  const item = pipeline({
    name: 'item',
    run: (ctx, n: number) =>
      ctx.step('pack', (step) => {
        note(step);
        return n * 10;
      }),
  });
  const order = pipeline({
    name: 'order',
    async run(ctx, n: number) {
      const reserved = await ctx.step('reserve', (step) => {
        note(step);
        return n + 1;
      });
      const charged = await ctx.step('charge', (step) => {
        note(step);
        return reserved * 2;
      });
      await ctx.sleep(40, 'cool off');
      const children = await ctx.fanOut(item, [charged, charged + 1]);
      const packed = await children.results();
      await ctx.attach('label.txt', `to ${packed.join(' and ')}`);
      const shipped = await ctx.step('ship', (step) => {
        note(step);
        return packed.reduce((sum, each) => sum + each, 0);
      });
      await ctx.step('mail', (step) => note(step));
      return ctx.step('close', (step) => {
        note(step);
        return { reserved, charged, packed, shipped };
      });
    },
  });
  return { order, item };
}
