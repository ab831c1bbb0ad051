import assert from 'node:assert/strict';
import type { KernelStore, RequestDrain } from '../../../src/lease/port.ts';
import type { ContractCase } from '../contract-case.ts';
import { expectKind, expectUnchanged } from '../expect.ts';
import {
  acquiring,
  draining,
  type Held,
  KEY,
  mustAcquire,
  mustRelease,
  type OpenedSession,
  openedSession,
  revoking,
} from '../opened-session.ts';

interface Cast {
  readonly ann: OpenedSession;
  readonly held: Held;
  /** The named successor. */
  readonly bob: OpenedSession;
  readonly cid: OpenedSession;
}

/** An operator asks Ann to hand the key to Bob; Cid wants it too. */
async function handover(store: KernelStore, drain: Partial<RequestDrain> = {}): Promise<Cast> {
  const ann = await openedSession(store, 'ann');
  const bob = await openedSession(store, 'bob', { ttlMs: 600_000 });
  const cid = await openedSession(store, 'cid', { ttlMs: 600_000 });
  const held = await mustAcquire(store, ann);
  expectKind(
    await store.leases.requestDrain(draining(held, { successor: bob.owner, ...drain })),
    'draining',
  );
  return { ann, bob, cid, held };
}

export const reservationCases: readonly ContractCase[] = [
  {
    upholds: 'V-5',
    name: 'after a yield the key is reserved for the named successor for a while, to the millisecond',
    async run({ store, advance }) {
      const { held, bob, cid } = await handover(store);
      await mustRelease(store, held.tenure, 'yielded');
      await advance(4_999);
      await expectUnchanged(store, 'reserved', () => store.leases.acquire(acquiring(cid)));
      assert.deepEqual(await store.leases.acquire(acquiring(cid)), {
        kind: 'refused',
        why: 'reserved',
        key: KEY,
        for: bob.owner,
        freeInMs: 1,
      });
      await advance(1);
      await mustAcquire(store, cid);
    },
  },
  {
    upholds: 'V-5',
    name: 'the named successor enters at once, before waiters',
    async run({ store }) {
      const { held, bob, cid } = await handover(store);
      expectKind(await store.leases.acquire(acquiring(cid, { wait: true })), 'queued');
      await mustRelease(store, held.tenure, 'yielded');
      const grant = await mustAcquire(store, bob);
      assert.equal(grant.predecessor.exit, 'yielded');
    },
  },
  {
    upholds: 'V-5, A-7',
    name: 'a waiter stays queued behind a reservation and gets the key when it runs out',
    async run({ store, advance }) {
      const { held, cid } = await handover(store);
      await mustRelease(store, held.tenure, 'yielded');
      const request = acquiring(cid, { wait: true });
      const queued = expectKind(await store.leases.acquire(request), 'queued');
      assert.equal(queued.refusal.why, 'reserved');
      await advance(5_000);
      expectKind(await store.leases.acquire(request), 'granted');
    },
  },
  {
    upholds: 'V-5',
    name: 'any exit other than a yield opens the key to all at once',
    async run({ store }) {
      const { held, cid } = await handover(store);
      await mustRelease(store, held.tenure, 'failed');
      await mustAcquire(store, cid);
    },
  },
  {
    upholds: 'V-5, V-2',
    name: 'a term that reached its drain deadline, or was revoked, leaves no reservation',
    async run({ store, advance }) {
      const { held, cid } = await handover(store);
      await advance(10_000);
      const late = await mustAcquire(store, cid);
      assert.deepEqual([late.predecessor.exit, late.predecessor.fence], ['revoked', held.fence]);
      await store.leases.requestDrain(draining(late, { successor: cid.owner }));
      await store.leases.revoke(revoking(late));
      const dan = await openedSession(store, 'dan');
      await mustAcquire(store, dan);
    },
  },
  {
    upholds: 'V-5, S-1',
    name: 'a session that ends by yielding reserves its draining keys too, swept or not',
    async run({ store, advance }) {
      const { ann, bob, cid } = await handover(store);
      const by = { kind: 'owner', owner: ann.owner, exit: 'yielded' } as const;
      await store.sessions.end({ id: ann.id, by });
      await expectUnchanged(store, 'reserved', () => store.leases.acquire(acquiring(cid)));
      await advance(1_000);
      await store.sessions.sweep({ limit: 10 });
      const refused = expectKind(await store.leases.acquire(acquiring(cid)), 'refused');
      assert.deepEqual(refused, {
        kind: 'refused',
        why: 'reserved',
        key: KEY,
        for: bob.owner,
        freeInMs: 4_000,
      });
      await mustAcquire(store, bob);
    },
  },
  {
    upholds: 'V-5',
    policy: { reservationMs: 0 },
    name: 'a reservation of no length keeps no session out',
    async run({ store }) {
      const { held, cid } = await handover(store);
      await mustRelease(store, held.tenure, 'yielded');
      await mustAcquire(store, cid);
    },
  },
  {
    upholds: 'V-5',
    name: 'once the successor has had the key, its reservation is gone',
    async run({ store }) {
      const { held, bob, cid } = await handover(store);
      await mustRelease(store, held.tenure, 'yielded');
      await mustRelease(store, (await mustAcquire(store, bob)).tenure, 'yielded');
      await mustAcquire(store, cid);
    },
  },
];
