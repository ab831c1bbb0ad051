// The demo of `holdfast dev`: a restaurant order. Charge the card, ask the restaurant for approval if the order
// needs it, cook, settle the payment, dispatch. If a step fails, completed steps are compensated in reverse order,
// so the guest gets the money back.

import { StepError } from '../../engine/failures.ts';
import { type Pipeline, pipeline } from '../../engine/pipeline.ts';
import type { Schema } from '../../engine/values/schema.ts';
import { question } from '../../features/awaits/question-api.ts';

export interface RestaurantOrder {
  readonly dish: string;
  readonly guest: string;
  /** A card named `declined` is declined. */
  readonly card?: string;
  /** The order waits for an approval, in the console's inbox or with `holdfast answer`. */
  readonly ask?: boolean;
}

/** The side effects of an order. */
export interface Outside {
  /** Takes a moment, in which the demo can freeze the worker. */
  cooks(execution: string): Promise<void>;
  did(execution: string, what: string): void;
  /** The bank: false if it refuses the payment or the refund. */
  settles(guest: string): Promise<boolean>;
  refunds(guest: string): Promise<boolean>;
}

export const PIPELINE = 'restaurant-order';

const APPROVAL_MS = 24 * 60 * 60_000;
const COURSES = ['chop', 'cook', 'plate'];
const REST_MS = 500;

const ORDER = schemaOf<RestaurantOrder>({
  fits: (value) => typeof value['dish'] === 'string' && typeof value['guest'] === 'string',
  message: 'an order looks like {"dish":"soup","guest":"ann"}',
  json: {
    type: 'object',
    properties: { dish: { type: 'string' }, guest: { type: 'string' } },
    required: ['dish', 'guest'],
  },
});

interface Approval {
  readonly accepted: boolean;
}

const approval = question({
  name: 'approval',
  schema: schemaOf<Approval>({
    fits: (value) => typeof value['accepted'] === 'boolean',
    message: 'an approval looks like {"accepted":true}',
    json: {
      type: 'object',
      properties: { accepted: { type: 'boolean', title: 'Accept this order?' } },
      required: ['accepted'],
    },
  }),
});

export function restaurantOrder(outside: Outside): Pipeline<RestaurantOrder, string> {
  return pipeline<RestaurantOrder, string>({
    name: PIPELINE,
    input: ORDER,
    awaits: [approval],
    async run(ctx, order) {
      const { dish, guest, card } = order;
      const did = (what: string): string => {
        outside.did(ctx.id, what);
        return what;
      };
      const refund = async (): Promise<string> => {
        if (await outside.refunds(guest)) return did(`refunded ${guest}`);
        throw new StepError('The bank is closed.', { category: 'permanent', code: 'bank-closed' });
      };
      // A charge with an unknown outcome is refunded too. The bank must ignore a refund without a charge.
      await ctx.step('charge', () => (card === 'declined' ? decline() : did(`charged ${guest}`)), {
        compensate: { run: refund, retry: { attempts: 1 } },
      });
      if (order.ask === true) {
        const approved = await ctx.await(approval, { request: order, timeoutMs: APPROVAL_MS });
        if (approved.kind !== 'answered' || !approved.value.accepted) throw noMeal(dish);
      }
      for (const [done, course] of COURSES.entries()) {
        ctx.progress({ course, done, of: COURSES.length });
        await ctx.sleep(REST_MS);
        const make = async (): Promise<string> => {
          if (course === 'cook') await outside.cooks(ctx.id);
          return did(`${course}: ${dish}`);
        };
        await ctx.step(course, make, { compensate: () => did(`cleared up after ${course}`) });
      }
      await ctx.step('settle', async () => {
        if (!(await outside.settles(guest))) throw unpaid();
        return did(`settled with ${guest}`);
      });
      // The first attempt always fails, to show a retry.
      return ctx.step('dispatch', ({ attempt }) => {
        if (attempt === 1) throw busyCourier();
        return did(`dispatched ${dish} to ${guest}`);
      });
    },
  });
}

function decline(): never {
  const declined = { category: 'permanent', code: 'card-declined' } as const;
  // `effect: 'none'`: nothing was charged, so there is nothing to refund.
  throw Object.assign(new StepError('The card was declined.', declined), { effect: 'none' });
}

function unpaid(): StepError {
  const failed = { category: 'permanent', code: 'payment-failed' } as const;
  return Object.assign(new StepError('The payment failed.', failed), { effect: 'none' });
}

function busyCourier(): StepError {
  return new StepError('No courier is free.', { category: 'retryable', code: 'courier-busy' });
}

function noMeal(dish: string): StepError {
  return new StepError(`No ${dish} today.`, { category: 'permanent', code: 'restaurant-declined' });
}

interface SchemaParts {
  fits(value: Readonly<Record<string, unknown>>): boolean;
  readonly message: string;
  /** The JSON Schema, from which the console builds its form. */
  readonly json: object;
}

function schemaOf<Value>({ fits, message, json }: SchemaParts): Schema<Value> {
  const standard = { jsonSchema: { input: () => json } };
  return {
    '~standard': {
      ...{ version: 1, vendor: 'holdfast-demo', ...standard },
      validate: (value) =>
        typeof value === 'object' && value !== null && fits(value as Record<string, unknown>)
          ? { value: value as Value }
          : { issues: [{ message }] },
    },
  };
}
