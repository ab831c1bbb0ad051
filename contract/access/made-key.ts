import assert from 'node:assert/strict';
import { isUsable, nameWithKey } from '../../src/features/access/model.ts';
import type { AddKey } from '../../src/features/access/port.ts';
import type { AccessCase } from './contract-case.ts';
import { adding, allKeys, leavesKeysUnchanged, mustAdd, mustRead } from './test-keys.ts';

function madeBy({ id }: { readonly id: string }): Pick<AddKey, 'createdBy' | 'madeBy'> {
  return { createdBy: nameWithKey('x', id), madeBy: id };
}

export const madeKeyCases: readonly AccessCase[] = [
  {
    upholds: 'P-12, P-4',
    name: 'a key expires no later than its maker ends or expires; the same again is there already',
    async run({ store, now, advance }) {
      const maker = await mustAdd(store, { expiresInMs: 100 });
      const endOf = async (key: AddKey) => (await mustRead(store, key.id)).expiresAt;
      const made = [
        await mustAdd(store, madeBy(maker)),
        await mustAdd(store, { ...madeBy(maker), expiresInMs: 1_000 }),
      ];
      for (const key of made) {
        assert.equal(await endOf(key), now() + 100);
        assert.deepEqual(await store.access.addKey(key), { kind: 'added', existing: true });
      }
      assert.equal(
        await endOf(await mustAdd(store, { ...madeBy(maker), expiresInMs: 9 })),
        now() + 9,
      );
      await store.access.endKey({ id: maker.id, inMs: 50 });
      assert.equal(await endOf(await mustAdd(store, madeBy(maker))), now() + 50);
      const lasting = await mustAdd(store);
      assert.equal(await endOf(await mustAdd(store, madeBy(lasting))), undefined);
      const longer = { ...made[0], expiresInMs: 99 } as AddKey;
      await advance(1);
      assert.equal((await store.access.addKey(longer)).kind, 'refused');
    },
  },
  {
    upholds: 'P-12',
    name: 'a key that has ended or expired, to the millisecond, makes no key and is not rotated',
    async run({ store, advance }) {
      const expired = await mustAdd(store, { expiresInMs: 10 });
      const ended = await mustAdd(store);
      await store.access.endKey({ id: ended.id, inMs: 10 });
      const lasting = await mustAdd(store);
      const asked = [expired, ended].flatMap(({ id }) => [
        { by: id, request: madeBy({ id }) },
        { by: id, request: { ...madeBy(lasting), rotates: id } },
      ]);
      await advance(9);
      for (const { request } of asked) await mustAdd(store, request);
      await advance(1);
      const unknown = adding().id;
      for (const { by, request } of [
        ...asked,
        { by: unknown, request: { madeBy: unknown } },
        { by: unknown, request: { rotates: unknown } },
      ]) {
        const result = await leavesKeysUnchanged(store, () => store.access.addKey(adding(request)));
        assert.deepEqual(result, { kind: 'refused', why: 'key-ended', id: by });
      }
    },
  },
  {
    upholds: 'P-13, P-12',
    needs: 'two-clients',
    name: 'a key that is made while its family is ended is refused or ended with it',
    async run({ store, another, now }) {
      const stores = [store, await another()];
      for (let round = 0; round < 6; round += 1) {
        const root = await mustAdd(store);
        const child = await mustAdd(store, madeBy(root));
        const makers = [root, child, root, child, root, child];
        const adds = makers.map((maker, nth) =>
          (stores[nth % 2] ?? store).access.addKey(adding(madeBy(maker))),
        );
        const end = { id: root.id, made: true };
        await Promise.all([...adds.slice(0, 3), store.access.endKey(end), ...adds.slice(3)]);
        const usable = (await allKeys(store)).filter((key) => isUsable(key, now()));
        assert.deepEqual(usable, []);
      }
    },
  },
];
