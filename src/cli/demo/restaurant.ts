// The demo of `holdfast dev`: a restaurant order. Charge, ask the restaurant if that is wanted, cook, dispatch.
// Whatever goes wrong after the charge, the guest has the money back.

import { StepError } from '../../engine/failures.ts';
import { type Pipeline, pipeline } from '../../engine/pipeline.ts';
import type { Schema } from '../../engine/schema.ts';
import type { ServerLog } from '../../server/server-options.ts';

export interface RestaurantOrder {
  readonly dish: string;
  readonly guest: string;
  /** `declined` is a card that is. */
  readonly card?: string;
  /** Somebody must approve it first: `holdfast answer`. */
  readonly ask?: boolean;
}

const APPROVAL_MS = 15 * 60_000;
const COURSES = ['chop', 'cook', 'plate'];
const COURSE_MS = 1_000;

const ORDER = schemaOf<RestaurantOrder>(
  (value) => typeof value['dish'] === 'string' && typeof value['guest'] === 'string',
  'an order is such as {"dish":"soup","guest":"ann"}',
);

export function restaurantOrder(log: ServerLog): Pipeline<RestaurantOrder, string> {
  return pipeline<RestaurantOrder, string>({
    name: 'restaurant-order',
    input: ORDER,
    async run(ctx, order) {
      const { dish, guest, card } = order;
      const did = (what: string): string => {
        log.info('demo', { execution: ctx.id, did: what });
        return what;
      };
      // A charge whose outcome is not known may have been made: giving it back twice is the shop's to refuse.
      const refund = (): string => did(`refunded ${guest}`);
      await ctx.step('charge', () => (card === 'declined' ? decline() : did(`charged ${guest}`)), {
        compensate: refund,
      });
      if (order.ask === true) {
        // Not a `question` with a schema: a coordinator, which has no code, takes the answer.
        const said = await ctx.await('approval', { request: order, timeoutMs: APPROVAL_MS });
        if (said.kind !== 'answered' || !isAccepted(said.value)) throw noMeal(dish);
      }
      for (const [done, course] of COURSES.entries()) {
        ctx.progress({ course, done, of: COURSES.length });
        await ctx.sleep(COURSE_MS);
        await ctx.step(course, () => did(`${course}: ${dish}`));
      }
      // The first courier is always busy: see it tried again.
      return ctx.step('dispatch', ({ attempt }) => {
        if (attempt === 1) throw busyCourier();
        return did(`dispatched ${dish} to ${guest}`);
      });
    },
  });
}

function isAccepted(answer: unknown): boolean {
  return (answer as { readonly accepted?: unknown } | null | undefined)?.accepted === true;
}

function decline(): never {
  const declined = { category: 'permanent', code: 'card-declined' } as const;
  // Nothing was charged, so there is nothing to give back.
  throw Object.assign(new StepError('The card was declined.', declined), { effect: 'none' });
}

function busyCourier(): StepError {
  return new StepError('No courier is free.', { category: 'retryable', code: 'courier-busy' });
}

function noMeal(dish: string): StepError {
  return new StepError(`No ${dish} today.`, { category: 'permanent', code: 'restaurant-declined' });
}

function schemaOf<Value>(
  fits: (value: Readonly<Record<string, unknown>>) => boolean,
  message: string,
): Schema<Value> {
  return {
    '~standard': {
      version: 1,
      vendor: 'holdfast-demo',
      validate: (value) =>
        typeof value === 'object' && value !== null && fits(value as Record<string, unknown>)
          ? { value: value as Value }
          : { issues: [{ message }] },
    },
  };
}
