// A restaurant is asked before a meal is cooked: it approves, rejects, or says nothing in time. The customer
// was charged first, and has the money back whenever there is no meal. In the last order the worker is
// killed while everybody waits; the answer comes when nobody is there, and is not lost.
//
//   node examples/executions/restaurant-approval.ts

import { join } from 'node:path';
import { ExecutionFailed, type Handle, type Holdfast, openHoldfast } from '../../src/index.ts';
import { Story } from '../leases/story.ts';
import { Shop } from './order.ts';
import { mealPipeline } from './restaurant.ts';

const WORKER = join(import.meta.dirname, 'restaurant-worker.ts');
const APPROVAL_MS = 15_000;

const story = new Story();
const storeFile = join(story.folder, 'meals.db');
const shopFile = join(story.folder, 'shop.jsonl');
const shop = new Shop(shopFile);
const patient = mealPipeline(shop, APPROVAL_MS);
const hasty = mealPipeline(shop, 50);

/** The open question of this order. */
async function question(holdfast: Holdfast, { id }: Handle<string>): Promise<string> {
  for (;;) {
    const { items } = await holdfast.awaits.list({ execution: id, open: true });
    const [found] = items;
    if (found !== undefined) return found.id;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function ending(handle: Handle<string>): Promise<string> {
  try {
    return await handle.result();
  } catch (error) {
    if (!(error instanceof ExecutionFailed)) throw error;
    return `${error.status}: ${error.failure?.code}`;
  }
}

async function approved(holdfast: Holdfast): Promise<void> {
  const handle = await holdfast.submit(patient, { dish: 'soup', guest: 'ann' });
  const id = await question(holdfast, handle);
  const waits = await holdfast.explain(handle.id);
  story.print('order', `soup for ann: ${waits?.sentence}`);
  const wrong = await holdfast.awaits.answer(id, { accepted: 'maybe' }).then(
    () => 'taken',
    (error: unknown) => (error as Error).message,
  );
  story.print('restaurant', `answers "maybe", which is refused: ${wrong.includes('accepted')}`);
  story.mustBe(wrong.includes('accepted'), 'an answer that does not fit is refused with its path');
  await holdfast.awaits.answer(id, { accepted: true, minutes: 20 }, { actor: 'chef' });
  story.print('restaurant', `approves; the order: ${await ending(handle)}`);
}

async function rejected(holdfast: Holdfast): Promise<void> {
  const handle = await holdfast.submit(patient, { dish: 'fish', guest: 'bob' });
  await holdfast.awaits.answer(await question(holdfast, handle), { accepted: false });
  story.print('restaurant', `rejects the fish; the order is ${await ending(handle)}`);
}

async function silent(): Promise<void> {
  const holdfast = await openHoldfast({ store: join(story.folder, 'hasty.db') });
  await holdfast.worker({ pipelines: [hasty] });
  const handle = await holdfast.submit(hasty, { dish: 'cake', guest: 'cat' });
  story.print('restaurant', `says nothing in time; the order is ${await ending(handle)}`);
  await holdfast.close();
}

async function crashed(): Promise<void> {
  const holdfast = await openHoldfast({ store: storeFile, pipelines: [patient] });
  const order = { storeFile, shopFile, approvalMs: APPROVAL_MS };
  const worker = story.start(WORKER, 'worker-1', order);
  const handle = await holdfast.submit(patient, { dish: 'rice', guest: 'dan' });
  const id = await question(holdfast, handle);
  await worker.kill();
  story.print('system', 'SIGKILL: worker-1 is gone while the restaurant thinks');
  await holdfast.awaits.answer(id, { accepted: true });
  story.print('restaurant', 'approves the rice, with nobody there to hear it');
  await holdfast.worker({ pipelines: [patient], owner: 'worker-2' });
  story.print('worker-2', `starts and hears it; the order: ${await ending(handle)}`);
  await holdfast.close();
}

await story.play('A meal that somebody must approve', async () => {
  const holdfast = await openHoldfast({ store: storeFile });
  await holdfast.worker({ pipelines: [patient] });
  await approved(holdfast);
  await rejected(holdfast);
  await holdfast.close();
  await silent();
  await crashed();
  story.print('shop', `what happened: ${shop.effects.join(', ')}`);
  story.mustBe(
    shop.effects.join() ===
      'charge ann,dispatch soup,charge bob,refund bob,charge cat,refund cat,charge dan,dispatch rice',
    'every charge ended in a meal or in a refund, once',
  );
});
