// Concurrent clients. Each reply must match what happened.

import assert from 'node:assert/strict';
import type { Claimed } from '../../../src/store/contract/execution-store.ts';
import { expectKind, whyOf } from '../../lease/expect.ts';
import { allHistory } from '../check.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  claimAll,
  claiming,
  claimOnce,
  commanding,
  endSessionOf,
  finishing,
  kindsOf,
  later,
  mustClaim,
  mustRead,
  mustRecord,
  mustSubmit,
  running,
  step,
  worker,
  writing,
} from '../worker.ts';

const needs = 'two-clients';

export const raceCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-6, X-11',
    needs,
    name: 'claims at once never return the same execution twice, and all executions are claimed',
    async run({ store, another }) {
      const stores = [store, await another()];
      const people = await Promise.all(
        Array.from({ length: 6 }, (_, nth) => worker(store, `worker ${nth}`)),
      );
      for (let round = 0; round < 6; round += 1) {
        const ids = [];
        for (let count = 0; count < 20; count += 1) ids.push(await mustSubmit(store));
        const claims: Claimed[] = [];
        for (let calls = 0; claims.length < ids.length && calls < 40; calls += 1) {
          const results = await Promise.all(
            people.map((who, nth) =>
              claimOnce(stores[nth % 2] ?? store, claiming(who, 1 + (nth % 3))),
            ),
          );
          claims.push(...results.flatMap((result) => result.claims));
        }
        assert.deepEqual(claims.map(({ execution }) => execution.id).toSorted(), ids.toSorted());
        assert.equal(new Set(claims.map(({ fence }) => fence)).size, ids.length);
        for (const { execution, fence } of claims) {
          assert.equal((await mustRead(store, execution.id)).fence, fence);
        }
      }
    },
  },
  {
    upholds: 'X-7, X-6',
    needs,
    name: 'one of many claims at once takes a dead worker’s execution',
    async run({ store, another }) {
      const stores = [store, await another()];
      const people = await Promise.all(
        Array.from({ length: 4 }, (_, nth) => worker(store, `worker ${nth}`)),
      );
      for (let round = 0; round < 6; round += 1) {
        const ann = await worker(store, `ann ${round}`);
        const held = await running(store, ann);
        await endSessionOf(store, ann);
        const results = await Promise.all(
          people.map((who, nth) => claimOnce(stores[nth % 2] ?? store, claiming(who))),
        );
        const claims = results.flatMap((result) => result.claims);
        const left = claims.length === 0 ? await claimAll(store, people[0] ?? ann) : claims;
        assert.deepEqual(
          left.map(({ execution, previous }) => [execution.id, previous]),
          [[held.id, 'lost']],
        );
      }
    },
  },
  {
    upholds: 'X-1, X-7',
    needs,
    name: 'a write that races a takeover comes before it in history, or is refused',
    async run({ store, another }) {
      const other = await another();
      const bob = await worker(store, 'bob');
      for (let round = 0; round < 6; round += 1) {
        const ann = await worker(store, `ann ${round}`);
        const held = await running(store, ann);
        const takeOver = async () => {
          await endSessionOf(other, ann);
          return mustClaim(other, bob, held.id);
        };
        const records = async () => {
          let done = 0;
          for (let nth = 0; nth < 12; nth += 1) {
            const result = await store.executions.record(writing(later(held, nth), step(`${nth}`)));
            if (result.kind === 'refused') return done;
            done += 1;
          }
          return done;
        };
        const [taken, recorded] = await Promise.all([takeOver(), records()]);
        assert.equal(taken.claimed.execution.seq, held.seq + recorded);
        const events = await allHistory(store, held.id);
        assert.equal(events.at(-1)?.fence, taken.fence);
        assert.equal(events.filter(({ fence }) => fence === held.fence).length, recorded + 1);
      }
    },
  },
  {
    upholds: 'X-2, X-17',
    needs,
    name: 'when a finish and a cancel race, exactly one of them ends the execution',
    async run({ store, another }) {
      const other = await another();
      const ann = await worker(store);
      for (let round = 0; round < 6; round += 1) {
        const held = await running(store, ann);
        const [finished, cancelled] = await Promise.all([
          store.executions.finish(finishing(held)),
          other.executions.cancel(commanding(held.id)),
        ]);
        expectKind(finished, 'finished');
        assert.ok(['forwarded', 'already-ended'].includes(whyOf(cancelled)), whyOf(cancelled));
        assert.deepEqual(await kindsOf(store, held.id), ['submitted', 'claimed', 'completed']);
      }
    },
  },
  {
    upholds: 'X-2, X-17',
    needs,
    name: 'when a claim and a cancel race, the second sees the effect of the first',
    async run({ store, another }) {
      const other = await another();
      const ann = await worker(store);
      for (let round = 0; round < 10; round += 1) {
        const id = await mustSubmit(store);
        const [{ claims }, cancelled] = await Promise.all([
          claimOnce(store, claiming(ann)),
          other.executions.cancel(commanding(id)),
        ]);
        const execution = await mustRead(store, id);
        if (whyOf(cancelled) === 'forwarded') {
          assert.deepEqual(
            [claims.length, execution.status, execution.inboxCount],
            [1, 'running', 1],
          );
        } else {
          assert.equal(whyOf(cancelled), 'done');
          assert.deepEqual([claims.length, execution.status], [0, 'cancelled']);
        }
      }
    },
  },
  {
    upholds: 'X-17',
    needs,
    name: 'several cancels of a running execution at once leave one message',
    async run({ store, another }) {
      const other = await another();
      const held = await running(store, await worker(store));
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, nth) =>
          (nth % 2 === 0 ? store : other).executions.cancel(commanding(held.id)),
        ),
      );
      const kinds = results.map(whyOf).toSorted();
      assert.deepEqual(kinds, ['forwarded', ...Array(7).fill('no-change')]);
      assert.equal((await mustRead(store, held.id)).inboxCount, 1);
    },
  },
  {
    upholds: 'X-1, X-4',
    needs,
    name: 'writes to many executions at once keep each execution’s order',
    async run({ store, another }) {
      const stores = [store, await another()];
      const ann = await worker(store);
      for (let count = 0; count < 12; count += 1) await mustSubmit(store);
      const claims = await claimAll(store, ann);
      await Promise.all(
        claims.map(async ({ execution, fence }, nth) => {
          const own = stores[nth % 2] ?? store;
          let held = { id: execution.id, fence, session: ann.id, seq: execution.seq + 1 };
          for (let count = 0; count < 5; count += 1) {
            held = await mustRecord(own, held, step(`${nth}.${count}`));
          }
          expectKind(await own.executions.finish(finishing(held)), 'finished');
        }),
      );
      for (const [nth, { execution }] of claims.entries()) {
        const events = await allHistory(store, execution.id);
        assert.deepEqual(
          events.map(({ kind, name }) => name ?? kind),
          [
            'submitted',
            'claimed',
            ...[0, 1, 2, 3, 4].map((count) => `${nth}.${count}`),
            'completed',
          ],
        );
      }
    },
  },
];
