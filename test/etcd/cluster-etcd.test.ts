// The etcd store and its cluster: writes of others, restored copies, and outages.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  acquiring,
  mustAcquire,
  mustRelease,
  openedSession,
} from '../../contract/lease/opened-session.ts';
import {
  epochOf,
  type Fence,
  type KernelStore,
  OutcomeUnknown,
  openSession,
  parseLeaseKey,
  StoreUnavailable,
} from '../../src/index.ts';
import { EtcdClient } from '../../src/store/etcd/client.ts';
import { openEtcdStore } from '../../src/store/etcd/open.ts';
import { RawEtcd } from '../contract/raw-etcd.ts';
import { etcdForTests } from '../services/etcd.ts';

const KEY = parseLeaseKey('invoice/1');
const LONG = { ttlMs: 600_000, graceMs: 0 };

let etcd: Awaited<ReturnType<typeof etcdForTests>>;
let raw: RawEtcd;
let count = 0;

before(async () => {
  etcd = await etcdForTests();
  raw = new RawEtcd(etcd.endpoints);
});

after(() => etcd.release());

async function openFresh(): Promise<{ readonly store: KernelStore; readonly prefix: string }> {
  count += 1;
  const prefix = `${etcd.prefix}${count}/`;
  return { prefix, store: await openEtcdStore({ endpoints: etcd.endpoints, prefix }) };
}

async function fenceOf(store: KernelStore): Promise<Fence> {
  const session = await openSession({ store, owner: 'ann' });
  const got = await session.acquire(KEY);
  assert.ok(got.kind === 'acquired');
  await got.lease.release('finished');
  await session.close();
  return got.lease.fence;
}

test('A-7, S-1: a waiter whose session ends while its turn comes gets nothing, and the next one does', async (t) => {
  const { store, prefix } = await openFresh();
  const other = await openEtcdStore({ endpoints: etcd.endpoints, prefix });
  const holder = await mustAcquire(store, await openedSession(store, 'ann', LONG), { key: KEY });
  const [bob, cid] = [
    await openedSession(store, 'bob', LONG),
    await openedSession(store, 'cid', LONG),
  ];
  const [first, second] = [bob, cid].map((who) => acquiring(who, { key: KEY, wait: true }));
  assert.ok(first !== undefined && second !== undefined);
  assert.equal((await store.leases.acquire(first)).kind, 'queued');
  assert.equal((await other.leases.acquire(second)).kind, 'queued');
  await mustRelease(store, holder.tenure);

  // The waiter has read that it lives and is next. Its session ends before its write arrives.
  const write = EtcdClient.prototype.write;
  const by = { kind: 'operator', actor: 'olga', reason: 'gone' } as const;
  const late = t.mock.method(EtcdClient.prototype, 'write', async function (
    this: EtcdClient,
    ...call
  ) {
    late.mock.restore();
    assert.equal((await other.sessions.end({ id: bob.id, by })).kind, 'ended');
    return Reflect.apply(write, this, call);
  } as typeof write);
  const answer = await store.leases.acquire(first);
  assert.ok(answer.kind === 'refused' && answer.why === 'session-ended');
  assert.equal((await other.leases.acquire(second)).kind, 'granted');
  await store.close();
  await other.close();
});

test('E-5: a lease whose session is gone is stale, not immortal, for a sweep and for an acquire', async () => {
  for (const isSwept of [true, false]) {
    const { store, prefix } = await openFresh();
    await mustAcquire(store, await openedSession(store, 'ann', LONG), { key: KEY });
    await raw.deleteBelow(`${prefix}live/`);
    if (isSwept) {
      assert.equal((await store.sessions.sweep({ limit: 10 })).ended.length, 1);
      const { state, record } = await store.leases.inspect(KEY);
      assert.deepEqual([state, record?.end?.exit], ['free', 'expired']);
    }
    const bob = await openedSession(store, 'bob', LONG);
    const { predecessor } = await mustAcquire(store, bob, { key: KEY });
    assert.deepEqual([predecessor.exit, predecessor.cause], ['expired', 'session unknown']);
    await store.close();
  }
});

test('T-4: a cluster whose term has gone back is an older copy, and raises the epoch', async () => {
  const { store, prefix } = await openFresh();
  const before = await fenceOf(store);
  const [seen] = await raw.list(`${prefix}meta/cluster`);
  const { cluster, term } = JSON.parse(seen?.value ?? '') as Record<string, unknown>;
  await raw.put(`${prefix}meta/cluster`, JSON.stringify({ cluster, term: Number(term) + 1 }));
  const after = await fenceOf(store);
  assert.equal(epochOf(after), epochOf(before) + 1);
  await store.close();
});

test('T-4, S-2: a holder whose grant is missing in a restored copy learns of it with its next heartbeat', async () => {
  const { store, prefix } = await openFresh();
  const session = await openSession({ store, owner: 'ann', ttlMs: 60_000 });
  const [lost, kept] = [await session.acquire(KEY), await session.acquire('invoice/2')];
  assert.ok(lost.kind === 'acquired' && kept.kind === 'acquired');
  for (const { key } of await raw.list(prefix)) {
    if (key.endsWith(KEY)) await raw.deleteBelow(key);
  }
  await raw.put(`${prefix}meta/cluster`, JSON.stringify({ cluster: '1', term: 1 }));
  assert.ok((await fenceOf(store)) > lost.lease.fence);
  assert.equal((await session.heartbeat()).kind, 'alive');
  assert.equal(lost.lease.remainingMs(), 0);
  assert.ok(kept.lease.remainingMs() > 0);
  await session.close();
  await store.close();
});

test('U-1: a write whose answer is lost is unknown; one that reached no member was not done', async (t) => {
  const { store } = await openFresh();
  const ann = await openedSession(store, 'ann', LONG);
  const request = acquiring(ann, { key: KEY });
  const write = EtcdClient.prototype.write;
  const lost = t.mock.method(EtcdClient.prototype, 'write', async function (
    this: EtcdClient,
    ...call
  ) {
    lost.mock.restore();
    await Reflect.apply(write, this, call);
    throw new OutcomeUnknown('the answer was lost');
  } as typeof write);
  await assert.rejects(store.leases.acquire(request), OutcomeUnknown);
  const again = await store.leases.acquire(request);
  assert.ok(again.kind === 'granted' && again.replayed);
  await store.close();
  await assert.rejects(store.leases.acquire(request), StoreUnavailable);
  await assert.rejects(
    openEtcdStore({ endpoints: ['http://127.0.0.1:1'], prefix: 'x/' }),
    StoreUnavailable,
  );
});

test('impossible options are refused by name', async () => {
  const { endpoints } = etcd;
  const refused: readonly [object, RegExp][] = [
    [{ endpoints: [] }, /endpoints must be an array/],
    [{ endpoints: ['10.0.0.1:2379'] }, /must be http:\/\/ or https:/],
    [{ endpoints: ['http://a:1', 'https://b:1'] }, /all http:\/\/ or all https:/],
    [{ endpoints: ['http://ann:pw@a:1'] }, /must not have a user/],
    [{ endpoints, prefix: 'no-slash' }, /must end with "\/"/],
    [{ endpoints, tls: {} }, /tls needs https/],
    [{ endpoints, url: 'x' }, /no option "url"/],
    [{ endpoints, policy: { checkpointBytesMax: 2_000_000 } }, /1048576 at most on etcd/],
  ];
  for (const [options, why] of refused) {
    await assert.rejects(openEtcdStore(options as Parameters<typeof openEtcdStore>[0]), why);
  }
});
