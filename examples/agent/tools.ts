// The tools of the example: a shop that finds orders and refunds them.

import { Journal } from '../leases/journal.ts';
import type { Tools } from './agent.ts';

const ORDERS = [
  { id: 7, cents: 4_200, late: true },
  { id: 8, cents: 1_900, late: false },
];

interface Refund {
  readonly key: string;
  readonly id: number;
}

export function shopTools(file: string): Tools {
  const refunds = new Journal<Refund>(file);
  return {
    find_order: {
      description: 'Finds an order by its number: {"id":7}.',
      run: (input) => {
        const { id } = input as { readonly id: number };
        return ORDERS.find((order) => order.id === id) ?? null;
      },
    },
    refund: {
      description: 'Pays the price of an order back: {"id":7,"cents":4200}.',
      needsApproval: true,
      run: (input, { idempotencyKey: key }) => {
        const { id } = input as { readonly id: number };
        // A repeat of the call has the same key.
        if (!refunds.entries().some((each) => each.key === key)) refunds.append({ key, id });
        return { refunded: id };
      },
    },
  };
}

export function refundsIn(file: string): readonly number[] {
  return new Journal<Refund>(file).entries().map(({ id }) => id);
}
