// a claim has a bounded cost. A tenant can open any number of sessions, let each take an
// execution, and let it die. This slows neither the claims of other projects nor, beyond a bound,
// its own, which all projects wait for.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { OpenedSession } from '../../contract/lease/opened-session.ts';
import { Counters } from './cost/counters.ts';

const DEAD = 300;

const counters = await Counters.start();
// The counters cover only code that is loaded from here on.
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

test('X-90: a claim costs the same beside 300 and 900 dead sessions of its own project', async (t) => {
  const store = openMemoryStore();
  t.after(() => store.close());
  const dieWithSuspects = async (count: number): Promise<void> => {
    const first = await worker(store, `first of ${count}`);
    for (let nth = 0; nth < count; nth += 1) await mustSubmit(store);
    await claimOnce(store, claiming(first, count, { project: PROJECT }));
    const seconds: OpenedSession[] = [];
    await endSessionOf(store, first);
    for (let nth = 0; nth < count; nth += 1) {
      const second = await worker(store, `second ${nth} of ${count}`);
      // One claim looks at a part of the sessions only.
      for (let isFound = false, dice = 0; !isFound; dice = (dice + 0.07) % 1) {
        const request = claiming(second, 1, { project: PROJECT, dice });
        isFound = (await claimOnce(store, request)).claims[0]?.previous === 'lost';
      }
      seconds.push(second);
    }
    for (const second of seconds) await endSessionOf(store, second);
  };
  const costOfClaim = async (name: string): Promise<number> => {
    const who = await worker(store, name);
    // Old enough to claim a suspect.
    const request = claiming(who, 1, { project: PROJECT, livedMs: 60_000 });
    await counters.of(async () => undefined);
    return (await counters.of(() => claimOnce(store, request))).blocks;
  };
  await dieWithSuspects(300);
  await costOfClaim('ann');
  const few = await costOfClaim('bob');
  await dieWithSuspects(600);
  const many = await costOfClaim('cleo');
  assert.ok(many < 1.5 * few, `${many} blocks ran with 900 dead sessions, ${few} with 300`);
});
