// Concurrency keys.

import assert from 'node:assert/strict';
import type { ExecutionId } from '../../../src/execution/names.ts';
import type { CoordinatorStore } from '../../../src/store/contract/execution-store.ts';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  childOf,
  claimAll,
  claimIds,
  claiming,
  claimOnce,
  commanding,
  endSessionOf,
  heldOf,
  later,
  mustClaim,
  mustFinish,
  mustGiveBack,
  mustPark,
  mustRead,
  mustSubmit,
  OTHER_PROJECT,
  PIPELINE,
  signalling,
  step,
  submitting,
  worker,
  writing,
} from '../worker.ts';

const one = { concurrency: { key: 'customer-1', limit: 1 } };
const two = { concurrency: { key: 'customer-1', limit: 2 } };

async function holdsOf(store: CoordinatorStore, id: ExecutionId): Promise<readonly string[]> {
  return (await mustRead(store, id)).holds;
}

export const slotCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-12',
    name: 'three executions of a key with one slot run one at a time, in their order',
    async run({ store, advance }) {
      const ann = await worker(store);
      const ids: ExecutionId[] = [];
      for (let nth = 0; nth < 3; nth += 1) {
        ids.push(await mustSubmit(store, one));
        await advance(1);
      }
      for (const [nth, id] of ids.entries()) {
        const held = await mustClaim(store, ann, id);
        assert.deepEqual(await claimIds(store, ann), []);
        const rows = await Promise.all(ids.map((each) => mustRead(store, each)));
        assert.deepEqual(
          rows.map(({ hasSlot }) => hasSlot),
          ids.map((_, row) => row === nth),
        );
        await mustFinish(store, held);
      }
    },
  },
  {
    upholds: 'X-12, X-64',
    name: 'a submit while all slots are taken is held back at once',
    async run({ store }) {
      const ann = await worker(store);
      const first = await mustSubmit(store, one);
      const early = await mustSubmit(store, one);
      assert.deepEqual(await holdsOf(store, early), []);
      const held = await mustClaim(store, ann, first);
      assert.deepEqual(await holdsOf(store, early), ['concurrency-limit']);
      const late = await mustSubmit(store, one);
      const behind = await mustRead(store, late);
      assert.deepEqual([behind.holds, behind.gated], [['concurrency-limit'], true]);
      await mustFinish(store, held);
      const next = await mustRead(store, early);
      assert.deepEqual([next.holds, next.gated, next.hasSlot], [[], false, true]);
    },
  },
  {
    upholds: 'X-12, X-63',
    name: 'a key runs as many executions at once as it has slots, and no more',
    async run({ store, advance }) {
      const ann = await worker(store);
      const ids: ExecutionId[] = [];
      for (let nth = 0; nth < 5; nth += 1) {
        ids.push(await mustSubmit(store, two));
        await advance(1);
      }
      let open = await claimAll(store, ann);
      assert.deepEqual(
        open.map(({ execution }) => execution.id),
        ids.slice(0, 2),
      );
      for (let nth = 2; nth < 5; nth += 1) {
        const [first, ...rest] = open;
        assert(first !== undefined);
        await mustFinish(store, heldOf(first, ann));
        const next = await claimAll(store, ann);
        assert.deepEqual(
          next.map(({ execution }) => execution.id),
          [ids[nth]],
        );
        open = [...rest, ...next];
      }
    },
  },
  {
    upholds: 'X-12, X-63',
    name: 'an execution keeps its slot when it is parked, given back or lost',
    async run({ store }) {
      const ann = await worker(store, 'ann');
      const first = await mustSubmit(store, one);
      const behind = await mustSubmit(store, one);
      const held = await mustClaim(store, ann, first);
      await mustGiveBack(store, held);
      await mustPark(store, await mustClaim(store, ann, first));
      assert.deepEqual(await claimIds(store, ann), []);
      await store.executions.signal(signalling(first));
      await mustClaim(store, ann, first);
      await endSessionOf(store, ann);
      const bob = await worker(store, 'bob');
      const last = await mustClaim(store, bob, first);
      assert.deepEqual(await holdsOf(store, behind), ['concurrency-limit']);
      await mustFinish(store, last);
      await mustClaim(store, bob, behind);
    },
  },
  {
    upholds: 'X-12, X-17',
    name: 'a slot passes to the next execution when its holder is cancelled',
    async run({ store }) {
      const ann = await worker(store);
      const first = await mustSubmit(store, one);
      const second = await mustSubmit(store, one);
      await mustGiveBack(store, await mustClaim(store, ann, first));
      expectKind(await store.executions.cancel(commanding(first)), 'done');
      await mustClaim(store, ann, second);
    },
  },
  {
    upholds: 'X-12, X-20',
    name: 'a slot passes to the next execution when its holder fails by its deadline',
    async run({ store, advance }) {
      const ann = await worker(store);
      const first = await mustSubmit(store, { ...one, deadlineMs: 1_000 });
      const second = await mustSubmit(store, one);
      await mustPark(store, await mustClaim(store, ann, first));
      await advance(1_000);
      assert.deepEqual((await store.executions.maintain({ limit: 9 })).overdue, [first]);
      await mustClaim(store, ann, second);
    },
  },
  {
    upholds: 'X-12, X-17',
    name: 'an execution that stops waiting leaves the queue and keeps no slot',
    async run({ store, advance }) {
      const ann = await worker(store);
      const ids: ExecutionId[] = [];
      for (let nth = 0; nth < 3; nth += 1) {
        ids.push(await mustSubmit(store, one));
        await advance(1);
      }
      const [first, second, third] = ids;
      assert(first !== undefined && second !== undefined && third !== undefined);
      const held = await mustClaim(store, ann, first);
      expectKind(await store.executions.cancel(commanding(second)), 'done');
      assert.deepEqual(await claimIds(store, ann), []);
      await mustFinish(store, held);
      await mustFinish(store, await mustClaim(store, ann, third));
      const next = await mustSubmit(store, one);
      await mustClaim(store, ann, next);
    },
  },
  {
    upholds: 'X-12, X-65',
    name: 'a free slot goes to interactive before batch, then to the execution that waited longest',
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await mustClaim(store, ann, await mustSubmit(store, one));
      const lanes = ['batch', 'interactive', 'batch', 'interactive'] as const;
      const ids: ExecutionId[] = [];
      for (const lane of lanes) {
        await advance(1);
        ids.push(await mustSubmit(store, { ...one, lane }));
      }
      await mustFinish(store, held);
      for (const nth of [1, 3, 0, 2]) {
        await mustFinish(store, await mustClaim(store, ann, ids[nth]));
      }
    },
  },
  {
    upholds: 'X-12, X-18, X-64',
    name: 'a paused execution is passed over, and queues again when it is resumed',
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await mustClaim(store, ann, await mustSubmit(store, one));
      const paused = await mustSubmit(store, one);
      await advance(1);
      const other = await mustSubmit(store, one);
      expectKind(await store.executions.pause(commanding(paused)), 'done');
      await mustFinish(store, held);
      assert.deepEqual(await holdsOf(store, paused), ['paused', 'concurrency-limit']);
      const next = await mustClaim(store, ann, other);
      expectKind(await store.executions.resume(commanding(paused)), 'done');
      assert.deepEqual(await claimIds(store, ann), []);
      assert.deepEqual(await holdsOf(store, paused), ['concurrency-limit']);
      await mustFinish(store, next);
      await mustClaim(store, ann, paused);
    },
  },
  {
    upholds: 'X-12, X-18',
    name: 'an execution that was paused while its slot became free starts when it is resumed',
    async run({ store }) {
      const ann = await worker(store);
      const held = await mustClaim(store, ann, await mustSubmit(store, one));
      const paused = await mustSubmit(store, one);
      expectKind(await store.executions.pause(commanding(paused)), 'done');
      await mustFinish(store, held);
      assert.deepEqual(await claimIds(store, ann), []);
      expectKind(await store.executions.resume(commanding(paused)), 'done');
      await mustClaim(store, ann, paused);
    },
  },
  {
    upholds: 'X-12, X-65',
    name: 'a lowered limit holds: no slot passes on while enough are taken',
    async run({ store, advance }) {
      const ann = await worker(store);
      await mustSubmit(store, two);
      await mustSubmit(store, two);
      const [first, second] = (await claimAll(store, ann)).map((each) => heldOf(each, ann));
      assert(first !== undefined && second !== undefined);
      await advance(1);
      const third = await mustSubmit(store, one);
      await mustFinish(store, first);
      assert.deepEqual(await claimIds(store, ann), []);
      await mustFinish(store, second);
      await mustClaim(store, ann, third);
    },
  },
  {
    upholds: 'X-12, X-21',
    name: 'keys with different names or projects have their own slots',
    async run({ store }) {
      const ann = await worker(store);
      await mustSubmit(store, one);
      await mustSubmit(store, { concurrency: { key: 'customer-2', limit: 1 } });
      await mustSubmit(store, { ...one, project: OTHER_PROJECT });
      await mustSubmit(store);
      assert.equal((await claimIds(store, ann)).length, 4);
    },
  },
  {
    upholds: 'X-12, X-11',
    name: 'executions that wait for a slot do not keep others from being claimed',
    async run({ store, advance }) {
      const ann = await worker(store);
      for (let nth = 0; nth < 20; nth += 1) await mustSubmit(store, one);
      await advance(1);
      const free = await mustSubmit(store);
      const ids: ExecutionId[] = [];
      for (let calls = 0; calls < 30 && ids.length < 2; calls += 1) {
        const { claims } = await claimOnce(store, claiming(ann, 2));
        ids.push(...claims.map(({ execution }) => execution.id));
      }
      assert.equal(ids.length, 2);
      assert.ok(ids.includes(free));
    },
  },
  {
    upholds: 'X-12, X-14, X-70',
    name: 'a successor takes over the slot, before any execution that waits',
    async run({ store, advance }) {
      const ann = await worker(store);
      const held = await mustClaim(store, ann, await mustSubmit(store, one));
      const waiting = await mustSubmit(store, one);
      await advance(1);
      const successor = submitting({ ...one, lineage: held.id });
      await mustFinish(store, held, { successor });
      const next = await mustClaim(store, ann, successor.id);
      assert.equal(next.claimed.execution.hasSlot, true);
      assert.deepEqual(await holdsOf(store, waiting), ['concurrency-limit']);
      await mustFinish(store, next);
      await mustClaim(store, ann, waiting);
    },
  },
  {
    upholds: 'X-66, X-70',
    name: 'a successor that takes over a slot waits for room under its rate key, and its start counts',
    async run({ store, advance }) {
      const ann = await worker(store);
      const both = { ...one, rate: { key: 'rated', limit: 1, perMs: 1_000 } };
      const held = await mustClaim(store, ann, await mustSubmit(store, both));
      const successor = submitting({ ...both, lineage: held.id });
      await mustFinish(store, held, { successor });
      const early = await claimOnce(store, claiming(ann, 2));
      assert.deepEqual(early.claims, []);
      await advance(1_000);
      const next = await mustClaim(store, ann, successor.id);
      assert.equal(next.claimed.execution.hasSlot, true);
      await mustFinish(store, next);
      const last = await mustSubmit(store, both);
      assert.deepEqual((await claimOnce(store, claiming(ann, 2))).claims, []);
      await advance(1_000);
      await mustClaim(store, ann, last);
    },
  },
  {
    upholds: 'X-12',
    needs: 'two-clients',
    name: 'with submits, claims and ends at once, no more run than there are slots, and all run in the end',
    async run({ store, another }) {
      const stores = [store, await another()];
      const people = [await worker(store, 'ann'), await worker(store, 'bob')];
      let open = 0;
      let most = 0;
      let done = 0;
      const work = async (nth: number): Promise<void> => {
        const [own, who] = [stores[nth] ?? store, people[nth]];
        assert(who !== undefined);
        for (let round = 0; round < 60 && done < 24; round += 1) {
          if (round < 12) await mustSubmit(own, two);
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
      await Promise.all([work(0), work(1)]);
      assert.equal(done, 24, 'every execution ran');
      assert.ok(most <= 2, `${most} were seen at once`);
    },
  },
  {
    upholds: 'X-12, X-65',
    name: 'a raised limit lets waiting executions start before the one that raised it',
    async run({ store, advance }) {
      const ann = await worker(store);
      const ids: ExecutionId[] = [];
      for (let nth = 0; nth < 4; nth += 1) {
        ids.push(await mustSubmit(store, { ...one, lane: 'batch' }));
        await advance(1);
        if (nth === 0) await mustClaim(store, ann, ids[0]);
      }
      const [, second, third, fourth] = ids;
      const newcomer = await mustSubmit(store, { concurrency: { key: 'customer-1', limit: 3 } });
      assert.deepEqual(await claimIds(store, ann), [second, third]);
      assert.deepEqual(await holdsOf(store, newcomer), ['concurrency-limit']);
      const last = await mustSubmit(store, { concurrency: { key: 'customer-1', limit: 6 } });
      assert.deepEqual((await claimIds(store, ann)).toSorted(), [fourth, newcomer, last]);
    },
  },
  {
    upholds: 'X-12, X-13, X-14',
    name: 'a child or a successor with a higher limit raises it for waiting executions',
    async run({ store }) {
      const ann = await worker(store);
      const parent = await mustClaim(store, ann, await mustSubmit(store));
      await mustClaim(store, ann, await mustSubmit(store, one));
      const waiting = await mustSubmit(store, one);
      assert.deepEqual(await holdsOf(store, waiting), ['concurrency-limit']);
      const child = childOf(parent.id, 'child:a#1', { ...two, pipeline: PIPELINE });
      const write = writing(parent, step('a'));
      expectKind(await store.executions.record({ ...write, children: [child] }), 'recorded');
      assert.deepEqual(await claimIds(store, ann), [waiting]);
      assert.deepEqual(await holdsOf(store, child.id), ['concurrency-limit']);
      const successor = submitting({ concurrency: { key: 'customer-1', limit: 4 } });
      await mustFinish(store, later(parent), { successor });
      assert.deepEqual(await claimIds(store, ann), [child.id, successor.id]);
    },
  },
];
