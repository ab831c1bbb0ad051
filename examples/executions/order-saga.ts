// Orders without a server: the engine runs in the process that submits them.
//
// First order: the worker is killed right after it has charged the customer. Another worker continues, and
// the customer pays once. Second order: the card is declined, and the completed steps are compensated in
// reverse order.
//
//   npm run example examples/executions/order-saga.ts

import { join } from 'node:path';
import { ExecutionFailed, type Handle, type Holdfast, openHoldfast } from 'holdfast';
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
  story.print('shop', 'submitted order/1: a tent');
  const again = await holdfast.submit(order, { item: 'tent', card: 'good' }, { key: 'order/1' });
  story.mustBe(
    again.existing && again.id === handle.id,
    'a second click returns the same execution',
  );
  story.print('shop', 'the customer clicks twice and gets the same execution');
  const worker = story.start<WorkerReport>(WORKER, 'worker-1', { storeFile, shopFile });
  await worker.waitFor('charged');
  story.print('worker-1', `did: ${shop.effects.join(', ')}`);
  await worker.kill();
  story.print('system', 'SIGKILL: worker-1 dies before it records the charge');
  return handle;
}

async function resume(holdfast: Holdfast, handle: Handle<string>): Promise<void> {
  await holdfast.worker({ pipelines: [order], owner: 'worker-2' });
  story.print('worker-2', 'starts in this process and waits until the session of worker-1 expires');
  await handle.result();
  const history = await holdfast.history(handle.id);
  const repeated = history.find(({ body }) => body?.includes('"again":true') === true);
  story.print(
    'worker-2',
    `ran "${repeated?.name}" again; the history marks it as possibly repeated`,
  );
  story.print('shop', `recognised this repeat by its idempotency key: ${shop.repeats.join(', ')}`);
  story.print('shop', `effects: ${shop.effects.join(', ')}`);
  story.mustBe(repeated?.name === 'charge', 'only the charge ran again');
  story.mustBe(
    shop.effects.join() === 'reserve tent,book tent,charge tent,ship tent',
    'everything happened once',
  );
}

async function decline(holdfast: Holdfast): Promise<void> {
  const before = shop.effects.length;
  const handle = await holdfast.submit(order, { item: 'stove', card: 'declined' });
  story.print('shop', 'submitted order/2: a stove, with a card that will be declined');
  const error = await handle.result().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  story.mustBe(error instanceof ExecutionFailed, 'the order failed');
  const { status, failure } = error as ExecutionFailed;
  story.print('worker-2', `the execution is ${status}: ${failure?.code}`);
  const effects = shop.effects.slice(before);
  story.print('shop', `effects: ${effects.join(', ')}`);
  story.mustBe(
    effects.join() === 'reserve stove,book stove,cancel stove,release stove',
    'completed steps were compensated in reverse order',
  );
}

await story.play('An order that survives its worker, and one that is compensated', async () => {
  const holdfast = await openHoldfast({ store: storeFile });
  const handle = await killAfterTheCharge(holdfast);
  await resume(holdfast, handle);
  await decline(holdfast);
  await holdfast.close();
  story.print('story', 'each effect happened once, and no order is half done');
});
