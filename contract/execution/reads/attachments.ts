import assert from 'node:assert/strict';
import { expectKind } from '../../lease/expect.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { later, running, worker, writing } from '../worker.ts';

export const attachmentCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-22, X-13',
    name: 'attachments are kept by name with type, size and time, and are read back byte by byte',
    async run({ store, advance, now }) {
      const { executions } = store;
      const held = await running(store, await worker(store));
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
      const attach = async (nth: number, name: string, content: Uint8Array) => {
        const attachment = { name, type: 'application/pdf', bytes: content };
        const request = writing(later(held, nth), { kind: 'attached', name });
        expectKind(await executions.record({ ...request, attachments: [attachment] }), 'recorded');
      };
      await attach(0, 'bill.pdf', bytes);
      const at = now();
      await advance(5);
      await attach(1, 'empty', new Uint8Array());
      const summaries = await executions.attachments(held.id);
      assert.deepEqual(summaries, [
        { name: 'bill.pdf', type: 'application/pdf', bytes: 256, at },
        { name: 'empty', type: 'application/pdf', bytes: 0, at: now() },
      ]);
      assert.deepEqual(await executions.attachments(held.id, 1), summaries.slice(0, 1));
      const names = ['bill.pdf', 'other'];
      assert.deepEqual(
        await executions.namedAttachments({ id: held.id, names }),
        summaries.slice(0, 1),
      );
      bytes.fill(0);
      const read = await executions.attachment({ id: held.id, name: 'bill.pdf' });
      assert(read !== undefined);
      assert.deepEqual([read.name, read.type], ['bill.pdf', 'application/pdf']);
      assert.deepEqual(
        [...read.bytes],
        Array.from({ length: 256 }, (_, index) => index),
      );
      read.bytes.fill(1);
      const again = await executions.attachment({ id: held.id, name: 'bill.pdf' });
      assert.equal(again?.bytes[7], 7);
      assert.equal(await executions.attachment({ id: held.id, name: 'other' }), undefined);
    },
  },
  {
    upholds: 'X-22, X-13',
    name: 'an attachment of the same name replaces the earlier one',
    async run({ store }) {
      const held = await running(store, await worker(store));
      for (const nth of [0, 1]) {
        const bytes = new Uint8Array(nth + 1).fill(nth);
        const request = writing(later(held, nth), { kind: 'attached', name: 'a' });
        const attachments = [{ name: 'a', type: `text/${nth}`, bytes }];
        expectKind(await store.executions.record({ ...request, attachments }), 'recorded');
      }
      const read = await store.executions.attachment({ id: held.id, name: 'a' });
      assert.deepEqual([read?.type, [...(read?.bytes ?? [])]], ['text/1', [1, 1]]);
      assert.equal((await store.executions.attachments(held.id)).length, 1);
    },
  },
  {
    upholds: 'X-22, X-13, X-79',
    name: 'an attachment that a codec sealed has the codec’s key and the size of the content',
    async run({ store }) {
      const held = await running(store, await worker(store));
      const attach = async (
        nth: number,
        sealed: { readonly by: string; readonly size: number },
      ) => {
        const request = writing(later(held, nth), { kind: 'attached', name: 'a' });
        const attachments = [{ name: 'a', type: 'text/plain', bytes: new Uint8Array(30), sealed }];
        expectKind(await store.executions.record({ ...request, attachments }), 'recorded');
      };
      for (const [nth, by] of ['aes:1', 'aes:2'].entries()) {
        const sealed = { by, size: nth + 2 };
        await attach(nth, sealed);
        const read = await store.executions.attachment({ id: held.id, name: 'a' });
        assert.deepEqual(read?.sealed, sealed);
        assert.equal(read?.bytes.length, 30);
        assert.equal((await store.executions.attachments(held.id))[0]?.bytes, sealed.size);
      }
      const plain = [{ name: 'a', type: 'text/plain', bytes: new Uint8Array(30) }];
      const request = writing(later(held, 2), { kind: 'attached', name: 'a' });
      expectKind(await store.executions.record({ ...request, attachments: plain }), 'recorded');
      const read = await store.executions.attachment({ id: held.id, name: 'a' });
      assert(read !== undefined);
      assert.equal('sealed' in read, false, 'the one before it is forgotten');
      assert.equal((await store.executions.attachments(held.id))[0]?.bytes, 30);
    },
  },
];
