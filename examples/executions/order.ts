// An order as a pipeline, and the shop it acts on. What was done is undone in reverse order, by steps,
// when a later step fails for good.

import { type Pipeline, pipeline, StepError, StepFailed } from '../../src/index.ts';
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

  act(key: string, did: string): string {
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
    return this.act(key, `charge ${item}`);
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
      const undo: (() => Promise<unknown>)[] = [];
      try {
        await ctx.step('reserve', (step) => shop.act(step.idempotencyKey, `reserve ${item}`));
        undo.push(() =>
          ctx.step('release', (step) => shop.act(step.idempotencyKey, `release ${item}`)),
        );
        await ctx.step('book courier', (step) => shop.act(step.idempotencyKey, `book ${item}`));
        undo.push(() =>
          ctx.step('cancel courier', (step) => shop.act(step.idempotencyKey, `cancel ${item}`)),
        );
        await ctx.step('charge', async (step) => {
          const done = shop.charge(step.idempotencyKey, order);
          await afterCharge();
          return done;
        });
        return await ctx.step('ship', (step) => shop.act(step.idempotencyKey, `ship ${item}`));
      } catch (error) {
        // Only a step that failed for good is undone here; a cancellation would refuse further steps.
        if (error instanceof StepFailed) for (const step of undo.reverse()) await step();
        throw error;
      }
    },
  });
}
