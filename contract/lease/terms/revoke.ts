import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { eventsOfKind, expectKind, expectUnchanged, unchangedBy } from '../expect.ts';
import {
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustRelease,
  OTHER_KEY,
  openedSession,
  requestOf,
  revoking,
  saving,
} from '../opened-session.ts';

export const revokeCases: readonly ContractCase[] = [
  {
    upholds: 'V-3, T-7',
    name: 'a revoke ends the term now: the holder’s next write is refused, with actor and reason kept',
    async run({ store, now }) {
      const ann = await openedSession(store, 'ann');
      const { tenure, fence } = await mustAcquire(store, ann);
      assert.deepEqual(await store.leases.revoke(revoking(tenure)), {
        kind: 'revoked',
        replayed: false,
      });
      assert.deepEqual(await store.leases.checkpoint(saving(tenure, 1)), {
        kind: 'refused',
        why: 'ended',
        key: KEY,
        fence,
        exit: 'revoked',
        cause: 'stuck',
      });
      const { state, record } = await store.leases.inspect(KEY);
      assert.deepEqual(
        [state, record?.end?.exit, record?.end?.actor, record?.end?.cause, record?.end?.at],
        ['free', 'revoked', 'olga', 'stuck', now()],
      );
    },
  },
  {
    upholds: 'U-2, V-3',
    name: 'repeating a revoke succeeds and changes nothing',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await store.leases.revoke(revoking(tenure));
      await advance(1_000);
      const again = await unchangedBy(store, () => store.leases.revoke(revoking(tenure)));
      assert.deepEqual(again, { kind: 'revoked', replayed: true });
    },
  },
  {
    upholds: 'V-3',
    name: 'an ended term cannot be revoked, by any operator',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const first = await mustAcquire(store, ann);
      await store.leases.revoke(revoking(first));
      const another = revoking(first, { request: requestOf('another'), actor: 'otto' });
      await expectUnchanged(store, 'ended', () => store.leases.revoke(another));
      const second = await mustAcquire(store, ann);
      await mustRelease(store, second.tenure);
      await expectUnchanged(store, 'ended', () => store.leases.revoke(revoking(second)));
    },
  },
  {
    upholds: 'V-3, T-6',
    name: 'a revoke of a replaced term does not affect the successor',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const old = await mustAcquire(store, ann);
      await advance(10_000);
      const bob = await openedSession(store, 'bob');
      const held = await mustAcquire(store, bob);
      await expectUnchanged(store, 'superseded', () => store.leases.revoke(revoking(old)));
      assert.equal((await store.leases.verify(held)).kind, 'current');
      const never = { key: keyOf('never'), fence: held.fence };
      await expectUnchanged(store, 'key-unknown', () => store.leases.revoke(revoking(never)));
    },
  },
  {
    upholds: 'V-3, S-3',
    name: 'an overdue term that was not reclaimed can be revoked, and then it was revoked, not expired',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const held = await mustAcquire(store, ann);
      await advance(10_000);
      expectKind(await store.leases.revoke(revoking(held)), 'revoked');
      const bob = await openedSession(store, 'bob');
      assert.equal((await mustAcquire(store, bob)).predecessor.exit, 'revoked');
      await store.sessions.sweep({ limit: 10 });
      assert.deepEqual(
        (await eventsOfKind(store, 'ended')).map(({ exit }) => exit),
        ['revoked'],
      );
    },
  },
  {
    upholds: 'O-5, V-3',
    name: 'a revoke is in the events with the operator and the reason',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { key, fence } = await mustAcquire(store, ann);
      await store.leases.revoke(revoking({ key, fence }));
      const [event] = await eventsOfKind(store, 'ended');
      assert.deepEqual(
        [event?.key, event?.fence, event?.exit, event?.actor, event?.cause],
        [key, fence, 'revoked', 'olga', 'stuck'],
      );
    },
  },
  {
    upholds: 'V-3, S-2',
    name: 'a revoke takes one lease: the session lives, keeps its others and gets a notice',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const lost = await mustAcquire(store, ann);
      const kept = await mustAcquire(store, ann, { key: OTHER_KEY });
      await store.leases.revoke(revoking(lost));
      await mustBeat(store, ann);
      assert.deepEqual(await store.sessions.leases(ann.id), [{ key: kept.key, fence: kept.fence }]);
      assert.equal((await store.sessions.inspect(ann.id))?.session.notices, 1);
    },
  },
  {
    upholds: 'E-3, V-3',
    needs: 'two-clients',
    name: 'when a revoke and a release race, one ends the term, with one end event',
    async run({ store, another }) {
      const other = await another();
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      const [released, revoked] = await Promise.all([
        store.leases.release({ ...tenure, exit: 'finished' }),
        other.leases.revoke(revoking(tenure)),
      ]);
      assert.notEqual(released.kind === 'released', revoked.kind === 'revoked');
      const [event, ...more] = await eventsOfKind(store, 'ended');
      assert.equal(event?.exit, released.kind === 'released' ? 'finished' : 'revoked');
      assert.deepEqual(more, []);
    },
  },
];
