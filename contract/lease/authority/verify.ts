import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { expectUnchanged, unchangedBy } from '../expect.ts';
import {
  draining,
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustRelease,
  openedSession,
} from '../opened-session.ts';

export const verifyCases: readonly ContractCase[] = [
  {
    upholds: 'O-3, C-7',
    name: 'verify returns current for the newest fence, with the time left',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { key, fence } = await mustAcquire(store, ann);
      await advance(3_000);
      const result = await unchangedBy(store, () => store.leases.verify({ key, fence }));
      assert.deepEqual(result, { kind: 'current', authorityMs: 5_000 });
    },
  },
  {
    upholds: 'O-3',
    name: 'the lease’s own deadline limits how long a fence is current',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const capped = await mustAcquire(store, ann, { tenureMsMax: 2_000 });
      assert.deepEqual(await store.leases.verify(capped), { kind: 'current', authorityMs: 2_000 });
      const drained = await mustAcquire(store, ann, { key: keyOf('drained') });
      await store.leases.requestDrain(draining(drained));
      await advance(1_000);
      await mustBeat(store, ann);
      await advance(4_000);
      assert.deepEqual(await store.leases.verify(drained), { kind: 'current', authorityMs: 4_000 });
    },
  },
  {
    upholds: 'O-3, T-7',
    name: 'once a successor is granted the key, the old fence is superseded, and the refusal names the holder',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const old = await mustAcquire(store, ann);
      await mustRelease(store, old.tenure);
      const { fence } = await mustAcquire(store, bob);
      assert.deepEqual(await store.leases.verify(old), {
        kind: 'refused',
        why: 'superseded',
        key: KEY,
        fence: old.fence,
        newest: fence,
        holder: bob.owner,
      });
    },
  },
  {
    upholds: 'O-3, E-1',
    name: 'a lapsed, expired or ended fence is never current, even without a successor',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const held = await mustAcquire(store, ann);
      await advance(7_999);
      assert.deepEqual(await store.leases.verify(held), { kind: 'current', authorityMs: 1 });
      await advance(1);
      await expectUnchanged(store, 'lapsed', () => store.leases.verify(held));
      await advance(2_000);
      await expectUnchanged(store, 'expired', () => store.leases.verify(held));
      const bob = await openedSession(store, 'bob');
      const next = await mustAcquire(store, bob);
      await mustRelease(store, next.tenure);
      await expectUnchanged(store, 'ended', () => store.leases.verify(next));
    },
  },
  {
    upholds: 'O-3',
    name: 'a key that was never held has no current fence',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { fence } = await mustAcquire(store, ann);
      const never = { key: keyOf('never'), fence };
      await expectUnchanged(store, 'key-unknown', () => store.leases.verify(never));
    },
  },
];
