import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { expectKind } from '../expect.ts';
import { acquiring, KEY, mustAcquire, mustBeat, openedSession } from '../opened-session.ts';

export const clockCases: readonly ContractCase[] = [
  {
    upholds: 'C-2',
    needs: 'host-clock',
    name: 'setting the clock back extends no session',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob', { ttlMs: 60_000 });
      await mustAcquire(store, ann);
      await advance(9_000);
      await mustBeat(store, bob);
      await advance(-8_000);
      assert.equal((await store.leases.inspect(KEY)).freeInMs, 1_000);
      assert.equal(expectKind(await store.sessions.heartbeat(bob), 'alive').remainingMs, 60_000);
      await advance(9_000);
      assert.equal((await mustAcquire(store, bob)).predecessor.exit, 'expired');
    },
  },
  {
    upholds: 'C-2',
    needs: 'host-clock',
    name: 'a session that was overdue before the clock was set back is overdue after it',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await advance(10_000);
      await openedSession(store, 'bob');
      await advance(-9_000);
      assert.equal((await store.sessions.inspect(ann.id))?.state, 'overdue');
    },
  },
  {
    upholds: 'C-1',
    name: 'while the clock stands still no session ends, however often it is checked',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob', { ttlMs: 60_000 });
      const held = await mustAcquire(store, ann);
      await advance(9_999);
      for (let time = 0; time < 10; time += 1) {
        expectKind(await store.leases.acquire(acquiring(bob)), 'refused');
        assert.deepEqual((await store.sessions.sweep({ limit: 10 })).expired, []);
      }
      await mustBeat(store, ann);
      assert.equal((await store.leases.verify(held)).kind, 'current');
    },
  },
  {
    upholds: 'C-1',
    name: 'a clock that jumps years ahead expires a silent session and breaks nothing',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      await mustAcquire(store, ann);
      await advance(20 * 31_536_000_000);
      const bob = await openedSession(store, 'bob');
      assert.equal((await mustAcquire(store, bob)).predecessor.exit, 'expired');
    },
  },
];
