// Unused keys are deleted, without any visible effect.

import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  claimIds,
  claiming,
  claimOnce,
  commanding,
  heldOf,
  mustClaim,
  mustFinish,
  mustRead,
  mustSubmit,
  OTHER_PROJECT,
  worker,
} from '../worker.ts';

const one = { concurrency: { key: 'customer-1', limit: 1 } };
const two = { concurrency: { key: 'customer-1', limit: 2 } };

function rate(limit: number, perMs: number) {
  return { rate: { key: 'mails', limit, perMs } };
}

async function forgottenBy(store: CoordinatorStore, limit: number = 100): Promise<number> {
  return (await store.executions.maintain({ limit })).forgotten;
}

export const forgettingCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-26',
    name: 'a concurrency key is forgotten when no execution has a slot of it or waits for one',
    async run({ store }) {
      const ann = await worker(store);
      const first = await mustSubmit(store, one);
      assert.equal(await forgottenBy(store), 0);
      const held = await mustClaim(store, ann, first);
      const second = await mustSubmit(store, one);
      assert.equal(await forgottenBy(store), 0);
      await mustFinish(store, held);
      assert.equal(await forgottenBy(store), 0);
      await mustFinish(store, await mustClaim(store, ann, second));
      assert.equal(await forgottenBy(store), 1);
      assert.equal(await forgottenBy(store), 0);
      await mustClaim(store, ann, await mustSubmit(store, one));
      const behind = await mustSubmit(store, one);
      assert.deepEqual((await mustRead(store, behind)).holds, ['concurrency-limit']);
    },
  },
  {
    upholds: 'X-26, X-12',
    name: 'a key with a taken slot is not forgotten, though no execution waits',
    async run({ store }) {
      const ann = await worker(store);
      await mustClaim(store, ann, await mustSubmit(store, one));
      assert.equal(await forgottenBy(store), 0);
      await mustSubmit(store, one);
      assert.deepEqual(await claimIds(store, ann), []);
    },
  },
  {
    upholds: 'X-26, X-12',
    name: 'the limit of a key is kept for executions that start later',
    async run({ store, advance }) {
      const ann = await worker(store);
      const ids: ExecutionId[] = [];
      for (const limit of [two, two, one]) {
        ids.push(await mustSubmit(store, { ...limit, delayMs: 100 }));
      }
      assert.equal(await forgottenBy(store), 0);
      await advance(100);
      assert.deepEqual(await claimIds(store, ann), ids.slice(0, 1));
    },
  },
  {
    upholds: 'X-26, X-17',
    name: 'an execution that was cancelled while it waited does not keep its concurrency key',
    async run({ store }) {
      const ids = [await mustSubmit(store, one), await mustSubmit(store, { ...one, delayMs: 9 })];
      for (const id of ids) {
        assert.equal(await forgottenBy(store), 0);
        await store.executions.cancel(commanding(id));
      }
      assert.equal(await forgottenBy(store), 1);
    },
  },
  {
    upholds: 'X-26, X-12',
    name: 'a rate key is forgotten once the longest time it was used with has passed, to the millisecond',
    async run({ store, advance }) {
      const ann = await worker(store);
      for (const perMs of [1_000, 200]) {
        await mustSubmit(store, rate(5, perMs));
        await claimIds(store, ann);
      }
      await advance(999);
      assert.equal(await forgottenBy(store), 0);
      await advance(1);
      assert.equal(await forgottenBy(store), 1);
      assert.equal(await forgottenBy(store), 0);
      const ids = [
        await mustSubmit(store, rate(1, 1_000)),
        await mustSubmit(store, rate(1, 1_000)),
      ];
      assert.deepEqual(await claimIds(store, ann), ids.slice(0, 1));
    },
  },
  {
    upholds: 'X-26, X-12',
    name: 'a rate key with turns assigned in advance is kept until the time after the last start has passed',
    async run({ store, advance }) {
      const ann = await worker(store);
      for (let nth = 0; nth < 3; nth += 1) await mustSubmit(store, rate(1, 100));
      await claimIds(store, ann);
      for (const passed of [299, 100]) {
        await advance(passed);
        assert.equal((await claimIds(store, ann)).length, 1);
        assert.equal(await forgottenBy(store), 0);
      }
      await advance(99);
      assert.equal(await forgottenBy(store), 0);
      await advance(1);
      assert.equal(await forgottenBy(store), 1);
    },
  },
  {
    upholds: 'X-26, X-12',
    name: 'an unused turn outlives its rate key, and counts as a start when it is used',
    async run({ store, advance }) {
      const ann = await worker(store);
      const both = { ...rate(1, 100), ...one };
      const held = await mustClaim(store, ann, await mustSubmit(store, both));
      const second = await mustSubmit(store, both);
      await mustFinish(store, held);
      await advance(250);
      assert.equal(await forgottenBy(store), 1);
      await mustFinish(store, await mustClaim(store, ann, second));
      const third = await mustSubmit(store, both);
      assert.deepEqual(await claimIds(store, ann), []);
      await advance(100);
      await mustFinish(store, await mustClaim(store, ann, third));
      assert.equal(await forgottenBy(store), 1);
    },
  },
  {
    upholds: 'X-26',
    name: 'one call forgets at most the requested number of keys, and repeated calls forget all',
    async run({ store, advance }) {
      const ann = await worker(store);
      for (const key of ['a', 'b', 'c']) {
        const both = { concurrency: { key, limit: 1 }, rate: { key, limit: 1, perMs: 10 } };
        await mustSubmit(store, both);
        await mustSubmit(store, { ...both, project: OTHER_PROJECT });
      }
      for (const claimed of (await claimOnce(store, claiming(ann))).claims) {
        await mustFinish(store, heldOf(claimed, ann));
      }
      await advance(10);
      const counts: number[] = [];
      for (let calls = 0; calls < 3; calls += 1) counts.push(await forgottenBy(store, 4));
      assert.deepEqual(counts, [8, 4, 0]);
    },
  },
  {
    upholds: 'X-26, X-12',
    needs: 'two-clients',
    name: 'forgetting keys that are in use never lets more executions run than there are slots',
    async run({ store, another }) {
      const stores = [store, await another()];
      const people = [await worker(store, 'ann'), await worker(store, 'bob')];
      let open = 0;
      let most = 0;
      let done = 0;
      const work = async (nth: number): Promise<void> => {
        const [own, who] = [stores[nth] ?? store, people[nth]];
        assert(who !== undefined);
        for (let round = 0; round < 400 && done < 30; round += 1) {
          if (round < 15)
            await mustSubmit(own, { ...one, rate: { key: 'r', limit: 99, perMs: 1 } });
          const { claims } = await claimOnce(own, claiming(who, 3));
          open += claims.length;
          most = Math.max(most, open);
          for (const claimed of claims) {
            open -= 1;
            await mustFinish(own, heldOf(claimed, who));
            done += 1;
          }
        }
      };
      const forget = async (): Promise<void> => {
        for (let round = 0; round < 60; round += 1) await forgottenBy(stores[round % 2] ?? store);
      };
      await Promise.all([work(0), work(1), forget()]);
      assert.equal(done, 30, 'every execution ran');
      assert.equal(most, 1, `${most} were seen at once`);
    },
  },
];
