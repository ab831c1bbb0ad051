import assert from 'node:assert/strict';
import type { AccessCase } from './contract-case.ts';
import { allKeys, mustAdd, mustRead, OTHER_PROJECT, PROJECT } from './test-keys.ts';

export const listKeyCases: readonly AccessCase[] = [
  {
    upholds: 'P-11',
    name: 'keys are listed newest first, then by id, page by page, each once',
    async run({ store, advance }) {
      const ids: string[] = [];
      for (let moment = 0; moment < 3; moment += 1) {
        const batch: string[] = [];
        for (const project of [PROJECT, OTHER_PROJECT, undefined]) {
          const { id } = await mustAdd(store, project === undefined ? {} : { project });
          batch.push(id);
        }
        ids.unshift(...batch.toSorted().toReversed());
        await advance(1);
      }
      for (const limit of [1, 2, 100]) {
        const seen = await allKeys(store, {}, limit);
        assert.deepEqual(
          seen.map(({ id }) => id),
          ids,
        );
      }
      for (const each of await allKeys(store)) {
        assert.deepEqual(each, await mustRead(store, each.id));
      }
    },
  },
  {
    upholds: 'P-11',
    name: 'a list continues where it stopped, even if keys were added or the last listed key has ended',
    async run({ store, advance }) {
      const old = await mustAdd(store);
      await advance(1);
      const young = await mustAdd(store);
      const [seen] = await store.access.keys({ limit: 1 });
      assert.ok(seen !== undefined);
      assert.equal(seen.id, young.id);
      await advance(1);
      await mustAdd(store);
      await store.access.revokeKey({ id: young.id });
      const rest = await store.access.keys({ limit: 10, after: seen });
      assert.deepEqual(
        rest.map(({ id }) => id),
        [old.id],
      );
    },
  },
  {
    upholds: 'P-11, P-9',
    name: 'a project’s list contains only its own keys, page by page',
    async run({ store, advance }) {
      const own: string[] = [];
      for (let count = 0; count < 3; count += 1) {
        own.unshift((await mustAdd(store, { project: PROJECT })).id);
        await mustAdd(store, { project: OTHER_PROJECT });
        await mustAdd(store);
        await advance(1);
      }
      for (const limit of [1, 2, 100]) {
        const seen = await allKeys(store, { project: PROJECT }, limit);
        assert.deepEqual(
          seen.map(({ id }) => id),
          own,
        );
      }
    },
  },
  {
    upholds: 'P-11, P-10',
    name: 'ended and expired keys are listed only on request, from the millisecond of their end',
    async run({ store, advance }) {
      const lasting = await mustAdd(store, { project: PROJECT });
      const ending = await mustAdd(store, { project: PROJECT });
      const expiring = await mustAdd(store, { project: PROJECT, expiresInMs: 20 });
      await store.access.revokeKey({ id: ending.id, inMs: 10 });
      const all = [lasting.id, ending.id, expiring.id];
      const listed = async (ids: readonly string[]): Promise<void> => {
        for (const query of [{}, { project: PROJECT }]) {
          const found = await allKeys(store, query);
          assert.deepEqual(found.map(({ id }) => id).toSorted(), ids.toSorted());
          const every = await allKeys(store, { ...query, all: true });
          assert.deepEqual(every.map(({ id }) => id).toSorted(), all.toSorted());
        }
      };
      await listed(all);
      await advance(9);
      await listed(all);
      await advance(1);
      await listed([lasting.id, expiring.id]);
      await advance(9);
      await listed([lasting.id, expiring.id]);
      await advance(1);
      await listed([lasting.id]);
    },
  },
];
