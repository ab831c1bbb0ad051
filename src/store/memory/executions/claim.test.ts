import { test } from 'node:test';
import {
  claiming,
  claimOnce,
  commanding,
  mustClaim,
  mustSubmit,
  submitting,
  worker,
} from '../../../testing/execution-contract/worker.ts';
import { ManualClock } from '../../../testing/manual-clock.ts';
import { openMemoryStore } from '../open.ts';

// No time is measured: were all executions looked at by every claim, this would not end while anybody waits.
test('X-11: claims do not look at what has ended', async () => {
  const store = openMemoryStore({ clock: new ManualClock() });
  const ann = await worker(store);
  for (let nth = 0; nth < 50_000; nth += 1) {
    const request = submitting();
    await store.executions.submit(request);
    await store.executions.cancel(commanding(request.id));
  }
  for (let nth = 0; nth < 50_000; nth += 1) await claimOnce(store, claiming(ann));
  await mustClaim(store, ann, await mustSubmit(store));
});
