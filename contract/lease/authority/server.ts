import assert from 'node:assert/strict';
import { epochOf } from '../../../src/lease/fence.ts';
import type { ContractCase, KernelHarness } from '../contract-case.ts';
import { expectKind, expectRefusal } from '../expect.ts';
import { acquiring, mustAcquire, mustRelease, openedSession, TTL_MS } from '../opened-session.ts';

const needs = 'server';

async function restarted(harness: KernelHarness, how: 'in-place' | 'elsewhere'): Promise<void> {
  assert(harness.restarted !== undefined, 'a backend that offers a server has `restarted`');
  await harness.restarted(how);
}

export const serverCases: readonly ContractCase[] = [
  {
    upholds: 'E-6',
    needs,
    name: 'after a restart of the server a delayed heartbeat is accepted',
    async run(harness) {
      const { store, advance } = harness;
      const ann = await openedSession(store, 'ann');
      await advance(TTL_MS + 60_000);
      await restarted(harness, 'in-place');
      expectKind(await store.sessions.heartbeat(ann), 'alive');
    },
  },
  {
    upholds: 'E-6',
    needs,
    name: 'after a restart of the server the holder gets one fair chance before a takeover',
    async run(harness) {
      const { store, advance } = harness;
      const held = await mustAcquire(store, await openedSession(store, 'ann'));
      await advance(TTL_MS + 60_000);
      await restarted(harness, 'in-place');
      const bob = await openedSession(store, 'bob', { ttlMs: 600_000 });
      expectRefusal(await store.leases.acquire(acquiring(bob)), 'reclaim-paused');
      await restarted(harness, 'in-place');
      await advance(store.policy.recoveryGraceMs);
      const next = await mustAcquire(store, bob);
      assert(next.fence > held.fence);
    },
  },
  {
    upholds: 'T-4, T-9',
    needs,
    name: 'after a failover to another server the epoch rises before any grant; a restart in place keeps it',
    async run(harness) {
      const { store } = harness;
      const ann = await openedSession(store, 'ann');
      const held = await mustAcquire(store, ann);
      await mustRelease(store, held.tenure);
      await restarted(harness, 'elsewhere');
      const next = await mustAcquire(store, ann);
      assert.equal(epochOf(next.fence), epochOf(held.fence) + 1);
      await restarted(harness, 'in-place');
      await mustRelease(store, next.tenure);
      const third = await mustAcquire(store, ann);
      assert.equal(epochOf(third.fence), epochOf(next.fence), 'a restart in place does not');
    },
  },
  {
    upholds: 'T-4, S-2',
    needs,
    name: 'after a failover to another server the next heartbeat gives notice, without a grant',
    async run(harness) {
      const { store } = harness;
      const ann = await openedSession(store, 'ann');
      const before = expectKind(await store.sessions.heartbeat(ann), 'alive');
      await restarted(harness, 'elsewhere');
      const after = expectKind(await store.sessions.heartbeat(ann), 'alive');
      assert(after.notices > before.notices, 'holders look which of their leases are there');
    },
  },
];
