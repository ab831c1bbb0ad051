// A seal releases every lease and claim. It keeps their state and counts no claim as lost (EX-3, EX-4).

import assert from 'node:assert/strict';
import { expectKind } from '../../lease/expect.ts';
import { beginning, mustAcquire, mustSave, textOf } from '../../lease/opened-session.ts';
import type { ExecutionCase } from '../contract-case.ts';
import {
  claimAll,
  endSessionOf,
  later,
  mustClaim,
  mustRead,
  mustRecord,
  payload,
  running,
  step,
  worker,
} from '../worker.ts';
import { mustSeal, mustUnseal, SEAL } from './sealing.ts';

export const whatWasHeldCases: readonly ExecutionCase[] = [
  {
    upholds: 'EX-3',
    name: 'sealing gives a running execution back: its next owner continues, and no attempt is counted',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await mustSeal(store);
      const row = await mustRead(store, held.id);
      assert.deepEqual([row.status, row.session, row.seq], ['queued', undefined, held.seq]);
      const [event] = await store.executions.history({ id: held.id, after: row.seq - 1, limit: 1 });
      assert.equal(event?.kind, 'given-back');
      assert.deepEqual(JSON.parse(event?.body ?? ''), { why: 'sealed', abandoned: true });
      await mustUnseal(store);
      const { claimed, fence } = await mustClaim(store, await worker(store, 'ben'), held.id);
      const { previous, execution } = claimed;
      assert.deepEqual([previous, execution.claimsWithoutProgress], ['given-back', 0]);
      assert.ok(fence > held.fence);
    },
  },
  {
    upholds: 'EX-3, EX-11',
    name: 'sealing leaves a dead worker’s execution lost, and it is counted as lost later',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      await endSessionOf(store, ann);
      await mustSeal(store);
      assert.equal((await mustRead(store, held.id)).status, 'running');
      await mustUnseal(store);
      const [claimed] = await claimAll(store, await worker(store, 'ben'));
      assert.deepEqual([claimed?.previous, claimed?.execution.claimsWithoutProgress], ['lost', 1]);
    },
  },
  {
    upholds: 'EX-3',
    name: 'sealing keeps the compensations of a running execution for its next owner',
    async run({ store }) {
      const ann = await worker(store);
      const plain = await running(store, ann);
      const owing = await running(store, ann);
      await mustRecord(store, owing, {
        kind: 'step-completed',
        name: 'pay',
        body: payload({ key: 'step:pay#1', saga: true }),
      });
      await mustRecord(store, plain, step('say', { text: '"saga":true' }));
      await mustSeal(store);
      assert.equal((await mustRead(store, owing.id)).compensable, true);
      assert.equal((await mustRead(store, plain.id)).compensable, false);
      assert.equal((await mustRead(store, owing.id)).seq, later(owing).seq);
      await mustUnseal(store);
    },
  },
  {
    upholds: 'EX-3, EX-4',
    name: 'sealing revokes a held lease: the successor gets the reason, the checkpoint and the intents',
    async run({ store, now }) {
      const ann = await worker(store);
      const { tenure, fence } = await mustAcquire(store, ann);
      await mustSave(store, tenure, 1);
      expectKind(await store.leases.beginIntent(beginning(tenure, 'charge')), 'begun');
      await mustSeal(store);
      const seal = await store.seals.read();
      assert.equal(
        seal?.heldUntil,
        now() + 3_600_000,
        'until then ann may think that she holds it',
      );
      await mustUnseal(store);
      const next = await mustAcquire(store, await worker(store, 'ben'));
      assert.deepEqual(
        [next.predecessor.exit, next.predecessor.fence, next.predecessor.actor],
        ['revoked', fence, SEAL.actor],
      );
      assert.match(next.predecessor.cause ?? '', /^sealed: exported to /);
      assert.equal(textOf(next.checkpoint?.bytes), 'state 1');
      assert.deepEqual(
        next.intents.map(({ effect }) => effect),
        ['charge'],
      );
    },
  },
];
