import assert from 'node:assert/strict';
import { epochOf, toFence } from '../../../src/lease/fence.ts';
import { expectKind } from '../../lease/expect.ts';
import { acquiring } from '../../lease/opened-session.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { expectRefusedUnchanged, expectWhy } from '../expect.ts';
import { claimIds, claiming, mustRecord, mustSubmit, nextId, running, worker } from '../worker.ts';
import { OWNER_VERBS } from './owner-verbs.ts';

export const haltingCases: readonly ExecutionCase[] = [
  ...OWNER_VERBS.map(
    ({ verb, operation }): ExecutionCase => ({
      upholds: 'X-6, T-4',
      name: `${verb} under a fence that was never issued is refused and halts claims until the epoch is raised`,
      async run({ store }) {
        const ann = await worker(store);
        const held = await running(store, ann);
        const forged = toFence(held.fence + 1_000);
        await expectRefusedUnchanged(store, 'fence-ahead', () =>
          operation(store, { ...held, fence: forged }),
        );
        const waiting = await mustSubmit(store);
        const refused = expectKind(await store.executions.claim(claiming(ann)), 'refused');
        assert.deepEqual(refused, { kind: 'refused', why: 'halted', presented: forged });
        const acquired = await store.leases.acquire(acquiring(ann));
        assert.ok('why' in acquired && acquired.why === 'halted', JSON.stringify(acquired));
        await mustRecord(store, held);
        await store.raiseEpoch({ actor: 'olga', reason: 'looked into it' });
        assert.deepEqual(await claimIds(store, ann), [waiting]);
      },
    }),
  ),
  {
    upholds: 'X-6, T-4',
    name: 'a forged fence for a missing execution halts claims too',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      for (const { operation } of OWNER_VERBS) {
        const forged = { ...held, id: nextId(), fence: toFence(held.fence + 5) };
        expectWhy(await operation(store, forged), 'fence-ahead');
      }
      expectWhy(await store.executions.claim(claiming(ann)), 'halted');
    },
  },
  {
    upholds: 'X-6, T-3',
    name: 'after the epoch is raised, claims have fences above all that were issued or shown',
    async run({ store }) {
      const ann = await worker(store);
      const held = await running(store, ann);
      const forged = toFence(held.fence + 1_000);
      const verb = OWNER_VERBS[0];
      assert(verb !== undefined);
      expectWhy(await verb.operation(store, { ...held, fence: forged }), 'fence-ahead');
      await store.raiseEpoch({ actor: 'olga', reason: 'looked into it' });
      const next = await running(store, ann);
      assert.ok(next.fence > forged);
      const lease = expectKind(await store.leases.acquire(acquiring(ann)), 'granted');
      assert.ok(lease.fence > next.fence, 'leases and claims share one sequence');
    },
  },
  {
    upholds: 'X-6, T-4',
    needs: 'server',
    name: 'after a failover to another server the epoch rises before any claim; a restart in place keeps it',
    async run({ store, restarted }) {
      assert(restarted !== undefined, 'a backend that offers a server has `restarted`');
      const ann = await worker(store);
      const first = await running(store, ann);
      await restarted('elsewhere');
      const second = await running(store, ann);
      assert.equal(epochOf(second.fence), epochOf(first.fence) + 1);
      await restarted('in-place');
      const third = await running(store, ann);
      assert.equal(epochOf(third.fence), epochOf(second.fence), 'a restart in place does not');
    },
  },
];
