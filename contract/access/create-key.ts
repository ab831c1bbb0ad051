import assert from 'node:assert/strict';
import type { CreateKey } from '../../src/features/access/port.ts';
import type { AccessCase } from './contract-case.ts';
import {
  allKeys,
  creating,
  leavesKeysUnchanged,
  mustAdd,
  mustRead,
  OTHER_PROJECT,
  PROJECT,
} from './test-keys.ts';

const EXISTING = { kind: 'created', existing: true };

export const createKeyCases: readonly AccessCase[] = [
  {
    upholds: 'P-3, P-4, P-7',
    name: 'a created key is read back with the same content and digest, and with the store’s times',
    async run({ store, now }) {
      const full = await mustAdd(store, {
        project: PROJECT,
        roles: ['work', 'submit'],
        name: 'näme',
        createdBy: 'ann',
        expiresInMs: 1_000,
      });
      const { expiresInMs: _, ...rest } = full;
      assert.deepEqual(await mustRead(store, full.id), {
        ...rest,
        createdAt: now(),
        expiresAt: now() + 1_000,
      });
      const bare = await mustAdd(store);
      assert.deepEqual(await mustRead(store, bare.id), { ...bare, createdAt: now() });
      assert.equal(await store.access.key(creating().id), undefined);
    },
  },
  {
    upholds: 'P-4',
    name: 'creating the same key again, however late, returns it and changes nothing',
    async run({ store, advance }) {
      const options = { project: PROJECT, expiresInMs: 50, createdBy: 'ann' };
      const key = await mustAdd(store, { ...options, roles: ['work', 'submit'] });
      const again = { ...key, roles: ['submit', 'work', 'submit'] } satisfies CreateKey;
      for (const ms of [0, 10, 100]) {
        await advance(ms);
        for (const each of [key, again]) {
          const result = await leavesKeysUnchanged(store, () => store.access.createKey(each));
          assert.deepEqual(result, EXISTING);
        }
      }
      await store.access.revokeKey({ id: key.id });
      assert.deepEqual(await store.access.createKey(key), EXISTING);
    },
  },
  {
    upholds: 'P-4',
    name: 'a request with a taken id and any difference in content is refused, and the key stays',
    async run({ store }) {
      await store.access.putProject({ name: OTHER_PROJECT, settings: {} });
      const all = { project: PROJECT, createdBy: 'ann', expiresInMs: 1_000 };
      const key = await mustAdd(store, { ...all, roles: ['submit', 'work'] });
      const { project: _, ...ofAll } = key;
      const { createdBy: __, ...withoutCreator } = key;
      const { expiresInMs: ___, ...forEver } = key;
      const others: readonly CreateKey[] = [
        ...[ofAll, withoutCreator, forEver, { ...key, project: OTHER_PROJECT }],
        ...[
          { ...key, roles: ['submit'] as const },
          { ...key, roles: [] },
        ],
        { ...key, roles: ['submit', 'work', 'admin'] },
        ...[
          { ...key, name: 'other' },
          { ...key, digest: creating().digest },
        ],
        ...[
          { ...key, createdBy: 'bob' },
          { ...key, expiresInMs: 1_001 },
        ],
        // The taken id is reported before any other problem.
        { ...key, name: 'other', first: true },
      ];
      for (const other of others) {
        const result = await leavesKeysUnchanged(store, () => store.access.createKey(other));
        assert.deepEqual(result, { kind: 'refused', why: 'key-taken', id: key.id });
      }
    },
  },
  {
    upholds: 'P-5',
    name: 'a key for a missing project is refused, and is created once the project exists',
    async run({ store }) {
      await store.access.putProject({ name: OTHER_PROJECT, settings: {} });
      const key = creating({ project: PROJECT });
      const result = await leavesKeysUnchanged(store, () => store.access.createKey(key));
      const refused = { kind: 'refused', why: 'project-unknown', project: PROJECT };
      assert.deepEqual(result, refused);
      assert.deepEqual(await store.access.createKey({ ...key, first: true }), refused);
      await mustAdd(store, key);
    },
  },
  {
    upholds: 'P-4',
    name: 'a caller that changes its roles or a returned key does not change the stored key',
    async run({ store }) {
      const roles: ('submit' | 'admin')[] = ['submit'];
      const key = creating({ roles });
      const added = store.access.createKey(key);
      roles.push('admin');
      await added;
      const stored = await mustRead(store, key.id);
      assert.deepEqual(stored.roles, ['submit']);
      (stored.roles as string[]).push('admin');
      assert.deepEqual((await mustRead(store, key.id)).roles, ['submit']);
    },
  },
  {
    upholds: 'P-4',
    needs: 'two-clients',
    name: 'when requests create two different keys under one id at once, one wins and the other is refused',
    async run({ store, another }) {
      const other = await another();
      for (let round = 0; round < 6; round += 1) {
        const key = creating();
        const names = ['a', 'b', 'a', 'b', 'a', 'b'];
        const results = await Promise.all(
          names.map((name, nth) =>
            (nth % 2 === 0 ? store : other).access.createKey({ ...key, name }),
          ),
        );
        const fresh = results.filter((result) => result.kind === 'created' && !result.existing);
        assert.equal(fresh.length, 1);
        const winners = names.filter((_, nth) => results[nth]?.kind === 'created');
        assert.deepEqual([winners.length, new Set(winners).size], [3, 1]);
        assert.equal((await mustRead(store, key.id)).name, winners[0]);
      }
    },
  },
  {
    upholds: 'P-5',
    needs: 'two-clients',
    name: 'a key created while its project is put is stored exactly if the store returns created',
    async run({ store, another }) {
      const other = await another();
      for (let round = 0; round < 6; round += 1) {
        const project = `project ${round}` as typeof PROJECT;
        const key = creating({ project });
        const [, result] = await Promise.all([
          other.access.putProject({ name: project, settings: {} }),
          store.access.createKey(key),
        ]);
        const stored = await store.access.key(key.id);
        assert.equal(stored !== undefined, result.kind === 'created', JSON.stringify(result));
      }
    },
  },
  {
    upholds: 'P-1, P-4',
    needs: 'durable',
    name: 'projects and keys are still there after the store is reopened',
    async run({ store, reopen }) {
      const key = await mustAdd(store, { project: PROJECT });
      await store.access.revokeKey({ id: key.id, inMs: 10 });
      const [project, keys] = [
        await store.access.project(PROJECT),
        await allKeys(store, { all: true }),
      ];
      const again = await reopen();
      assert.deepEqual(await again.access.project(PROJECT), project);
      assert.deepEqual(await allKeys(again, { all: true }), keys);
    },
  },
];
