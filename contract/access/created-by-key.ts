import assert from 'node:assert/strict';
import { isUsable, nameWithKey } from '../../src/features/access/model.ts';
import type { CreateKey } from '../../src/features/access/port.ts';
import type { AccessCase } from './contract-case.ts';
import { allKeys, creating, leavesKeysUnchanged, mustAdd, mustRead } from './test-keys.ts';

function createdBy({ id }: { readonly id: string }): Pick<CreateKey, 'createdBy' | 'createdByKey'> {
  return { createdBy: nameWithKey('x', id), createdByKey: id };
}

export const createdByKeyCases: readonly AccessCase[] = [
  {
    upholds: 'P-12, P-4',
    name: 'a key expires no later than its creator ends or expires; creating it again returns it',
    async run({ store, now, advance }) {
      const creator = await mustAdd(store, { expiresInMs: 100 });
      const endOf = async (key: CreateKey) => (await mustRead(store, key.id)).expiresAt;
      const made = [
        await mustAdd(store, createdBy(creator)),
        await mustAdd(store, { ...createdBy(creator), expiresInMs: 1_000 }),
      ];
      for (const key of made) {
        assert.equal(await endOf(key), now() + 100);
        assert.deepEqual(await store.access.createKey(key), { kind: 'created', existing: true });
      }
      assert.equal(
        await endOf(await mustAdd(store, { ...createdBy(creator), expiresInMs: 9 })),
        now() + 9,
      );
      await store.access.revokeKey({ id: creator.id, inMs: 50 });
      assert.equal(await endOf(await mustAdd(store, createdBy(creator))), now() + 50);
      const lasting = await mustAdd(store);
      assert.equal(await endOf(await mustAdd(store, createdBy(lasting))), undefined);
      const longer = { ...made[0], expiresInMs: 99 } as CreateKey;
      await advance(1);
      assert.equal((await store.access.createKey(longer)).kind, 'refused');
    },
  },
  {
    upholds: 'P-12',
    name: 'from the millisecond of its end or expiry, a key can neither create keys nor be rotated',
    async run({ store, advance }) {
      const expired = await mustAdd(store, { expiresInMs: 10 });
      const ended = await mustAdd(store);
      await store.access.revokeKey({ id: ended.id, inMs: 10 });
      const lasting = await mustAdd(store);
      const asked = [expired, ended].flatMap(({ id }) => [
        { by: id, request: createdBy({ id }) },
        { by: id, request: { ...createdBy(lasting), rotates: id } },
      ]);
      await advance(9);
      for (const { request } of asked) await mustAdd(store, request);
      await advance(1);
      const unknown = creating().id;
      for (const { by, request } of [
        ...asked,
        { by: unknown, request: { createdByKey: unknown } },
        { by: unknown, request: { rotates: unknown } },
      ]) {
        const result = await leavesKeysUnchanged(store, () =>
          store.access.createKey(creating(request)),
        );
        assert.deepEqual(result, { kind: 'refused', why: 'key-ended', id: by });
      }
    },
  },
  {
    upholds: 'P-13, P-12',
    needs: 'two-clients',
    name: 'a key created while its family is revoked is refused or revoked with the family',
    async run({ store, another, now }) {
      const stores = [store, await another()];
      for (let round = 0; round < 6; round += 1) {
        const root = await mustAdd(store);
        const child = await mustAdd(store, createdBy(root));
        const creators = [root, child, root, child, root, child];
        const adds = creators.map((creator, nth) =>
          (stores[nth % 2] ?? store).access.createKey(creating(createdBy(creator))),
        );
        const end = { id: root.id, descendants: true };
        await Promise.all([...adds.slice(0, 3), store.access.revokeKey(end), ...adds.slice(3)]);
        const usable = (await allKeys(store)).filter((key) => isUsable(key, now()));
        assert.deepEqual(usable, []);
      }
    },
  },
];
