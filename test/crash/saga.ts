// The saga under test: two steps with compensations, a negative answer, two compensations.

import { appendFileSync } from 'node:fs';
import type { StepContext } from '../../src/engine/context.ts';
import type { Holdfast } from '../../src/engine/holdfast.ts';
import { type Pipeline, pipeline } from '../../src/engine/pipeline.ts';

export function sagaPipeline(effects: string): Pipeline<number, unknown> {
  const note = ({ idempotencyKey, fence }: StepContext): void => {
    appendFileSync(effects, `${JSON.stringify({ key: idempotencyKey, fence })}\n`);
  };
  return pipeline({
    name: 'saga',
    async run(ctx, n: number) {
      await ctx.step('reserve', (step) => note(step), { compensate: (_, undo) => note(undo) });
      await ctx.sleep(40, 'cool off');
      await ctx.step('charge', (step) => note(step), { compensate: (_, undo) => note(undo) });
      const approval = await ctx.await<boolean>('approval', { request: n });
      if (approval.kind !== 'answered' || !approval.value) throw new Error('not approved');
      return n;
    },
  });
}

/** A step that succeeds, and one that fails for good. */
export function letterPipeline(effects: string): Pipeline<number, unknown> {
  const note = ({ idempotencyKey, fence }: StepContext): void => {
    appendFileSync(effects, `${JSON.stringify({ key: idempotencyKey, fence })}\n`);
  };
  return pipeline({
    name: 'letter',
    async run(ctx, n: number) {
      await ctx.step('seal', (step) => note(step));
      return ctx.step(
        'deliver',
        (step) => {
          note(step);
          throw new Error(`nobody takes letter ${n}`);
        },
        { retry: { attempts: 1 } },
      );
    },
  });
}

/** Answers as an approver would, as often as it takes. */
export async function refuse(holdfast: Holdfast, execution: string): Promise<void> {
  await holdfast.awaits
    .answer({ execution, name: 'approval' }, false, { actor: 'boss' })
    .catch((error: { readonly code?: string }) => {
      // The execution has already ended: an earlier run had the answer.
      if (error.code !== 'await-unknown') throw error;
    });
}
