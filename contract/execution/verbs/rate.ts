// Rate keys.

import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { ExecutionCase, ExecutionHarness } from '../contract-case.ts';
import {
  claimAll,
  claimIds,
  claiming,
  claimOnce,
  heldOf,
  mustClaim,
  mustFinish,
  mustRead,
  mustSubmit,
  OTHER_PROJECT,
  PROJECT,
  worker,
} from '../worker.ts';

function rate(limit: number, perMs: number) {
  return { rate: { key: 'mails', limit, perMs } };
}

/** Returns when each ready execution starts, from now on, claiming every `stepMs`. */
async function startTimes(
  { store, advance, now }: ExecutionHarness,
  plan: { readonly count: number; readonly stepMs: number; readonly stepsMax: number },
): Promise<readonly number[]> {
  const ann = await worker(store, `starter ${now()}`);
  const begin = now();
  const times: number[] = [];
  for (let steps = 0; times.length < plan.count && steps < plan.stepsMax; steps += 1) {
    const claims = await claimAll(store, ann);
    times.push(...claims.map(() => now() - begin));
    await advance(plan.stepMs);
  }
  return times;
}

/** Returns the most starts in any period of this length. */
function mostIn(perMs: number, times: readonly number[]): number {
  const counts = times.map((from) => times.filter((at) => at >= from && at < from + perMs).length);
  return Math.max(...counts);
}

/** Returns the time of each execution's first claim, from its history. */
async function startsInHistory(
  { store }: ExecutionHarness,
  ids: readonly ExecutionId[],
): Promise<readonly number[]> {
  const starts = ids.map(async (id) => {
    const events = await store.executions.history({ id, after: 0, limit: 100 });
    return events.find(({ kind }) => kind === 'claimed')?.at;
  });
  return (await Promise.all(starts)).filter((at) => at !== undefined).sort((a, b) => a - b);
}

