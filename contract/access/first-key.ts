import assert from 'node:assert/strict';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import type { AccessCase } from './contract-case.ts';
import { allKeys, creating, leavesKeysUnchanged, mustAdd, PROJECT } from './test-keys.ts';

const NOT_FIRST = { kind: 'refused', why: 'not-first' };

export const firstKeyCases: readonly AccessCase[] = [
  {
    upholds: 'P-6',
    name: 'a first key is created in a store without keys, and creating it again returns it',
    async run({ store }) {
      const first = await mustAdd(store, { first: true, roles: ['admin'] });
      const again = await leavesKeysUnchanged(store, () => store.access.createKey(first));
      assert.deepEqual(again, { kind: 'created', existing: true });
      const { first: _, ...asAny } = first;
      assert.deepEqual(await store.access.createKey(asAny), { kind: 'created', existing: true });
      assert.deepEqual(await store.access.createKey(creating({ first: true })), NOT_FIRST);
      await mustAdd(store);
    },
  },
  {
    upholds: 'P-6',
    name: 'a first key is refused if any key exists, also one of a project, an ended or an expired one',
    async run({ store, advance }) {
      const key = await mustAdd(store, { project: PROJECT, expiresInMs: 10 });
      const refused = async (): Promise<void> => {
        const operation = () => store.access.createKey(creating({ first: true }));
        assert.deepEqual(await leavesKeysUnchanged(store, operation), NOT_FIRST);
      };
      await refused();
      await advance(11);
      await refused();
      await store.access.revokeKey({ id: key.id });
      await refused();
    },
  },
  {
    upholds: 'P-6',
    needs: 'two-clients',
    name: 'when many first keys are created at once, exactly one is stored',
    async run({ store, another }) {
      const stores = [store, await another(), await another()];
      const keys = Array.from({ length: 12 }, () => creating({ first: true, roles: ['admin'] }));
      const results = await Promise.all(
        keys.map((each, nth) => (stores[nth % 3] ?? store).access.createKey(each)),
      );
      const winners = keys.filter((_, nth) => results[nth]?.kind === 'created');
      assert.equal(winners.length, 1);
      for (const result of results) {
        if (result.kind !== 'created') assert.deepEqual(result, NOT_FIRST);
      }
      assert.deepEqual(await idsOf(store), [winners[0]?.id]);
    },
  },
  {
    upholds: 'P-6',
    needs: 'two-clients',
    name: 'a first key that races other keys is stored exactly if the store returns created, and the others are stored',
    async run({ store, another }) {
      const other = await another();
      const first = creating({ first: true });
      const others = Array.from({ length: 8 }, () => creating());
      const [result] = await Promise.all([
        store.access.createKey(first),
        ...others.map((each) => other.access.createKey(each)),
      ]);
      const added = others.map(({ id }) => id);
      const expected = result.kind === 'created' ? [first.id, ...added] : added;
      assert.deepEqual(await idsOf(store), expected.toSorted());
    },
  },
];

async function idsOf(store: CoordinatorStore): Promise<readonly string[]> {
  return (await allKeys(store, { all: true })).map(({ id }) => id).toSorted();
}
