import assert from 'node:assert/strict';
import { DECLARED_EXITS } from '../../../src/lease/exit.ts';
import type { EndSession } from '../../../src/lease/port.ts';
import type { ContractCase } from '../contract-case.ts';
import { eventsOfKind, expectKind, expectUnchanged, unchangedBy } from '../expect.ts';
import {
  acquiring,
  beginning,
  keyOf,
  mustAcquire,
  mustBeat,
  type OpenedSession,
  openedSession,
  ownerOf,
  saving,
  sessionIdOf,
} from '../opened-session.ts';

function finishing(who: OpenedSession): EndSession {
  return { id: who.id, by: { kind: 'owner', owner: who.owner, exit: 'finished' } };
}

function evicting(who: OpenedSession): EndSession {
  return { id: who.id, by: { kind: 'operator', actor: 'olga', reason: 'host is gone' } };
}

export const endSessionCases: readonly ContractCase[] = [
  {
    upholds: 'S-1, L-3',
    name: 'the end of a session frees all its leases in the same instant',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const keys = Array.from({ length: 10 }, (_, number) => keyOf(`part ${number}`));
      for (const key of keys) await mustAcquire(store, ann, { key });
      assert.deepEqual(await store.sessions.end(finishing(ann)), {
        kind: 'ended',
        replayed: false,
      });
      for (const key of keys) {
        const { predecessor } = await mustAcquire(store, bob, { key });
        assert.deepEqual([predecessor.owner, predecessor.exit], [ann.owner, 'finished']);
      }
    },
  },
  {
    upholds: 'L-1, A-2',
    name: 'successors get the exit that the owner declared for its session',
    async run({ store }) {
      const bob = await openedSession(store, 'bob');
      for (const exit of DECLARED_EXITS) {
        const ann = await openedSession(store, `ann ${exit}`);
        const key = keyOf(exit);
        await mustAcquire(store, ann, { key });
        await store.sessions.end({ id: ann.id, by: { kind: 'owner', owner: ann.owner, exit } });
        const { predecessor } = await mustAcquire(store, bob, { key, reopen: true });
        assert.equal(predecessor.exit, exit);
      }
    },
  },
  {
    upholds: 'U-2',
    name: 'repeating the end of a session succeeds and changes nothing',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await mustAcquire(store, ann);
      await store.sessions.end(finishing(ann));
      await advance(1_000);
      const again = await unchangedBy(store, () => store.sessions.end(finishing(ann)));
      assert.deepEqual(again, { kind: 'ended', replayed: true });
    },
  },
  {
    upholds: 'S-4, U-2',
    name: 'a second, different end is refused with the exit of the first',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      await store.sessions.end(finishing(ann));
      const failed: EndSession = {
        id: ann.id,
        by: { kind: 'owner', owner: ann.owner, exit: 'failed' },
      };
      await expectUnchanged(store, 'session-ended', () => store.sessions.end(failed));
      await expectUnchanged(store, 'session-ended', () => store.sessions.end(evicting(ann)));
      assert.deepEqual(await store.sessions.end(failed), {
        kind: 'refused',
        why: 'session-ended',
        session: ann.id,
        exit: 'finished',
      });
    },
  },
  {
    upholds: 'T-6',
    name: 'a session cannot be ended in the name of another owner',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const forged = finishing({ id: ann.id, owner: ownerOf('mallory') });
      await expectUnchanged(store, 'session-not-yours', () => store.sessions.end(forged));
    },
  },
  {
    upholds: 'S-4',
    name: 'a session that was never opened cannot be ended, by an owner or by an operator',
    async run({ store }) {
      const ghost = { id: sessionIdOf('ghost'), owner: ownerOf('ghost') };
      await expectUnchanged(store, 'session-unknown', () => store.sessions.end(finishing(ghost)));
      await expectUnchanged(store, 'session-unknown', () => store.sessions.end(evicting(ghost)));
    },
  },
  {
    upholds: 'L-4',
    name: 'from its expiry on the owner can no longer declare how the session ended',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await mustAcquire(store, ann);
      await advance(10_000);
      await expectUnchanged(store, 'session-expired', () => store.sessions.end(finishing(ann)));
      const bob = await openedSession(store, 'bob');
      assert.equal((await mustAcquire(store, bob)).predecessor.exit, 'expired');
    },
  },
  {
    upholds: 'L-4, G-1',
    name: 'a lapsed session can still end itself, since no successor can have entered',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await mustAcquire(store, ann);
      await advance(9_999);
      expectKind(await store.sessions.end(finishing(ann)), 'ended');
      const bob = await openedSession(store, 'bob');
      assert.equal((await mustAcquire(store, bob)).predecessor.exit, 'finished');
    },
  },
  {
    upholds: 'V-3, O-5',
    name: 'an operator can end a session by force, and events and successors have the operator and the reason',
    async run({ store, now }) {
      const ann = await openedSession(store, 'ann');
      const { fence } = await mustAcquire(store, ann);
      expectKind(await store.sessions.end(evicting(ann)), 'ended');
      const [event] = await eventsOfKind(store, 'session-ended');
      assert.deepEqual(
        [event?.session, event?.exit, event?.actor, event?.cause],
        [ann.id, 'revoked', 'olga', 'host is gone'],
      );
      const bob = await openedSession(store, 'bob');
      assert.deepEqual((await mustAcquire(store, bob)).predecessor, {
        exit: 'revoked',
        owner: ann.owner,
        fence,
        endedAt: now(),
        actor: 'olga',
        cause: 'host is gone',
      });
    },
  },
  {
    upholds: 'V-3, S-3',
    name: 'an operator can end an overdue session, and then it was revoked, not expired',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await mustAcquire(store, ann);
      await advance(12_000);
      expectKind(await store.sessions.end(evicting(ann)), 'ended');
      const bob = await openedSession(store, 'bob');
      assert.equal((await mustAcquire(store, bob)).predecessor.exit, 'revoked');
    },
  },
  {
    upholds: 'T-6, S-1',
    name: 'a holder whose session was ended can do nothing more, even without a successor',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await store.sessions.end(evicting(ann));
      const { leases, sessions } = store;
      await expectUnchanged(store, 'ended', () => leases.checkpoint(saving(tenure, 1)));
      await expectUnchanged(store, 'ended', () => leases.beginIntent(beginning(tenure, 'pay')));
      await expectUnchanged(store, 'ended', () => leases.settleIntent(beginning(tenure, 'pay')));
      await expectUnchanged(store, 'ended', () => leases.release({ ...tenure, exit: 'finished' }));
      await expectUnchanged(store, 'ended', () => leases.verify(tenure));
      await expectUnchanged(store, 'session-ended', () => leases.acquire(acquiring(ann)));
      await expectUnchanged(store, 'session-ended', () => sessions.heartbeat(ann));
    },
  },
  {
    upholds: 'S-1',
    name: 'the end of one session leaves the others and their leases alone',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const held = await mustAcquire(store, bob);
      await store.sessions.end(finishing(ann));
      await advance(1_000);
      await mustBeat(store, bob);
      assert.equal((await store.leases.verify(held)).kind, 'current');
    },
  },
  {
    upholds: 'S-4, E-3',
    needs: 'two-clients',
    name: 'when owner and operator end a session at once, it ends once',
    async run({ store, another }) {
      const other = await another();
      const ann = await openedSession(store, 'ann');
      await mustAcquire(store, ann);
      const results = await Promise.all([
        store.sessions.end(finishing(ann)),
        other.sessions.end(evicting(ann)),
        store.sessions.end(finishing(ann)),
        other.sessions.end(evicting(ann)),
      ]);
      const done = results.filter((each) => each.kind === 'ended' && !each.replayed);
      assert.equal(done.length, 1);
      assert.equal((await eventsOfKind(store, 'session-ended')).length, 1);
    },
  },
];
