// The compensations and limits that a re-drive inherits, and what it cannot inherit.

import assert from 'node:assert/strict';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { leavesUnchanged } from '../expect.ts';
import {
  claimIds,
  commanding,
  kindsOf,
  mustClaim,
  mustFinish,
  mustGiveBack,
  mustRead,
  running,
  statusOf,
  step,
  worker,
} from '../worker.ts';
import { ended, letter, mustRedrive, redriving } from './repairing.ts';

const SAGA = { events: [step('pay', { saga: true })], compensable: true };

export const redrivenCases: readonly ExecutionCase[] = [
  {
    upholds: 'Y-20, Y-3',
    name: 'a cancelled re-drive with reused compensations compensates, before and after its first claim',
    async run({ store }) {
      const ann = await worker(store);
      const old = await ended(store, ann, { deadLetter: letter() });
      const id = await mustRedrive(store, old, SAGA);
      const row = await mustRead(store, id);
      assert.deepEqual([row.status, row.compensable, row.compensating], ['queued', true, false]);
      expectKind(await store.executions.cancel(commanding(id)), 'done');
      const turned = await mustRead(store, id);
      assert.deepEqual([turned.status, turned.compensating], ['queued', true]);
      assert.equal((await kindsOf(store, id)).at(-1), 'compensating');
      await mustFinish(store, await mustClaim(store, ann, id), { status: 'compensated' });
    },
  },
  {
    upholds: 'Y-20, Y-3, X-20',
    name: 'the deadline of a re-drive with compensations makes it compensate',
    async run({ store, advance }) {
      const ann = await worker(store);
      const old = await ended(store, ann);
      const { submit } = redriving(old);
      const late = { ...SAGA, submit: { ...submit, deadlineMs: 100 } };
      const id = await mustRedrive(store, old, late);
      await advance(100);
      await store.executions.maintain({ limit: 9 });
      const row = await mustRead(store, id);
      assert.deepEqual([row.status, row.compensating, row.deadlineAt], ['queued', true, undefined]);
    },
  },
  {
    upholds: 'Y-20, Y-3',
    name: 'the first owner of a re-drive decides anew whether it has compensations',
    async run({ store }) {
      const ann = await worker(store);
      const id = await mustRedrive(store, await ended(store, ann), SAGA);
      await mustGiveBack(store, await mustClaim(store, ann, id));
      assert.equal((await mustRead(store, id)).compensable, false);
      expectKind(await store.executions.cancel(commanding(id)), 'done');
      assert.equal(await statusOf(store, id), 'cancelled');
    },
  },
  {
    upholds: 'Y-20',
    name: 'a re-drive with a key throws a fault, stores nothing, and does not affect requests beside it',
    async run({ store }) {
      const ann = await worker(store);
      const old = await ended(store, ann, { key: 'order-17' });
      const beside = await ended(store, ann);
      const { submit } = redriving(old);
      const keyed = redriving(old, { submit: { ...submit, key: 'order-18' } });
      await leavesUnchanged(store, () =>
        assert.rejects(store.executions.redrive(keyed), { name: 'AssertionFault' }),
      );
      const [bad, good] = await Promise.allSettled([
        store.executions.redrive(keyed),
        store.executions.redrive(redriving(beside)),
      ]);
      assert.deepEqual([bad.status, good.status], ['rejected', 'fulfilled']);
      assert.equal((await mustRead(store, old)).key, 'order-17');
    },
  },
  {
    upholds: 'X-12, Y-20',
    name: 'a re-drive sets the limit of its concurrency key, as every submit does',
    async run({ store }) {
      const ann = await worker(store);
      const keyed = (limit: number) => ({ concurrency: { key: 'bank', limit } });
      const old = await ended(store, ann, keyed(1));
      await running(store, ann, keyed(1));
      const { submit } = redriving(old);
      const id = await mustRedrive(store, old, { submit: { ...submit, ...keyed(2) } });
      assert.deepEqual(await claimIds(store, ann), [id]);
    },
  },
];
