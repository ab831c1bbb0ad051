// Orders without a server: this process submits them, and the engine is in it. The process that works
// on the first order is killed right after the customer was charged; another goes on, and nobody is
// charged twice. The second order's card is declined: what was done for it is undone, last first.
//
//   node examples/executions/order-saga.ts

import { join } from 'node:path';
import { ExecutionFailed, type Handle, type Holdfast, openHoldfast } from '../../src/index.ts';
import { Story } from '../leases/story.ts';
import { orderPipeline, Shop } from './order.ts';
import type { WorkerReport } from './order-worker.ts';

const WORKER = join(import.meta.dirname, 'order-worker.ts');

const story = new Story();
const storeFile = join(story.folder, 'orders.db');
const shopFile = join(story.folder, 'shop.jsonl');
const shop = new Shop(shopFile);
const order = orderPipeline(shop);

async function killAfterTheCharge(holdfast: Holdfast): Promise<Handle<string>> {
  const handle = await holdfast.submit(order, { item: 'tent', card: 'good' }, { key: 'order/1' });
  story.print('shop', 'order/1 is submitted: a tent');
  const again = await holdfast.submit(order, { item: 'tent', card: 'good' }, { key: 'order/1' });
  story.mustBe(again.existing && again.id === handle.id, 'a second click is the same execution');
  story.print('shop', 'the customer clicks twice: the same execution');
  const worker = story.start<WorkerReport>(WORKER, 'worker-1', { storeFile, shopFile });
  await worker.waitFor('charged');
  story.print('worker-1', `did: ${shop.effects.join(', ')}`);
  await worker.kill();
  story.print('system', 'SIGKILL: worker-1 is gone before it could record the charge');
  return handle;
}

async function goOn(holdfast: Holdfast, handle: Handle<string>): Promise<void> {
  await holdfast.worker({ pipelines: [order], owner: 'worker-2' });
  story.print('worker-2', 'starts in this process; the claim of worker-1 ends with its session');
  await handle.result();
  const history = await holdfast.history(handle.id);
  const repeated = history.find(({ body }) => body?.includes('"again":true') === true);
  story.print(
    'worker-2',
    `ran "${repeated?.name}" again; history says that it may have run before`,
  );
  story.print('shop', `recognised by its idempotency key: ${shop.repeats.join(', ')}`);
  story.print('shop', `what happened: ${shop.effects.join(', ')}`);
  story.mustBe(repeated?.name === 'charge', 'only the charge was run again');
  story.mustBe(
    shop.effects.join() === 'reserve tent,book tent,charge tent,ship tent',
    'everything happened once',
  );
}

async function decline(holdfast: Holdfast): Promise<void> {
  const before = shop.effects.length;
  const handle = await holdfast.submit(order, { item: 'stove', card: 'declined' });
  story.print('shop', 'order/2 is submitted: a stove, with a card that will be declined');
  const error = await handle.result().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  story.mustBe(error instanceof ExecutionFailed, 'the order failed');
  const { status, failure } = error as ExecutionFailed;
  story.print('worker-2', `the execution is ${status}: ${failure?.code}`);
  const effects = shop.effects.slice(before);
  story.print('shop', `what happened: ${effects.join(', ')}`);
  story.mustBe(
    effects.join() === 'reserve stove,book stove,cancel stove,release stove',
    'what was done was undone, last first',
  );
}

await story.play('An order that survives its worker, and one that is undone', async () => {
  const holdfast = await openHoldfast({ store: storeFile });
  const handle = await killAfterTheCharge(holdfast);
  await goOn(holdfast, handle);
  await decline(holdfast);
  await holdfast.close();
  story.print('story', 'each effect happened once, and nothing is left half done');
});
