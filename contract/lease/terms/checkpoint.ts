import assert from 'node:assert/strict';
import type { SaveCheckpoint } from '../../../src/lease/port.ts';
import { digestOf } from '../../../src/support/digest.ts';
import type { ContractCase } from '../contract-case.ts';
import { expectKind, expectUnchanged, unchangedBy, whyOf } from '../expect.ts';
import {
  acquiring,
  KEY,
  mustAcquire,
  mustBeat,
  mustRelease,
  mustSave,
  openedSession,
  saving,
  textOf,
} from '../opened-session.ts';

function withBytes(request: SaveCheckpoint, bytes: Uint8Array): SaveCheckpoint {
  return { ...request, bytes, digest: digestOf(bytes) };
}

export const checkpointCases: readonly ContractCase[] = [
  {
    upholds: 'K-1, A-1',
    name: 'a checkpoint reaches the successor whole: bytes, seq, digest, type, fence and time',
    async run({ store, advance, now }) {
      const ann = await openedSession(store, 'ann');
      const { tenure, fence } = await mustAcquire(store, ann);
      await advance(100);
      const at = now();
      const request = { ...saving(tenure, 3, 'half way'), type: 'text/plain; v=2' };
      assert.deepEqual(await store.leases.checkpoint(request), { kind: 'saved', replayed: false });
      await mustRelease(store, tenure, 'yielded');
      const { checkpoint } = await mustAcquire(store, ann);
      assert(checkpoint !== undefined);
      const { bytes, ...rest } = checkpoint;
      assert.equal(textOf(bytes), 'half way');
      assert.deepEqual(rest, { seq: 3, digest: request.digest, fence, at, type: request.type });
    },
  },
  {
    upholds: 'K-1, T-5',
    name: 'a checkpoint raises the record’s rev and leaves fence and time as they are',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await advance(1_000);
      const before = await store.leases.inspect(KEY);
      await mustSave(store, tenure, 1);
      const after = await store.leases.inspect(KEY);
      assert.deepEqual(
        [after.record?.fence, after.freeInMs, after.record?.grantedAt],
        [before.record?.fence, before.freeInMs, before.record?.grantedAt],
      );
      assert.ok((after.record?.rev ?? 0) > (before.record?.rev ?? 0));
    },
  },
  {
    upholds: 'K-2, U-2',
    name: 'repeating a checkpoint succeeds and changes nothing',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await mustSave(store, tenure, 1);
      await advance(50);
      const again = await unchangedBy(store, () => store.leases.checkpoint(saving(tenure, 1)));
      assert.deepEqual(again, { kind: 'saved', replayed: true });
    },
  },
  {
    upholds: 'K-2',
    name: 'a late checkpoint with a lower seq is refused with the stored seq, and changes nothing',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await mustSave(store, tenure, 5);
      const late = saving(tenure, 4);
      await expectUnchanged(store, 'seq-superseded', () => store.leases.checkpoint(late));
      assert.deepEqual(await store.leases.checkpoint(late), {
        kind: 'refused',
        why: 'seq-superseded',
        key: KEY,
        storedSeq: 5,
      });
    },
  },
  {
    upholds: 'K-2',
    name: 'the same seq with other bytes is a conflict, and the first bytes stay',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await mustSave(store, tenure, 1);
      const other = saving(tenure, 1, 'something else');
      await expectUnchanged(store, 'seq-conflict', () => store.leases.checkpoint(other));
      assert.equal(textOf((await store.leases.inspect(KEY)).record?.checkpoint?.bytes), 'state 1');
    },
  },
  {
    upholds: 'K-2',
    name: 'a successor continues from its predecessor’s seq and cannot go back behind it',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const first = await mustAcquire(store, ann);
      await mustSave(store, first.tenure, 5);
      await mustRelease(store, first.tenure, 'yielded');
      const { tenure } = await mustAcquire(store, ann);
      const { leases } = store;
      await expectUnchanged(store, 'seq-superseded', () => leases.checkpoint(saving(tenure, 1)));
      await expectUnchanged(store, 'seq-conflict', () => leases.checkpoint(saving(tenure, 5)));
      await mustSave(store, tenure, 6);
    },
  },
  {
    upholds: 'K-2',
    name: 'a seq may leave gaps and reach the greatest safe integer',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await mustSave(store, tenure, 7);
      await mustSave(store, tenure, Number.MAX_SAFE_INTEGER);
      const { record } = await store.leases.inspect(KEY);
      assert.equal(record?.checkpoint?.seq, Number.MAX_SAFE_INTEGER);
    },
  },
  {
    upholds: 'K-3',
    policy: { checkpointBytesMax: 1_000 },
    name: 'a checkpoint of exactly the maximum size is kept, one byte more is refused with both sizes',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      const largest = withBytes(saving(tenure, 1), new Uint8Array(1_000).fill(7));
      expectKind(await store.leases.checkpoint(largest), 'saved');
      const larger = withBytes(saving(tenure, 2), new Uint8Array(1_001));
      await expectUnchanged(store, 'checkpoint-too-large', () => store.leases.checkpoint(larger));
      assert.deepEqual(await store.leases.checkpoint(larger), {
        kind: 'refused',
        why: 'checkpoint-too-large',
        bytes: 1_001,
        bytesMax: 1_000,
      });
    },
  },
  {
    upholds: 'K-3',
    name: 'a checkpoint may be empty, and differs from no checkpoint',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      expectKind(await store.leases.checkpoint(saving(tenure, 1, '')), 'saved');
      await mustRelease(store, tenure, 'yielded');
      const { checkpoint } = await mustAcquire(store, ann);
      assert.deepEqual([checkpoint?.seq, checkpoint?.bytes.byteLength], [1, 0]);
      assert.equal(checkpoint !== undefined && 'type' in checkpoint, false);
    },
  },
  {
    upholds: 'K-3',
    name: 'every byte value is kept, also from the middle of a larger buffer',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      const large = Uint8Array.from({ length: 512 }, (_, index) => index % 256);
      const bytes = large.subarray(100, 356);
      expectKind(await store.leases.checkpoint(withBytes(saving(tenure, 1), bytes)), 'saved');
      const kept = (await store.leases.inspect(KEY)).record?.checkpoint?.bytes;
      assert.deepEqual([...(kept ?? [])], [...bytes]);
    },
  },
  {
    upholds: 'K-3',
    name: 'a caller that changes its bytes after the call does not change the stored checkpoint',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      const request = saving(tenure, 1, 'as it was');
      const saved = store.leases.checkpoint(request);
      request.bytes.fill(0);
      expectKind(await saved, 'saved');
      const { record } = await store.leases.inspect(KEY);
      assert.equal(textOf(record?.checkpoint?.bytes), 'as it was');
    },
  },
  {
    upholds: 'K-3',
    name: 'a caller that changes returned bytes does not change the stored checkpoint',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await mustSave(store, tenure, 1);
      await mustRelease(store, tenure, 'yielded');
      const granted = await mustAcquire(store, ann);
      granted.checkpoint?.bytes.fill(0);
      const inspected = await store.leases.inspect(KEY);
      assert.equal(textOf(inspected.record?.checkpoint?.bytes), 'state 1');
      inspected.record?.checkpoint?.bytes.fill(0);
      const again = await store.leases.inspect(KEY);
      assert.equal(textOf(again.record?.checkpoint?.bytes), 'state 1');
    },
  },
  {
    upholds: 'K-4, G-1',
    name: 'a lapsed holder cannot save from the millisecond of its lapse on, and can after a rejoin',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await advance(7_999);
      await mustSave(store, tenure, 1);
      await advance(1);
      await expectUnchanged(store, 'lapsed', () => store.leases.checkpoint(saving(tenure, 2)));
      await advance(1_999);
      await expectUnchanged(store, 'lapsed', () => store.leases.checkpoint(saving(tenure, 2)));
      await mustBeat(store, ann);
      await mustSave(store, tenure, 2);
    },
  },
  {
    upholds: 'K-4, K-1',
    name: 'an expired holder cannot save, even without a successor',
    async run({ store, advance }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await mustSave(store, tenure, 1);
      await advance(10_000);
      await expectUnchanged(store, 'expired', () => store.leases.checkpoint(saving(tenure, 2)));
      await store.sessions.sweep({ limit: 10 });
      await expectUnchanged(store, 'expired', () => store.leases.checkpoint(saving(tenure, 2)));
      const bob = await openedSession(store, 'bob');
      assert.equal((await mustAcquire(store, bob)).checkpoint?.seq, 1);
    },
  },
  {
    upholds: 'K-5',
    name: 'the checkpoint before the last is kept, and a successor may go back to it',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      for (const seq of [1, 2, 3]) await mustSave(store, tenure, seq);
      await mustRelease(store, tenure, 'failed');
      const back = await mustAcquire(store, ann, { fromCheckpointBefore: true });
      assert.equal(textOf(back.checkpoint?.bytes), 'state 2');
      assert.equal(back.lossesSinceCheckpoint, 0);
      await mustSave(store, back.tenure, 3);
      const { record } = await store.leases.inspect(KEY);
      assert.deepEqual([record?.checkpoint?.seq, record?.checkpointBefore?.seq], [3, 2]);
    },
  },
  {
    upholds: 'K-5',
    name: 'going back with only one stored checkpoint returns that one',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      await mustSave(store, tenure, 1);
      await mustRelease(store, tenure, 'failed');
      const back = await mustAcquire(store, ann, { fromCheckpointBefore: true });
      assert.equal(back.checkpoint?.seq, 1);
    },
  },
  {
    upholds: 'K-5',
    name: 'a refused acquire does not go back',
    async run({ store }) {
      const ann = await openedSession(store, 'ann');
      const bob = await openedSession(store, 'bob');
      const { tenure } = await mustAcquire(store, ann);
      for (const seq of [1, 2]) await mustSave(store, tenure, seq);
      await expectUnchanged(store, 'held', () =>
        store.leases.acquire(acquiring(bob, { fromCheckpointBefore: true })),
      );
    },
  },
  {
    upholds: 'K-1, K-2',
    needs: 'two-clients',
    name: 'when checkpoints race, the greatest seq stays, and the stored seq never goes back',
    async run({ store, another }) {
      const other = await another();
      const ann = await openedSession(store, 'ann');
      const { tenure } = await mustAcquire(store, ann);
      const seqs = Array.from({ length: 20 }, (_, index) => ((index * 7) % 20) + 1);
      const results = await Promise.all(
        seqs.map((seq, index) =>
          (index % 2 === 0 ? store : other).leases.checkpoint(saving(tenure, seq)),
        ),
      );
      const odd = results.map(whyOf).filter((why) => why !== 'saved' && why !== 'seq-superseded');
      assert.deepEqual(odd, []);
      const { record } = await store.leases.inspect(KEY);
      assert.equal(record?.checkpoint?.seq, 20);
      assert.ok((record?.checkpointBefore?.seq ?? 0) < 20);
    },
  },
];
