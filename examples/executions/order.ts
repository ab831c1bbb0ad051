// An order as a pipeline, and the shop it acts on. What was done is undone in reverse order when a later
// step fails for good.

import { type Pipeline, pipeline, StepError } from '../../src/index.ts';
import { Journal } from '../leases/journal.ts';

export interface Order {
  readonly item: string;
  readonly card: string;
}

interface Effect {
  readonly key: string;
  readonly did: string;
}

/** The outside world: what is in its file happened. It knows a repeat by its idempotency key. */
export class Shop {
  readonly #journal: Journal<Effect>;
  /** Repeats that this process asked for and that were recognised. */
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

/** `afterCharge` is called when the customer has been charged and before that is recorded. */
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
