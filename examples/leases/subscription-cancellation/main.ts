// Cancels a subscription in three steps. The process is killed right after the provider's refund, before it
// records that. The next process continues without a second refund.
//
//   npm run example examples/leases/subscription-cancellation/main.ts

import { join } from 'node:path';
import { parseLeaseKey } from 'holdfast';
import { openSqliteStore } from 'holdfast/store/sqlite';
import { Story } from '../story.ts';
import { Provider } from './provider.ts';
import { STEPS, SUBSCRIPTION, type WorkerReport } from './worker.ts';

const WORKER = join(import.meta.dirname, 'worker.ts');
const FATAL_STEP = 'refund-rest';

const story = new Story();
const storeFile = join(story.folder, 'leases.db');
const providerFile = join(story.folder, 'provider.jsonl');

async function killInTheMiddle(): Promise<void> {
  const order = { storeFile, providerFile, haltAfter: FATAL_STEP };
  const first = story.start<WorkerReport>(WORKER, 'worker-1', order);
  await first.waitFor('began');
  story.print('worker-1', `acquired "${SUBSCRIPTION}" and begins`);
  await first.waitFor('halted');
  story.print('worker-1', `called the provider: stop-renewal, ${FATAL_STEP}`);
  await first.kill();
  story.print('system', `SIGKILL: worker-1 dies before it records "${FATAL_STEP}"`);
}

async function resume(): Promise<void> {
  const second = story.start<WorkerReport>(WORKER, 'worker-2', { storeFile, providerFile });
  story.print('worker-2', 'starts and waits until the session of worker-1 has expired');
  const { exit, done, open } = await second.waitFor('began');
  story.print(
    'worker-2',
    `reads from the lease: exit "${exit}", done: ${done.join()}, open intent: ${open.join()}`,
  );
  story.mustBe(exit === 'expired', 'the predecessor expired');
  story.mustBe(done.join() === 'stop-renewal', 'the checkpoint has only the first step');
  story.mustBe(open.join() === `${SUBSCRIPTION}/${FATAL_STEP}`, 'one intent is open');
  const { step, happened } = await second.waitFor('found');
  story.print(
    'worker-2',
    `asks the provider by idempotency key: did "${step}" happen? ${happened}`,
  );
  story.mustBe(happened, 'the provider knows of the refund');
  await second.waitFor('finished');
  story.print(
    'worker-2',
    'runs the last step and retires the key, so that no process can acquire it again',
  );
}

await story.play('A cancellation that continues without a second refund', async () => {
  await killInTheMiddle();
  await resume();
  const calls = new Provider(providerFile).calls().map(({ action }) => action);
  story.print('provider', `was called ${calls.length} times: ${calls.join(', ')}`);
  story.mustBe(calls.join() === STEPS.join(), 'each step reached the provider once, in order');
  const store = await openSqliteStore({ file: storeFile });
  const { state, record } = await store.leases.inspect(parseLeaseKey(SUBSCRIPTION));
  await store.close();
  story.mustBe(state === 'retired' && record?.intents.length === 0, 'nothing is left open');
});
