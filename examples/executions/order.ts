// An order as a pipeline, and the shop that it calls. If a step fails permanently, the completed steps are
// compensated in reverse order.

import { type Pipeline, pipeline, StepError } from 'holdfast';
import { Journal } from '../leases/journal.ts';

export interface Order {
  readonly item: string;
  readonly card: string;
}

interface Effect {
  readonly key: string;
  readonly did: string;
}

/** An external system. Its file lists the effects. It recognises a repeat by its idempotency key. */
export class Shop {
  readonly #journal: Journal<Effect>;
  /** Repeated calls of this process that had no second effect. */
  readonly repeats: string[] = [];

  constructor(file: string) {
    this.#journal = new Journal(file);
  }

  operation(key: string, did: string): string {
    if (this.#journal.entries().some((effect) => effect.key === key)) this.repeats.push(did);
    else this.#journal.append({ key, did });
    return did;
  }

  charge(key: string, { item, card }: Order): string {
    if (card === 'declined') {
      throw new StepError(`The card for ${item} was declined.`, {
        category: 'permanent',
        code: 'card-declined',
      });
    }
    return this.operation(key, `charge ${item}`);
  }

  get effects(): readonly string[] {
    return this.#journal.entries().map(({ did }) => did);
  }
}

/** `afterCharge` runs after the charge and before Holdfast records it. */
export function orderPipeline(
  shop: Shop,
  afterCharge: () => Promise<void> = async () => undefined,
): Pipeline<Order, string> {
  return pipeline<Order, string>({
    name: 'order',
    async run(ctx, order) {
      const { item } = order;
      const operation = (what: string) => (step: { readonly idempotencyKey: string }) =>
        shop.operation(step.idempotencyKey, `${what} ${item}`);
      await ctx.step('reserve', operation('reserve'), {
        compensate: (_, undo) => operation('release')(undo),
      });
      await ctx.step('book courier', operation('book'), {
        compensate: (_, undo) => operation('cancel')(undo),
      });
      await ctx.step('charge', async (step) => {
        const done = shop.charge(step.idempotencyKey, order);
        await afterCharge();
        return done;
      });
      return ctx.step('ship', operation('ship'));
    },
  });
}
