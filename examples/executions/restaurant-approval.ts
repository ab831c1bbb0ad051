// A restaurant must approve each order. It approves, rejects, or does not answer in time. The customer pays
// first, and gets a refund if there is no meal. In the last order the worker is killed while it waits. The
// answer arrives when no worker runs, and is not lost.
//
//   npm run example examples/executions/restaurant-approval.ts

import { join } from 'node:path';
import { ExecutionFailed, type Handle, type Holdfast, openHoldfast } from 'holdfast';
import { Story } from '../leases/story.ts';
import { Shop } from './order.ts';
import { mealPipeline } from './restaurant.ts';

const WORKER = join(import.meta.dirname, 'restaurant-worker.ts');
const APPROVAL_MS = 15_000;

const story = new Story();
const storeFile = join(story.folder, 'meals.db');
const shopFile = join(story.folder, 'shop.jsonl');
const shop = new Shop(shopFile);
const meal = mealPipeline(shop, APPROVAL_MS);
const mealWithShortTimeout = mealPipeline(shop, 50);

/** Waits for the order's open question and returns its id. */
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
  const handle = await holdfast.submit(meal, { dish: 'soup', guest: 'ann' });
  const id = await question(holdfast, handle);
  const waits = await holdfast.explain(handle.id);
  story.print('order', `soup for ann: ${waits?.sentence}`);
  const refusal = await holdfast.awaits.answer(id, { accepted: 'maybe' }).then(
    () => 'accepted',
    (error: unknown) => (error as Error).message,
  );
  story.print(
    'restaurant',
    `answers "maybe" and gets an error: ${refusal.includes('accepted must')}`,
  );
  story.mustBe(refusal.includes('accepted must'), 'an invalid answer is refused with its path');
  await holdfast.awaits.answer(id, { accepted: true, minutes: 20 }, { actor: 'chef' });
  story.print('restaurant', `approves the soup; the order ends with: ${await ending(handle)}`);
}

async function rejected(holdfast: Holdfast): Promise<void> {
  const handle = await holdfast.submit(meal, { dish: 'fish', guest: 'bob' });
  await holdfast.awaits.answer(await question(holdfast, handle), { accepted: false });
  story.print('restaurant', `rejects the fish; the order ends with: ${await ending(handle)}`);
}

async function timedOut(): Promise<void> {
  const holdfast = await openHoldfast({ store: join(story.folder, 'hasty.db') });
  await holdfast.worker({ pipelines: [mealWithShortTimeout] });
  const handle = await holdfast.submit(mealWithShortTimeout, { dish: 'cake', guest: 'cat' });
  story.print(
    'restaurant',
    `does not answer in time; the order ends with: ${await ending(handle)}`,
  );
  await holdfast.close();
}

async function crashed(): Promise<void> {
  const holdfast = await openHoldfast({ store: storeFile, pipelines: [meal] });
  const order = { storeFile, shopFile, approvalMs: APPROVAL_MS };
  const worker = story.start(WORKER, 'worker-1', order);
  const handle = await holdfast.submit(meal, { dish: 'rice', guest: 'dan' });
  const id = await question(holdfast, handle);
  await worker.kill();
  story.print('system', 'SIGKILL: worker-1 dies while the order waits for the answer');
  await holdfast.awaits.answer(id, { accepted: true });
  story.print('restaurant', 'approves the rice while no worker runs');
  await holdfast.worker({ pipelines: [meal], owner: 'worker-2' });
  story.print(
    'worker-2',
    `starts and reads the answer; the order ends with: ${await ending(handle)}`,
  );
  await holdfast.close();
}

await story.play('A meal that the restaurant must approve', async () => {
  const holdfast = await openHoldfast({ store: storeFile });
  await holdfast.worker({ pipelines: [meal] });
  await approved(holdfast);
  await rejected(holdfast);
  await holdfast.close();
  await timedOut();
  await crashed();
  story.print('shop', `effects: ${shop.effects.join(', ')}`);
  story.mustBe(
    shop.effects.join() ===
      'charge ann,dispatch soup,charge bob,refund bob,charge cat,refund cat,charge dan,dispatch rice',
    'each charge led to one meal or one refund',
  );
});
