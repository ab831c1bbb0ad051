// A meal as a pipeline with remote steps: the till and the courier are other workers.

import { hostStep, type Pipeline, pipeline, remoteStep, StepError } from 'holdfast';
import type { Shop } from '../executions/order.ts';

export interface Meal {
  readonly dish: string;
  readonly guest: string;
}

const charge = remoteStep<Meal, string>({ name: 'charge' });
const refund = remoteStep<Meal, string>({ name: 'refund' });
const dispatch = remoteStep<Meal, string>({ name: 'dispatch' });

/** Its worker needs no access to the shop, because the steps run in other workers. */
export const meal: Pipeline<Meal, string> = pipeline<Meal, string>({
  name: 'meal',
  async run(ctx, order) {
    await ctx.call(charge, order);
    const approval = await ctx.await<{ readonly accepted: boolean }>('approval', {
      request: order,
      timeoutMs: 20_000,
    });
    if (approval.kind === 'answered' && approval.value.accepted) return ctx.call(dispatch, order);
    await ctx.call(refund, order);
    throw new StepError(`No ${order.dish} today.`, { category: 'permanent', code: 'declined' });
  },
});

export function till(shop: Shop): readonly Pipeline<Meal, string>[] {
  return [
    hostStep(charge, ({ guest }, step) => shop.operation(step.idempotencyKey, `charge ${guest}`)),
    hostStep(refund, ({ guest }, step) => shop.operation(step.idempotencyKey, `refund ${guest}`)),
  ];
}

export function courier(shop: Shop): Pipeline<Meal, string> {
  return hostStep(dispatch, ({ dish }, step) =>
    shop.operation(step.idempotencyKey, `dispatch ${dish}`),
  );
}
