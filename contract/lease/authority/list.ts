import assert from 'node:assert/strict';
import type { ContractCase } from '../contract-case.ts';
import { keyOf, mustAcquire, mustRelease, openedSession, saving } from '../opened-session.ts';

/** The keys in byte order, which differs from JavaScript's order for the last two. */
const KEYS = ['a', 'a/1', 'a/10', 'a/2', 'a0', 'b/1', 'a/\u{ffee}', 'a/\u{1f600}'].map(keyOf);

export const listCases: readonly ContractCase[] = [
  {
    upholds: 'O-2, H-3',
    name: 'leases are listed by prefix, in byte order, page by page, each once',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      for (const key of KEYS) await mustAcquire(store, ann, { key });
      const under = KEYS.filter((key) => key.startsWith('a/'));
      const wanted = [...under].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      const listed: string[] = [];
      for (let after = keyOf('a'); ; ) {
        const page = await store.leases.list({ prefix: 'a/', limit: 2, after });
        listed.push(...page.map(({ key }) => key));
        const last = page.at(-1);
        if (last === undefined) break;
        after = last.key;
      }
      assert.deepEqual(listed, wanted);
      assert.equal((await store.leases.list({ limit: 100 })).length, KEYS.length);
    },
  },
  {
    upholds: 'O-2, E-1',
    name: 'a list has the same fields for each lease as an inspection',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob', { ttlMs: 60_000 });
      const [lapsing, ended, retired, held] = ['1', '2', '3', '4'].map((name) => keyOf(name));
      assert(lapsing && ended && retired && held);
      const first = await mustAcquire(store, ann, { key: lapsing });
      await store.leases.checkpoint(saving(first.tenure, 1));
      const key = ended;
      await mustRelease(store, (await mustAcquire(store, bob, { key })).tenure, 'failed');
      const third = await mustAcquire(store, bob, { key: retired });
      await mustRelease(store, third.tenure, 'retired');
      await mustAcquire(store, bob, { key: held });
      await advance(8_000);
      const listed = await store.leases.list({ limit: 10 });
      assert.deepEqual(
        listed.map(({ state, exit, owner }) => [state, exit, owner]),
        [
          ['lapsed', undefined, 'ann'],
          ['free', 'failed', 'bob'],
          ['retired', 'retired', 'bob'],
          ['held', undefined, 'bob'],
        ],
      );
      for (const lease of listed) {
        const { state, freeInMs, record } = await store.leases.inspect(lease.key);
        assert.deepEqual([lease.state, lease.freeInMs], [state, freeInMs]);
        assert.deepEqual([lease.fence, lease.since], [record?.fence, record?.grantedAt]);
      }
    },
  },
  {
    upholds: 'O-2, A-1',
    needs: 'two-clients',
    name: 'a client that only listed keys acquires them in their current state',
    async run({ store, another }) {
      const other = await another();
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(other, 'bob');
      const keys = [keyOf('1'), keyOf('2')];
      for (const key of keys) {
        const { tenure } = await mustAcquire(store, ann, { key });
        await other.leases.list({ limit: 10 });
        await store.leases.checkpoint(saving(tenure, 1));
        await mustRelease(store, tenure, 'yielded');
      }
      await other.leases.list({ limit: 10 });
      for (const key of keys) {
        const { checkpoint, predecessor } = await mustAcquire(other, bob, { key });
        assert.deepEqual([checkpoint?.seq, predecessor.exit], [1, 'yielded']);
      }
    },
  },
];
