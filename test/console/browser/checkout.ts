// An execution whose waterfall has everything: retries, parallel steps, a fan-out with failures, a sleep,
// logs, and a compensation that stops half-way.

import { Holdfast, pipeline, StepError } from '../../../src/index.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';

export interface Checkout {
  /** Quarantined: its last compensation failed. */
  readonly checkout: string;
  /** Sleeps for 14 days. */
  readonly sleeper: string;
  closeCheckout(): Promise<void>;
}

/** Long enough to tell parallel steps from consecutive ones on a busy machine. */
const FRAUD_MS = 400;
const TAX_MS = 120;
const FORTNIGHT_MS = 14 * 86_400_000;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const PREVIEWS = [1, 2, 3, 4, 5, 6];

const preview = pipeline({
  name: 'build-preview',
  run: (ctx, page: number) =>
    ctx.step('resize', async () => {
      await pause(20);
      if (page > 4)
        throw new StepError('Unsupported colour space.', {
          ...{ category: 'permanent', code: 'bad-image' },
        });
      return { page };
    }),
});

const TIMEOUT = { category: 'retryable', code: 'timeout' } as const;
const RETRY = { attempts: 3, initialMs: 150, jitter: 0 } as const;

let tries = 0;

const checkout = pipeline({
  name: 'checkout',
  async run(ctx, { cart }: { readonly cart: string }) {
    await ctx.step('validate-cart', () => ({ cart, lines: 3 }));
    await ctx.step(
      'reserve-stock',
      async () => {
        await pause(30);
        tries += 1;
        if (tries < 3) throw new StepError('Stock service timed out.', TIMEOUT);
        return { reservation: 'r-1' };
      },
      { retry: RETRY, compensate: { run: () => pause(10) } },
    );
    ctx.log(`stock reserved after ${tries} attempts`);
    await Promise.all([
      ctx.step('fraud-check', () => pause(FRAUD_MS)),
      ctx.step('tax-quote', () => pause(TAX_MS)),
    ]);
    await ctx.step('charge-card', () => ({ charge: 'ch_884211' }), {
      compensate: { run: refuseRefund, retry: { attempts: 1 } },
    });
    const previews = await ctx.fanOut(preview, PREVIEWS);
    await previews.outcomes();
    await ctx.step('settle', () => {
      throw new StepError('Ledger rejected entry: period closed.', {
        ...{ category: 'permanent', code: 'ledger-closed' },
      });
    });
  },
});

function refuseRefund(): never {
  throw new StepError('Payment API key revoked.', { category: 'permanent', code: 'payment-401' });
}

const reminder = pipeline({
  name: 'reminder',
  async run(ctx) {
    await ctx.step('greet', () => pause(TAX_MS));
    await ctx.sleep(FORTNIGHT_MS, 'two weeks');
  },
});

export async function plantCheckout(store: CoordinatorStore): Promise<Checkout> {
  tries = 0;
  const holdfast = new Holdfast({ store });
  await holdfast.worker({ pipelines: [checkout, preview, reminder], owner: 'shop-2' });
  const { id } = await holdfast.submit(
    checkout,
    { cart: 'c-2' },
    { key: 'order/ORD-10084', tags: ['mobile', 'eu'], attributes: { customer: 'c-2' } },
  );
  const sleeper = await holdfast.submit(reminder, undefined);
  await holdfast.result(id).catch(() => undefined);
  return {
    ...{ checkout: id, sleeper: sleeper.id },
    closeCheckout: () => holdfast.close(),
  };
}
