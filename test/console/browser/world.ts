// A coordinator with one of everything that a page can show, created by real workers.

import type { Archive } from '../../../src/archive/port.ts';
import { Holdfast, pipeline, question, type Schema, StepError } from '../../../src/index.ts';
import type { SessionId } from '../../../src/lease/names.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { until } from '../../server/coordinator.ts';
import { type Checkout, plantCheckout } from './checkout.ts';
import { plantArchived } from './museum.ts';
import { type Parcels, plantParcels } from './parcels.ts';

export interface World extends Parcels, Omit<Checkout, 'closeCheckout'> {
  readonly completed: string;
  readonly failed: string;
  readonly waiting: string;
  readonly compensated: string;
  readonly quarantined: string;
  readonly takenOver: string;
  readonly archived: string;
}

interface Order {
  readonly item: string;
  readonly asks?: 'approval' | 'anything';
  readonly fails?: boolean;
  readonly isStuck?: boolean;
}

/** Like a schema of a library: it validates, and it has a JSON Schema. */
const APPROVAL: Schema<{ readonly accepted: boolean }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof (value as { accepted?: unknown } | null)?.accepted === 'boolean'
        ? { value: value as { readonly accepted: boolean } }
        : { issues: [{ message: 'accepted is yes or no' }] },
    ...{
      jsonSchema: {
        input: () => ({
          type: 'object',
          properties: {
            accepted: { type: 'boolean', title: 'Accept the order' },
            note: { type: 'string', description: 'Goes to the customer.' },
          },
          required: ['accepted'],
        }),
      },
    },
  },
};

const approval = question({ name: 'approval', schema: APPROVAL });

const order = pipeline({
  name: 'order',
  awaits: [approval],
  async run(ctx, { item, asks, fails, isStuck }: Order) {
    const undo = (): void => {
      if (isStuck === true) throw new StepError('The bank is closed.', PERMANENT);
    };
    await ctx.step('charge', () => `charged ${item}`, {
      compensate: { run: undo, retry: { attempts: 1 } },
    });
    if (asks === 'approval') await ctx.await(approval, { request: { item, total: 17 } });
    if (asks === 'anything') await ctx.await('anything', { request: { item } });
    if (fails === true)
      throw new StepError('No stock.', { category: 'permanent', code: 'no-stock' });
    return ctx.step('ship', () => ({ shipped: item }));
  },
});

const PERMANENT = { category: 'permanent', code: 'bank-closed' } as const;

let isDeclined = true;

const payment = pipeline({
  name: 'payment',
  run: (ctx) =>
    ctx.step('pay', () => {
      if (isDeclined) throw new StepError('Declined.', { category: 'permanent', code: 'declined' });
      return 'paid';
    }),
});

/** From now on payments succeed. */
export function acceptPayments(): void {
  isDeclined = false;
}

export async function plantWorld(store: CoordinatorStore, archive: Archive): Promise<World> {
  isDeclined = true;
  const archived = await plantArchived(store, archive);
  const holdfast = new Holdfast({ store });
  await holdfast.worker({ pipelines: [order, payment], owner: 'packer@host-1' });
  const submitted = async (input: Order): Promise<string> => {
    const handle = await holdfast.submit(order, input, {
      tags: ['planted'],
      attributes: { total: 17 },
    });
    return handle.id;
  };
  const ended = async (input: Order): Promise<string> => {
    const id = await submitted(input);
    await holdfast.result(id).catch(() => undefined);
    return id;
  };
  const completed = await ended({ item: 'tent' });
  const compensated = await ended({ item: 'rope', fails: true });
  const quarantined = await ended({ item: 'stove', fails: true, isStuck: true });
  const failed: string[] = [];
  for (let count = 0; count < 3; count += 1) {
    const handle = await holdfast.submit(payment, undefined);
    await handle.result().catch(() => undefined);
    failed.push(handle.id);
  }
  const waiting = await submitted({ item: 'boots', asks: 'approval' });
  await until(async () => (await holdfast.awaits.list()).items[0]);
  await holdfast.schedules.put({ id: 'nightly', cron: '0 3 * * *', pipeline: 'payment' });
  // Before a worker claims it. Otherwise it compensates, and there would be one more of those.
  const late = await holdfast.submit(order, { item: 'map' }, { delayMs: 3_600_000 });
  await holdfast.cancel(late.id, { reason: 'a test' });
  const takenOver = await takeOver(store);
  const parcels = await plantParcels(store);
  const { closeCheckout, ...rich } = await plantCheckout(store);
  return {
    ...{ completed, compensated, quarantined, waiting, takenOver, archived },
    ...rich,
    failed: failed[0] ?? '',
    parcels: parcels.parcels,
    // The workers continue, so that answers and re-drives have an effect.
    async close() {
      await closeCheckout();
      await parcels.close();
      await holdfast.close();
    },
  };
}

/**
 * A worker whose writes take long. Another worker takes over meanwhile, and the store refuses the
 * late writes.
 */
async function takeOver(store: CoordinatorStore): Promise<string> {
  const sent = Promise.withResolvers<void>();
  const arrives = Promise.withResolvers<void>();
  const thinks = pipeline({ name: 'slow', run: (ctx) => ctx.step('think', () => 'thought') });
  const one = new Holdfast({ store: delayed(store, sent.resolve, arrives.promise) });
  const first = await one.worker({ pipelines: [thinks], owner: 'frozen@host-2' });
  const { id } = await one.submit('slow', undefined);
  await sent.promise;
  const by = { kind: 'operator', actor: 'a test', reason: 'to be taken over' } as const;
  await store.sessions.end({ id: first.session as SessionId, by });
  const two = new Holdfast({ store });
  await two.worker({ pipelines: [thinks], owner: 'healthy@host-3' });
  await two.result(id);
  arrives.resolve();
  await until(async () => (await two.refusals({})).items[0]);
  await one.close();
  await two.close();
  return id;
}

function delayed(
  store: CoordinatorStore,
  onSent: () => void,
  arrives: Promise<void>,
): CoordinatorStore {
  const { executions } = store;
  const late = <Request, Answer>(verb: (request: Request) => Promise<Answer>) => {
    return async (request: Request): Promise<Answer> => {
      onSent();
      await arrives;
      return verb(request);
    };
  };
  const verbs = { record: late(executions.record), finish: late(executions.finish) };
  return { ...store, executions: { ...executions, ...verbs } };
}
