import assert from 'node:assert/strict';
import { digestOf } from '../../../support/digest.ts';
import type { ExecutionCase } from '../contract-case.ts';

export const blobCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-22',
    name: 'a blob comes back under its digest, byte by byte, and putting it twice is harmless',
    async run({ store }) {
      const { executions } = store;
      const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => (index * 7) % 256);
      const digest = digestOf(bytes);
      assert.equal(await executions.getBlob(digest), undefined);
      await executions.putBlob({ digest, bytes });
      await Promise.all([1, 2, 3].map(() => executions.putBlob({ digest, bytes })));
      const copy = Uint8Array.from(bytes);
      bytes.fill(0);
      const read = await executions.getBlob(digest);
      assert(read !== undefined);
      assert.equal(digestOf(read), digest);
      assert.deepEqual([...read.subarray(0, 9)], [...copy.subarray(0, 9)]);
      read.fill(1);
      const again = await executions.getBlob(digest);
      assert.equal(again === undefined ? '' : digestOf(again), digest);
    },
  },
  {
    upholds: 'X-22',
    name: 'blobs of no bytes are blobs, too',
    async run({ store }) {
      const bytes = new Uint8Array();
      await store.executions.putBlob({ digest: digestOf(bytes), bytes });
      assert.equal((await store.executions.getBlob(digestOf(bytes)))?.byteLength, 0);
    },
  },
];
