import assert from 'node:assert/strict';
import type { KernelStore } from '../../../src/lease/port.ts';
import { PROJECT_METADATA } from '../../../src/lease/session.ts';
import type { ContractCase } from '../contract-case.ts';
import { expectKind, expectRefusal } from '../expect.ts';
import {
  acquiring,
  mustAcquire,
  mustBeat,
  type OpenedSession,
  openedSession,
} from '../opened-session.ts';

const start = { cause: 'a coordinator started', remote: true } as const;
const TTL_MS = 10_000;

function remote(store: KernelStore, owner: string, project = 'a'): Promise<OpenedSession> {
  const metadata = { [PROJECT_METADATA]: project };
  return openedSession(store, owner, { ttlMs: TTL_MS, graceMs: 0, metadata });
}

export const awayCases: readonly ContractCase[] = [
  {
    upholds: 'E-10',
    name: 'sessions that all fell silent together keep their leases for their fair chance',
    needs: 'projects',
    async run({ store, advance }) {
      const ann = await remote(store, 'ann');
      const bob = await remote(store, 'bob', 'b');
      const held = await mustAcquire(store, ann);
      // The last heartbeats before the coordinators went away were not at once.
      await advance(3_000);
      await mustBeat(store, bob);
      await advance(60_000);
      assert.deepEqual(await store.sessions.recover(start), { extended: 2 });
      const rival = await remote(store, 'rival');
      expectRefusal(await store.leases.acquire(acquiring(rival)), 'reclaim-paused');
      await advance(4_999);
      expectKind(await store.sessions.heartbeat(ann), 'alive');
      assert.equal((await store.leases.verify(held)).kind, 'current');
    },
  },
  {
    upholds: 'E-10',
    name: 'a silent session gets no more time if another one still reached a coordinator',
    needs: 'projects',
    async run({ store, advance }) {
      const ann = await remote(store, 'ann');
      await mustAcquire(store, ann);
      const bob = await remote(store, 'bob');
      await advance(TTL_MS / 2);
      await mustBeat(store, bob);
      await advance(TTL_MS / 2);
      // Bob has half of his time left, and ann has none.
      assert.deepEqual(await store.sessions.recover(start), { extended: 0 });
      const rival = await remote(store, 'rival');
      assert.equal((await mustAcquire(store, rival)).predecessor.exit, 'expired');
    },
  },
  {
    upholds: 'E-10',
    name: 'sessions outside of projects do not count as contact, and get no more time',
    needs: 'projects',
    async run({ store, advance }) {
      const ann = await remote(store, 'ann');
      const embedded = await openedSession(store, 'embedded');
      const dead = await openedSession(store, 'dead');
      await advance(9_000);
      await mustBeat(store, embedded);
      await advance(1_000);
      assert.deepEqual(await store.sessions.recover(start), { extended: 1 });
      assert.equal((await store.sessions.inspect(ann.id))?.remainingMs, 5_000);
      assert.equal((await store.sessions.inspect(dead.id))?.remainingMs, 0);
    },
  },
];
