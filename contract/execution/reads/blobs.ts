import assert from 'node:assert/strict';
import { digestOf } from '../../../src/support/digest.ts';
import type { ExecutionCase } from '../contract-case.ts';
import { OTHER_PROJECT, PROJECT } from '../worker.ts';

export const blobCases: readonly ExecutionCase[] = [
  {
    upholds: 'X-22',
    name: 'a blob is read back under its digest, byte by byte, and putting it twice is harmless',
    async run({ store }) {
      const { executions } = store;
      const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => (index * 7) % 256);
      const digest = digestOf(bytes);
      assert.equal(await executions.getBlob({ project: PROJECT, digest }), undefined);
      await executions.putBlob({ project: PROJECT, digest, bytes });
      await Promise.all(
        [1, 2, 3].map(() => executions.putBlob({ project: PROJECT, digest, bytes })),
      );
      const copy = Uint8Array.from(bytes);
      bytes.fill(0);
      const read = await executions.getBlob({ project: PROJECT, digest });
      assert(read !== undefined);
      assert.equal(digestOf(read), digest);
      assert.deepEqual([...read.subarray(0, 9)], [...copy.subarray(0, 9)]);
      read.fill(1);
      const again = await executions.getBlob({ project: PROJECT, digest });
      assert.equal(again === undefined ? '' : digestOf(again), digest);
    },
  },
  {
    upholds: 'X-22',
    name: 'a blob may be empty',
    async run({ store }) {
      const bytes = new Uint8Array();
      const key = { project: PROJECT, digest: digestOf(bytes) };
      await store.executions.putBlob({ ...key, bytes });
      assert.equal((await store.executions.getBlob(key))?.byteLength, 0);
    },
  },
  {
    upholds: 'X-28',
    name: 'only the projects that put a blob can read it',
    async run({ store }) {
      const { executions } = store;
      const { digest, bytes } = value(1);
      await executions.putBlob({ project: PROJECT, digest, bytes });
      assert.equal(await executions.getBlob({ project: OTHER_PROJECT, digest }), undefined);
      assert.deepEqual(
        await executions.missingBlobs({ project: OTHER_PROJECT, digests: [digest] }),
        [digest],
      );
      await executions.putBlob({ project: OTHER_PROJECT, digest, bytes });
      for (const project of [PROJECT, OTHER_PROJECT]) {
        assert.deepEqual(await executions.getBlob({ project, digest }), bytes);
        assert.deepEqual(await executions.missingBlobs({ project, digests: [digest] }), []);
      }
    },
  },
  {
    upholds: 'X-28',
    name: 'missingBlobs lists the digests that the project has not put, even if another project has',
    async run({ store }) {
      const { executions } = store;
      const [own, theirs, notPut] = [value(1), value(2), value(3)];
      await executions.putBlob({ project: PROJECT, ...own });
      await executions.putBlob({ project: OTHER_PROJECT, ...theirs });
      const digests = [own, theirs, notPut].map(({ digest }) => digest);
      const missing = await executions.missingBlobs({ project: PROJECT, digests });
      assert.deepEqual([...missing].sort(), digests.slice(1).sort());
      assert.deepEqual(await executions.missingBlobs({ project: PROJECT, digests: [] }), []);
    },
  },
  {
    upholds: 'X-29',
    name: 'attributeBlobs gives a project neither another project’s blob nor a missing one',
    async run({ store }) {
      const { executions } = store;
      const { digest, bytes } = value(1);
      await executions.putBlob({ project: PROJECT, digest, bytes });
      const absent = value(2).digest;
      await executions.attributeBlobs({ project: OTHER_PROJECT, digests: [digest, absent] });
      assert.equal(await executions.getBlob({ project: OTHER_PROJECT, digest }), undefined);
      assert.equal(await executions.getBlob({ project: OTHER_PROJECT, digest: absent }), undefined);
      assert.deepEqual(await executions.getBlob({ project: PROJECT, digest }), bytes);
    },
  },
];

function value(nth: number): { readonly digest: string; readonly bytes: Uint8Array } {
  const bytes = Uint8Array.of(nth, nth, nth);
  return { digest: digestOf(bytes), bytes };
}
