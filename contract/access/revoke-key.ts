import assert from 'node:assert/strict';
import { isUsable, nameWithKey } from '../../src/features/access/model.ts';
import type { CreateKey } from '../../src/features/access/port.ts';
import type { AccessCase } from './contract-case.ts';
import {
  creating,
  leavesKeysUnchanged,
  mustAdd,
  mustRead,
  OTHER_PROJECT,
  PROJECT,
} from './test-keys.ts';

export const revokeKeyCases: readonly AccessCase[] = [
  {
    upholds: 'P-8, P-7, P-10',
    name: 'a revoked key is over from then on by the store’s clock, and can still be read',
    async run({ store, advance, now }) {
      const key = await mustAdd(store, { project: PROJECT });
      const another = await mustAdd(store, { project: PROJECT });
      await advance(7);
      const result = await store.access.revokeKey({ id: key.id });
      assert.deepEqual(result, { kind: 'revoked', revokedAt: now(), changed: true });
      const stored = await mustRead(store, key.id);
      assert.deepEqual(stored, { ...key, createdAt: now() - 7, revokedAt: now() });
      assert.equal(isUsable(stored, now()), false);
      assert.equal((await mustRead(store, another.id)).revokedAt, undefined);
    },
  },
  {
    upholds: 'P-8, P-10',
    name: 'a key with a later end is valid until that millisecond',
    async run({ store, advance, now }) {
      const { id } = await mustAdd(store);
      const revokedAt = now() + 100;
      const result = await store.access.revokeKey({ id, inMs: 100 });
      assert.deepEqual(result, { kind: 'revoked', revokedAt, changed: true });
      await advance(99);
      assert.equal(isUsable(await mustRead(store, id), now()), true);
      await advance(1);
      assert.equal(isUsable(await mustRead(store, id), now()), false);
    },
  },
  {
    upholds: 'P-8',
    name: 'a later request can bring the end of a key nearer, but never put it off',
    async run({ store, advance, now }) {
      const { id } = await mustAdd(store);
      const end = async (inMs: number) => store.access.revokeKey({ id, inMs });
      const soon = now() + 100;
      assert.equal((await end(200)).kind, 'revoked');
      assert.deepEqual(await end(100), { kind: 'revoked', revokedAt: soon, changed: true });
      for (const inMs of [100, 101, 5_000]) {
        const result = await leavesKeysUnchanged(store, () => end(inMs));
        assert.deepEqual(result, { kind: 'revoked', revokedAt: soon, changed: false });
      }
      await advance(50);
      assert.deepEqual(await end(49), { kind: 'revoked', revokedAt: soon - 1, changed: true });
      await advance(50);
      const late = await leavesKeysUnchanged(store, () => store.access.revokeKey({ id }));
      assert.deepEqual(late, { kind: 'revoked', revokedAt: soon - 1, changed: false });
    },
  },
  {
    upholds: 'P-8',
    name: 'an expired key can be revoked, and its expiry stays',
    async run({ store, advance, now }) {
      const { id } = await mustAdd(store, { expiresInMs: 10 });
      const expiresAt = now() + 10;
      await advance(20);
      assert.equal((await store.access.revokeKey({ id })).kind, 'revoked');
      const stored = await mustRead(store, id);
      assert.deepEqual([stored.expiresAt, stored.revokedAt], [expiresAt, now()]);
    },
  },
  {
    upholds: 'P-9',
    name: 'a revocation by project does not find missing keys, keys of another project or keys for all projects',
    async run({ store, now }) {
      const own = await mustAdd(store, { project: PROJECT });
      const others = await mustAdd(store, { project: OTHER_PROJECT });
      const ofAll = await mustAdd(store);
      const { id: unknownId } = creating();
      for (const request of [
        { id: unknownId },
        ...[unknownId, others.id, ofAll.id].map((id) => ({ id, project: PROJECT })),
      ]) {
        const result = await leavesKeysUnchanged(store, () => store.access.revokeKey(request));
        assert.deepEqual(result, { kind: 'refused', why: 'key-unknown', id: request.id });
      }
      for (const request of [
        { id: own.id, project: PROJECT },
        { id: others.id },
        { id: ofAll.id },
      ]) {
        const result = await store.access.revokeKey(request);
        assert.deepEqual(result, { kind: 'revoked', revokedAt: now(), changed: true });
      }
    },
  },
  {
    upholds: 'P-13, P-8',
    name: 'a key is revoked alone, or with all its descendants, in one operation',
    async run({ store, now, advance }) {
      const by = ({ id }: { readonly id: string }): Partial<CreateKey> => ({
        createdBy: nameWithKey('x', id),
        project: PROJECT,
      });
      const root = await mustAdd(store, { project: PROJECT });
      const child = await mustAdd(store, by(root));
      const grandchild = await mustAdd(store, by(child));
      const sooner = await mustAdd(store, by(root));
      const named = { createdBy: `x (${root.id}) (y)`, project: PROJECT };
      const others = [
        await mustAdd(store, named),
        await mustAdd(store, { project: PROJECT }),
        await mustAdd(store, { ...by(root), project: OTHER_PROJECT }),
      ];
      await store.access.revokeKey({ id: sooner.id });
      const alone = await store.access.revokeKey({ id: root.id, inMs: 50 });
      assert.deepEqual(alone, { kind: 'revoked', revokedAt: now() + 50, changed: true });
      assert.equal((await mustRead(store, child.id)).revokedAt, undefined);
      await advance(10);
      const made = [child.id, grandchild.id].sort();
      const end = { id: root.id, descendants: true } as const;
      const unknown = { ...end, project: OTHER_PROJECT };
      const refused = await leavesKeysUnchanged(store, () => store.access.revokeKey(unknown));
      assert.equal(refused.kind, 'refused');
      const ofAll = await mustAdd(store);
      await mustAdd(store, by(ofAll));
      const foreign = { ...end, id: ofAll.id, project: PROJECT };
      const hidden = await leavesKeysUnchanged(store, () => store.access.revokeKey(foreign));
      assert.deepEqual(hidden, { kind: 'refused', why: 'key-unknown', id: ofAll.id });
      const all = await store.access.revokeKey({ ...end, project: PROJECT });
      assert.deepEqual(all, {
        kind: 'revoked',
        revokedAt: now(),
        changed: true,
        descendants: made,
      });
      for (const id of made) assert.equal((await mustRead(store, id)).revokedAt, now());
      assert.equal((await mustRead(store, sooner.id)).revokedAt, now() - 10);
      for (const { id } of others) assert.equal((await mustRead(store, id)).revokedAt, undefined);
      const again = await leavesKeysUnchanged(store, () =>
        store.access.revokeKey({ ...end, project: PROJECT }),
      );
      assert.deepEqual(again, {
        kind: 'revoked',
        revokedAt: now(),
        changed: false,
        descendants: [],
      });
    },
  },
  {
    upholds: 'P-8',
    needs: 'two-clients',
    name: 'when several ends are requested at once, the nearest stays, and no request gets a later end than it asked for',
    async run({ store, another, now }) {
      const stores = [store, await another()];
      for (let round = 0; round < 6; round += 1) {
        const { id } = await mustAdd(store);
        const times = [50, 20, 90, 10, 70, 10, 30, 60];
        const results = await Promise.all(
          times.map((inMs, nth) => (stores[nth % 2] ?? store).access.revokeKey({ id, inMs })),
        );
        for (const [nth, result] of results.entries()) {
          assert.ok(result.kind === 'revoked');
          const asked = now() + (times[nth] ?? 0);
          if (result.changed) assert.equal(result.revokedAt, asked);
          else assert.ok(result.revokedAt <= asked);
        }
        assert.equal((await mustRead(store, id)).revokedAt, now() + 10);
      }
    },
  },
];
