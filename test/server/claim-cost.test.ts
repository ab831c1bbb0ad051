// a claim costs the same beside the dead sessions of another project. A tenant can open any number of sessions,
// let each take an execution, and let it die.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Counters } from './cost/counters.ts';

const DEAD = 300;

const counters = await Counters.start();
// Only code that is loaded from here on is counted.
const { openMemoryStore } = await import('../../src/store/sqlite/open-memory.ts');
const { claiming, claimOnce, endSessionOf, mustSubmit, OTHER_PROJECT, PROJECT, worker } =
  await import('../../contract/execution/worker.ts');

after(() => counters.stop());

test('X-90: a claim costs the same beside the dead sessions of another project', async (t) => {
  const store = openMemoryStore();
  t.after(() => store.close());
  const ann = await worker(store);
  const costOfClaim = async (): Promise<number> => {
    await mustSubmit(store);
    // Resets the counters.
    await counters.of(async () => undefined);
    const { blocks } = await counters.of(async () => {
      const { claims } = await claimOnce(store, claiming(ann, 1, { project: PROJECT }));
      assert.equal(claims.length, 1);
    });
    return blocks;
  };
  await costOfClaim();
  const before = await costOfClaim();
  for (let nth = 0; nth < DEAD; nth += 1) {
    const eve = await worker(store, `eve ${nth}`);
    await mustSubmit(store, { project: OTHER_PROJECT });
    const { claims } = await claimOnce(store, claiming(eve, 1, { project: OTHER_PROJECT }));
    assert.equal(claims.length, 1);
    await endSessionOf(store, eve);
  }
  const beside = await costOfClaim();
  assert.ok(beside < 1.5 * before, `${beside} blocks ran, ${before} without those sessions`);
});
