// Conditions that only show when two of them meet.

import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { expectUnchanged } from '../expect.ts';
import { mustBeat, several, someone } from '../someone.ts';

export const sessionGuardCases: readonly ContractCase[] = [
  {
    upholds: 'H-2, R-1',
    name: 'a child’s heartbeat is refused from the millisecond its parent expires, though it is early itself',
    async run({ store, advance }) {
      const parent = await someone(store, 'parent');
      const child = await someone(store, 'child', { parent: parent.id, ttlMs: 60_000 });
      await advance(9_999);
      await mustBeat(store, child);
      await advance(1);
      await expectUnchanged(store, 'session-expired', () => store.sessions.heartbeat(child));
    },
  },
  {
    upholds: 'H-2, L-4',
    name: 'a child’s owner may not say how it ended from the millisecond its parent expires',
    async run({ store, advance }) {
      const parent = await someone(store, 'parent');
      const child = await someone(store, 'child', { parent: parent.id, ttlMs: 60_000 });
      const by = { kind: 'owner', owner: child.owner, exit: 'finished' } as const;
      await advance(10_000);
      await expectUnchanged(store, 'session-expired', () =>
        store.sessions.end({ id: child.id, by }),
      );
    },
  },
  {
    upholds: 'E-8, E-6',
    name: 'the breaker holds back only those who have not had their chance: the others expire meanwhile',
    async run({ store, advance }) {
      const early = await several(store, 'early', { count: 10 });
      await advance(10_000);
      assert.equal((await store.sessions.sweep({ limit: 100 })).paused, 10);
      await advance(5_000);
      await several(store, 'late', { count: 12 });
      await advance(10_000);
      const swept = await store.sessions.sweep({ limit: 100 });
      assert.deepEqual([...swept.expired].sort(), early.map(({ id }) => id).sort());
      assert.equal(swept.paused, 12);
    },
  },
];
