import assert from 'node:assert/strict';
import type { EndSession, KernelStore } from '../../../src/lease/port.ts';
import type { ContractCase } from '../contract-case.ts';
import { eventsOfKind, expectKind, expectUnchanged } from '../expect.ts';
import {
  mustAcquire,
  mustBeat,
  type OpenedSession,
  OTHER_KEY,
  openedSession,
  openingOf,
  saving,
  sessionIdOf,
} from '../opened-session.ts';

function ending(who: OpenedSession, exit: 'finished' | 'failed' = 'finished'): EndSession {
  return { id: who.id, by: { kind: 'owner', owner: who.owner, exit } };
}

/** A parent with a child that would outlive it. */
async function family(
  store: KernelStore,
): Promise<{ readonly parent: OpenedSession; readonly child: OpenedSession }> {
  const parent = await openedSession(store, 'parent');
  const child = await openedSession(store, 'child', { parent: parent.id, ttlMs: 60_000 });
  return { parent, child };
}

export const hierarchyCases: readonly ContractCase[] = [
  {
    upholds: 'H-1',
    name: 'ending a session ends the leases of its children and grandchildren in the same instant',
    async run({ store }) {
      const { parent, child } = await family(store);
      const grandchild = await openedSession(store, 'grandchild', { parent: child.id });
      await mustAcquire(store, child);
      await mustAcquire(store, grandchild, { key: OTHER_KEY });
      await store.sessions.end(ending(parent, 'failed'));
      const bob = await openedSession(store, 'bob');
      assert.equal((await mustAcquire(store, bob)).predecessor.exit, 'failed');
      const other = await mustAcquire(store, bob, { key: OTHER_KEY });
      assert.deepEqual(
        [other.predecessor.exit, other.predecessor.owner],
        ['failed', grandchild.owner],
      );
    },
  },
  {
    upholds: 'H-1',
    name: 'a child can neither beat nor write nor open children once its parent has ended',
    async run({ store }) {
      const { parent, child } = await family(store);
      const { tenure } = await mustAcquire(store, child);
      await store.sessions.end(ending(parent));
      const { sessions, leases } = store;
      const below = openingOf('below', { parent: child.id });
      await expectUnchanged(store, 'session-ended', () => sessions.heartbeat(child));
      await expectUnchanged(store, 'ended', () => leases.checkpoint(saving(tenure, 1)));
      await expectUnchanged(store, 'session-ended', () => sessions.open(below));
      await expectUnchanged(store, 'session-ended', () => sessions.end(ending(child, 'failed')));
      assert.equal((await sessions.inspect(child.id))?.state, 'ended');
    },
  },
  {
    upholds: 'H-2',
    name: 'a child has authority for no longer than each of its ancestors',
    async run({ store, advance }) {
      const { child } = await family(store);
      await advance(1_000);
      const beat = expectKind(await store.sessions.heartbeat(child), 'alive');
      assert.deepEqual([beat.ttlMs, beat.authorityMs, beat.remainingMs], [60_000, 7_000, 9_000]);
      assert.equal((await mustAcquire(store, child)).authorityMs, 7_000);
    },
  },
  {
    upholds: 'H-1, G-3',
    name: 'a lapsed parent takes authority from its children, and its rejoin gives it back',
    async run({ store, advance }) {
      const { parent, child } = await family(store);
      const held = await mustAcquire(store, child);
      await advance(8_000);
      assert.equal((await store.leases.inspect(held.key)).state, 'lapsed');
      await expectUnchanged(store, 'lapsed', () => store.leases.checkpoint(saving(held.tenure, 1)));
      await mustBeat(store, parent);
      assert.equal((await store.leases.inspect(held.key)).state, 'held');
      expectKind(await store.leases.checkpoint(saving(held.tenure, 1)), 'saved');
    },
  },
  {
    upholds: 'H-2, G-3',
    name: 'the heartbeat of a child with a lapsed parent returns no authority and no rejoin',
    async run({ store, advance }) {
      const { child } = await family(store);
      await advance(9_000);
      for (let round = 0; round < 2; round += 1) {
        const beat = expectKind(await store.sessions.heartbeat(child), 'alive');
        assert.equal(beat.rejoined, false);
        assert.ok(beat.authorityMs <= 0, `${beat.authorityMs} must not be authority`);
      }
      assert.deepEqual(await eventsOfKind(store, 'session-rejoined'), []);
    },
  },
  {
    upholds: 'H-1, E-4',
    name: 'when a parent is overdue, the leases of its children can be taken, as expired',
    async run({ store, advance }) {
      const { child } = await family(store);
      const { fence } = await mustAcquire(store, child);
      await advance(9_999);
      const bob = await openedSession(store, 'bob');
      await advance(1);
      const { predecessor } = await mustAcquire(store, bob);
      assert.deepEqual(
        [predecessor.exit, predecessor.owner, predecessor.fence],
        ['expired', child.owner, fence],
      );
      await expectUnchanged(store, 'session-expired', () => store.sessions.heartbeat(child));
    },
  },
  {
    upholds: 'H-1',
    name: 'the end of a child leaves its parent and its siblings alone',
    async run({ store }) {
      const { parent, child } = await family(store);
      const sibling = await openedSession(store, 'sibling', { parent: parent.id });
      const held = await mustAcquire(store, sibling);
      await store.sessions.end(ending(child));
      await mustBeat(store, parent);
      await mustBeat(store, sibling);
      assert.equal((await store.leases.verify(held)).kind, 'current');
    },
  },
  {
    upholds: 'H-1',
    name: 'a parent’s heartbeat does not keep its children alive, nor theirs the parent',
    async run({ store, advance }) {
      const parent = await openedSession(store, 'parent');
      const child = await openedSession(store, 'child', { parent: parent.id });
      await advance(7_000);
      await mustBeat(store, parent);
      await advance(3_000);
      assert.equal((await store.sessions.inspect(child.id))?.state, 'overdue');
      assert.equal((await store.sessions.inspect(parent.id))?.state, 'alive');
    },
  },
  {
    upholds: 'H-1, S-1',
    name: 'a session cannot be opened under a parent that is unknown, lapsed, overdue or ended',
    async run({ store, advance }) {
      const parent = await openedSession(store, 'parent');
      const ended = await openedSession(store, 'ended');
      await store.sessions.end(ending(ended));
      const below = (id: OpenedSession['id']) => openingOf('child', { parent: id });
      const { sessions } = store;
      const ghost = sessionIdOf('ghost');
      await expectUnchanged(store, 'session-unknown', () => sessions.open(below(ghost)));
      await expectUnchanged(store, 'session-ended', () => sessions.open(below(ended.id)));
      await advance(8_000);
      await expectUnchanged(store, 'session-lapsed', () => sessions.open(below(parent.id)));
      await advance(2_000);
      await expectUnchanged(store, 'session-expired', () => sessions.open(below(parent.id)));
    },
  },
  {
    upholds: 'H-5',
    name: 'sessions nest as deep as the policy allows and no deeper',
    policy: { sessionDepthMax: 3 },
    async run({ store }) {
      const first = await openedSession(store, 'first');
      const second = await openedSession(store, 'second', { parent: first.id });
      const third = await openedSession(store, 'third', { parent: second.id });
      const fourth = openingOf('fourth', { parent: third.id });
      await expectUnchanged(store, 'session-too-deep', () => store.sessions.open(fourth));
      const path = (await store.sessions.inspect(third.id))?.session.path;
      assert.deepEqual(path, [first.id, second.id, third.id]);
    },
  },
  {
    upholds: 'A-2, H-1',
    name: 'if two sessions of one chain end, the successor gets the earlier end',
    async run({ store, advance }) {
      const { parent, child } = await family(store);
      await mustAcquire(store, child);
      await store.sessions.end(ending(child, 'failed'));
      await advance(1_000);
      await store.sessions.end(ending(parent, 'finished'));
      const bob = await openedSession(store, 'bob');
      assert.equal((await mustAcquire(store, bob)).predecessor.exit, 'failed');
    },
  },
];
