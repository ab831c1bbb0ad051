// A restaurant order as a pipeline: charge, ask the restaurant, dispatch. If anything fails after the
// charge, the compensation refunds the customer.

import { type Pipeline, pipeline, question, StepError } from 'holdfast';
import type { Shop } from './order.ts';

export interface Meal {
  readonly dish: string;
  readonly guest: string;
}

export interface Decision {
  readonly accepted: boolean;
  readonly minutes?: number;
}

/** Validates an answer. Holdfast refuses an invalid one when it is sent. */
function parseDecision(value: unknown): Decision {
  const { accepted, minutes } = (value ?? {}) as Partial<Decision>;
  if (typeof accepted !== 'boolean') throw new Error('accepted must be true or false');
  return { accepted, ...(minutes === undefined ? {} : { minutes: Number(minutes) }) };
}

const DECISION = {
  '~standard': {
    version: 1,
    vendor: 'example',
    validate(value: unknown) {
      try {
        return { value: parseDecision(value) };
      } catch (error) {
        return { issues: [{ message: (error as Error).message, path: ['accepted'] }] };
      }
    },
  },
} as const;

const APPROVAL = question<Meal, Decision>({ name: 'approval', schema: DECISION });

export function mealPipeline(shop: Shop, approvalMs: number): Pipeline<Meal, string> {
  return pipeline<Meal, string>({
    name: 'meal',
    awaits: [APPROVAL],
    async run(ctx, { dish, guest }) {
      await ctx.step('charge', (step) => shop.operation(step.idempotencyKey, `charge ${guest}`), {
        compensate: (_, undo) => {
          shop.operation(undo.idempotencyKey, `refund ${guest}`);
        },
      });
      const approval = await ctx.await(APPROVAL, {
        request: { dish, guest },
        timeoutMs: approvalMs,
      });
      if (approval.kind !== 'answered') throw declined('restaurant-silent', dish);
      if (!approval.value.accepted) throw declined('restaurant-declined', dish);
      return ctx.step('dispatch', (step) =>
        shop.operation(step.idempotencyKey, `dispatch ${dish}`),
      );
    },
  });
}

function declined(code: string, dish: string): StepError {
  return new StepError(`No ${dish} today.`, { category: 'permanent', code });
}