export const rateCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-12',
    name: 'with a rate of one, each execution starts one period after the one before',
    async run(harness) {
      const { store } = harness;
      for (let nth = 0; nth < 4; nth += 1) await mustSubmit(store, rate(1, 1_000));
      const times = await startTimes(harness, { count: 4, stepMs: 250, stepsMax: 40 });
      assert.deepEqual(times, [0, 1_000, 2_000, 3_000]);
    },
  },
  {
    upholds: 'X-12, X-66',
    name: 'a first burst starts at once; then starts are even, never more than the limit in any period',
    async run(harness) {
      const { store } = harness;
      for (let nth = 0; nth < 12; nth += 1) await mustSubmit(store, rate(3, 900));
      const times = await startTimes(harness, { count: 12, stepMs: 100, stepsMax: 100 });
      assert.equal(times.length, 12);
      assert.deepEqual(times.slice(0, 3), [0, 0, 0]);
      assert.equal(mostIn(900, times), 3);
      const gaps = times.slice(4).map((at, nth) => at - (times[nth + 3] ?? 0));
      assert.deepEqual(gaps, Array(8).fill(300));
    },
  },
  {
    upholds: 'X-12, X-67',
    name: 'an execution that exceeds the rate gets its own start time and cannot be claimed before it',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const ids = [];
      for (let nth = 0; nth < 5; nth += 1) {
        ids.push(await mustSubmit(store, rate(1, 1_000)));
        await advance(1);
      }
      await mustClaim(store, ann, ids[0]);
      const result = await claimOnce(store, claiming(ann));
      assert.deepEqual([result.claims, result.more], [[], false]);
      const rest = await Promise.all(ids.slice(1).map((id) => mustRead(store, id)));
      const times = rest.map(({ readyAt }) => readyAt ?? 0);
      assert.equal(new Set(times).size, 4);
      assert.deepEqual(times, times.toSorted(), 'in the order in which they became ready');
      assert.equal(Math.min(...times), now() + 1_000);
      assert.equal(result.nextReadyInMs, 1_000);
      for (const { holds } of rest) assert.deepEqual(holds, []);
    },
  },
  {
    upholds: 'X-12, X-66',
    name: 'a rate key that was unused for its period allows a burst again',
    async run({ store, advance }) {
      const ann = await worker(store);
      const claimed = async () => (await claimIds(store, ann)).length;
      const submit = async () => {
        for (let nth = 0; nth < 2; nth += 1) await mustSubmit(store, rate(2, 1_000));
      };
      await submit();
      assert.equal(await claimed(), 2);
      await advance(999);
      await mustSubmit(store, rate(2, 1_000));
      assert.equal(await claimed(), 0);
      await advance(1);
      assert.equal(await claimed(), 1);
      await advance(1_000);
      await submit();
      assert.equal(await claimed(), 2);
    },
  },
  {
    upholds: 'X-12',
    name: 'starts that trickle in stay within the limit in any period too',
    async run({ store, advance, now }) {
      const ann = await worker(store);
      const begin = now();
      const times: number[] = [];
      for (let steps = 0; steps < 80; steps += 1) {
        if (steps % 3 !== 2) await mustSubmit(store, rate(4, 1_000));
        times.push(...(await claimIds(store, ann)).map(() => now() - begin));
        // Every turn coincides with a claim. A claim after the turn would blur the count.
        await advance(50);
      }
      assert.ok(mostIn(1_000, times) <= 4, `${times}`);
      assert.ok(times.length >= 10, `${times.length} started in ${80 * 50} ms`);
    },
  },
  {
    upholds: 'X-12, X-21',
    name: 'a rate counts by key and project, and counts only first starts',
    async run({ store }) {
      const ann = await worker(store);
      await mustSubmit(store, rate(1, 1_000));
      await mustSubmit(store, { ...rate(1, 1_000), project: OTHER_PROJECT });
      await mustSubmit(store, { rate: { key: 'calls', limit: 1, perMs: 1_000 } });
      const claims = await claimAll(store, ann);
      assert.equal(claims.length, 3);
      const [first] = claims;
      assert(first !== undefined);
      const held = heldOf(first, ann);
      const back = { ...held, events: [{ kind: 'given-back' }] } as const;
      await store.executions.giveBack(back);
      await mustClaim(store, ann, held.id);
    },
  },
  {
    upholds: 'X-12, X-67',
    name: 'with both keys, an execution needs a slot before it uses up a turn',
    async run({ store, advance }) {
      const ann = await worker(store);
      const both = { ...rate(1, 1_000), concurrency: { key: 'one', limit: 1 } };
      const first = await mustClaim(store, ann, await mustSubmit(store, both));
      const second = await mustSubmit(store, both);
      await advance(5_000);
      assert.deepEqual(await claimIds(store, ann), []);
      await mustFinish(store, first);
      const next = await mustClaim(store, ann, second);
      const third = await mustSubmit(store, both);
      await mustFinish(store, next);
      assert.deepEqual(await claimIds(store, ann), [], 'its turn has not come');
      await advance(1_000);
      await mustClaim(store, ann, third);
    },
  },
  {
    upholds: 'X-12, X-11',
    name: 'a claim that passes executions through gates also takes ungated ones, in one project or several',
    async run({ store }) {
      const ann = await worker(store);
      for (const others of [[PROJECT], [PROJECT, OTHER_PROJECT]]) {
        const submitted = [await mustSubmit(store, rate(9, 1_000))];
        for (const project of others) submitted.push(await mustSubmit(store, { project }));
        const { claims } = await claimOnce(store, claiming(ann, 9));
        assert.deepEqual(claims.map(({ execution }) => execution.id).sort(), submitted);
      }
    },
  },
  {
    upholds: 'X-12, X-68',
    name: 'turns that passed without a worker do not add up: history never has more starts than the limit in any period',
    async run(harness) {
      const { store, advance } = harness;
      const ann = await worker(store);
      const ids: ExecutionId[] = [];
      for (let nth = 0; nth < 12; nth += 1) ids.push(await mustSubmit(store, rate(3, 900)));
      assert.equal((await claimIds(store, ann)).length, 3);
      await advance(2_000);
      // Four turns have passed by now, but a fourth start would exceed the limit.
      assert.deepEqual(await claimIds(store, ann), ids.slice(3, 6));
      for (let steps = 0; steps < 60; steps += 1) {
        // Each claim is late by another time.
        await advance(50 + ((steps * 37) % 90));
        await claimIds(store, ann);
      }
      const starts = await startsInHistory(harness, ids);
      assert.equal(starts.length, 12);
      assert.equal(mostIn(900, starts), 3, `${starts}`);
      assert.ok((starts[11] ?? 0) - (starts[0] ?? 0) < 2_000 + 4 * 900, `${starts}`);
    },
  },
  {
    upholds: 'X-12, X-68',
    name: 'an execution that missed its turn starts before those with a later turn',
    async run(harness) {
      const { store, advance } = harness;
      const ann = await worker(store);
      const ids: ExecutionId[] = [];
      for (let nth = 0; nth < 8; nth += 1) {
        ids.push(await mustSubmit(store, rate(1, 1_000)));
        await advance(1);
      }
      const started = [...(await claimIds(store, ann))];
      await advance(3_500);
      for (let steps = 0; steps < 100; steps += 1) {
        started.push(...(await claimIds(store, ann)));
        await advance(100);
      }
      assert.deepEqual(started, ids);
    },
  },
  {
    upholds: 'X-12',
    needs: 'two-clients',
    name: 'workers that claim at once together start no more than the limit',
    async run(harness) {
      const { store, advance, another } = harness;
      const other = await another();
      const [ann, bob] = [await worker(store, 'ann'), await worker(other, 'bob')];
      const ids: ExecutionId[] = [];
      for (let nth = 0; nth < 12; nth += 1) ids.push(await mustSubmit(store, rate(3, 900)));
      for (let steps = 0; steps < 8; steps += 1) {
        await Promise.all([claimIds(store, ann), claimIds(other, bob), claimIds(store, ann)]);
        await advance(700);
      }
      const starts = await startsInHistory(harness, ids);
      assert.equal(mostIn(900, starts), 3, `${starts}`);
      assert.ok(starts.length >= 9, `${starts}`);
    },
  },
];
