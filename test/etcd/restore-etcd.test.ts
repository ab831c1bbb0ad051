// An older copy replaces a cluster while its clients continue.

import assert from 'node:assert/strict';
import { cp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { epochOf, type Fence, type HeldLease, openSession, type Session } from '../../src/index.ts';
import { openEtcdStore } from '../../src/store/etcd/open.ts';
import { until } from '../processes/stage/until.ts';
import { type PrivateEtcd, startEtcd } from '../services/etcd.ts';

async function take(session: Session, key: string): Promise<HeldLease> {
  const got = await session.acquire(key);
  assert.ok(got.kind === 'acquired', JSON.stringify(got));
  return got.lease;
}

/** Copies all its data on disk. The returned function restores the copy. */
async function backUp(etcd: PrivateEtcd): Promise<() => Promise<void>> {
  const [member = ''] = await readdir(etcd.folder);
  const data = join(etcd.folder, member, 'data');
  const copy = `${data}-copy`;
  await etcd.kill(0);
  await cp(data, copy, { recursive: true });
  await etcd.restart(0);
  return async () => {
    await etcd.kill(0);
    await rm(data, { recursive: true });
    await cp(copy, data, { recursive: true });
    await etcd.restart(0);
  };
}

test('T-3, T-4: a client that has seen more than a restored copy raises the epoch, and continues', async (t) => {
  const etcd = await startEtcd({ members: 1 });
  t.after(() => etcd.stop());
  const { endpoints } = etcd;
  const store = await openEtcdStore({ endpoints });
  t.after(() => store.close());
  await using ann = await openSession({ store, owner: 'ann', ttlMs: 600_000 });
  const kept = await take(ann, 'kept');
  const putBack = await backUp(etcd);
  // A new client writes the time down, so the copy has an older one.
  await (await openEtcdStore({ endpoints })).close();
  let lost: HeldLease = await take(ann, 'lost/0');
  for (let number = 1; number < 20; number += 1) lost = await take(ann, `lost/${number}`);
  await putBack();

  await using bob = await openSession({ store, owner: 'bob', ttlMs: 600_000 });
  const again: Fence = (await take(bob, lost.key)).fence;
  assert.equal(epochOf(again), epochOf(lost.fence) + 1, 'no fence is issued twice');
  assert.equal((await ann.heartbeat()).kind, 'alive');
  assert.equal(lost.remainingMs(), 0, 'its notices made it look');
  assert.equal((await kept.checkpoint('row 42')).kind, 'saved');

  // Hints and time continue, for old and new clients.
  const other = await openEtcdStore({ endpoints });
  t.after(() => other.close());
  await using cid = await openSession({ store: other, owner: 'cid', ttlMs: 600_000 });
  const waiting = cid.acquire('kept', { wait: true });
  await kept.release('finished');
  const got = await waiting;
  assert.ok(got.kind === 'acquired' && got.lease.fence > again);
});

test('T-4, E-4: in a quiet store a holder learns of a restore, and a forgotten release is repeated', async (t) => {
  const etcd = await startEtcd({ members: 1 });
  t.after(() => etcd.stop());
  const store = await openEtcdStore({ endpoints: etcd.endpoints });
  t.after(() => store.close());
  await using ann = await openSession({ store, owner: 'ann', ttlMs: 8_000 });
  await using bob = await openSession({ store, owner: 'bob', ttlMs: 8_000 });
  const first = await take(ann, 'report');
  const putBack = await backUp(etcd);
  await ann.heartbeat();
  assert.equal((await first.release('finished')).kind, 'released');
  const forgotten = await take(bob, 'report');
  await putBack();

  await until('its holder knows that it is lost', () => forgotten.remainingMs() === 0);
  const got = await bob.acquire('report', { wait: true, timeoutMs: 60_000 });
  assert.ok(got.kind === 'acquired', JSON.stringify(got));
  assert.ok(got.lease.fence > forgotten.fence);
});
