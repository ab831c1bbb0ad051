import assert from 'node:assert/strict';
import type { CreateKey } from '../../src/features/access/port.ts';
import type { AccessCase } from './contract-case.ts';
import {
  allKeys,
  creating,
  leavesKeysUnchanged,
  mustAdd,
  OTHER_PROJECT,
  PROJECT,
} from './test-keys.ts';

export const keyQuotaCases: readonly AccessCase[] = [
  {
    upholds: 'P-14',
    name: 'a project has no more usable keys than its quota; repeating a request still returns its key',
    async run({ store, advance }) {
      const { access } = store;
      const of = { project: PROJECT, quota: 3 };
      const refusal = { kind: 'refused', why: 'over-quota', project: PROJECT, quota: 'keys' };
      const add = (more: Partial<CreateKey> = {}) => access.createKey(creating({ ...of, ...more }));
      const lasting = await mustAdd(store, of);
      await mustAdd(store, { ...of, expiresInMs: 10 });
      const ended = await mustAdd(store, of);
      await access.revokeKey({ id: ended.id, inMs: 20 });
      assert.deepEqual(await leavesKeysUnchanged(store, add), { ...refusal, limit: 3 });
      assert.deepEqual(await access.createKey(lasting), { kind: 'created', existing: true });
      await mustAdd(store, { project: OTHER_PROJECT, quota: 1 });
      await mustAdd(store, { quota: 1 });
      await mustAdd(store, { quota: 1 });
      for (const ms of [9, 1]) {
        assert.equal((await add()).kind, 'refused');
        await advance(ms);
      }
      await mustAdd(store, of);
      await advance(9);
      assert.equal((await add()).kind, 'refused');
      await advance(1);
      await mustAdd(store, of);
      await access.putProject({ name: PROJECT, settings: { quotas: { keys: 4 } } });
      assert.equal((await add()).kind, 'created');
      assert.deepEqual(await add(), { ...refusal, limit: 4 });
    },
  },
  {
    upholds: 'P-14, P-15',
    needs: 'two-clients',
    name: 'keys that several clients create at once do not exceed the quota',
    async run({ store, another }) {
      const stores = [store, await another()];
      await store.access.putProject({ name: PROJECT, settings: {} });
      const requests = Array.from({ length: 12 }, () => creating({ project: PROJECT, quota: 5 }));
      const results = await Promise.all(
        requests.map((request, nth) => (stores[nth % 2] ?? store).access.createKey(request)),
      );
      assert.equal(results.filter(({ kind }) => kind === 'created').length, 5);
      assert.equal((await allKeys(store, { project: PROJECT })).length, 5);
    },
  },
];
