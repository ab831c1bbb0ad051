// Another client changes everything that a verb has read, just before the verb writes. Each such
// fact is a comparison of the transaction, and each can be forgotten.

import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { ManualClock } from '../../contract/index.ts';
import { whyOf } from '../../contract/lease/expect.ts';
import {
  AUTHORITY_MS,
  acquiring,
  beginning,
  draining,
  KEY,
  keyOf,
  mustAcquire,
  mustBeat,
  mustRelease,
  type OpenedSession,
  openedSession,
  openingOf,
  revoking,
  saving,
  TTL_MS,
} from '../../contract/lease/opened-session.ts';
import { epochOf, type KernelStore } from '../../src/index.ts';
import { COUNTERS_PER_EPOCH, toFence } from '../../src/lease/fence.ts';
import type { Tenure } from '../../src/lease/port.ts';
import { EtcdClient } from '../../src/store/etcd/client.ts';
import { openEtcdStore } from '../../src/store/etcd/open.ts';
import { RawEtcd } from '../contract/raw-etcd.ts';
import { etcdForTests } from '../services/etcd.ts';

const LONG = { ttlMs: 600_000, graceMs: 0 };

let etcd: Awaited<ReturnType<typeof etcdForTests>>;
let count = 0;

before(async () => {
  etcd = await etcdForTests();
});

after(() => etcd.release());

interface Scene {
  readonly store: KernelStore;
  /** Another client, whose changes the first has not seen. */
  readonly other: KernelStore;
  readonly clock: ManualClock;
  readonly prefix: string;
  readonly raw: RawEtcd;
  /** Carries the lease of KEY under this tenure. */
  readonly ann: OpenedSession;
  readonly tenure: Tenure;
}

async function setTheScene(): Promise<Scene & AsyncDisposable> {
  count += 1;
  const prefix = `${etcd.prefix}${count}/`;
  const clock = new ManualClock();
  const options = { endpoints: etcd.endpoints, prefix, clock, leaseSecondsMin: 3_600 };
  const store = await openEtcdStore(options);
  const other = await openEtcdStore(options);
  const ann = await openedSession(store, 'ann', LONG);
  const { tenure } = await mustAcquire(store, ann);
  const raw = new RawEtcd(etcd.endpoints);
  return {
    ...{ store, other, clock, prefix, raw, ann, tenure },
    async [Symbol.asyncDispose]() {
      await store.close();
      await other.close();
    },
  };
}

/**
 * The answer of the verb if this happens after its last read and before its first write arrives.
 */
async function answerAfter<Answer>(
  t: TestContext,
  meanwhile: () => Promise<unknown>,
  verb: () => Promise<Answer>,
): Promise<Answer> {
  const write = EtcdClient.prototype.write;
  const late = t.mock.method(EtcdClient.prototype, 'write', async function (
    this: EtcdClient,
    ...call: unknown[]
  ) {
    late.mock.restore();
    await meanwhile();
    return Reflect.apply(write, this, call);
  } as unknown as typeof write);
  const answer = await verb();
  assert.equal(EtcdClient.prototype.write, write, 'the verb has written nothing');
  return answer;
}

function endingOf(scene: Scene, who: OpenedSession) {
  const by = { kind: 'operator', actor: 'olga', reason: 'gone' } as const;
  return () => scene.other.sessions.end({ id: who.id, by });
}

const HOLDERS: Readonly<Record<string, (scene: Scene) => Promise<{ readonly kind: string }>>> = {
  checkpoint: ({ store, tenure }) => store.leases.checkpoint(saving(tenure, 1)),
  beginIntent: ({ store, tenure }) => store.leases.beginIntent(beginning(tenure, 'pay')),
  release: ({ store, tenure }) => store.leases.release({ ...tenure, exit: 'finished' }),
};

for (const [name, verb] of Object.entries(HOLDERS)) {
  test(`S-1, T-6: ${name} of a session that ends meanwhile is refused`, async (t) => {
    await using scene = await setTheScene();
    const answer = await answerAfter(t, endingOf(scene, scene.ann), () => verb(scene));
    assert.equal(whyOf(answer), 'ended');
  });

  test(`T-6, T-7: ${name} of a term that is revoked meanwhile is refused`, async (t) => {
    await using scene = await setTheScene();
    const revoke = () => scene.other.leases.revoke(revoking(scene.tenure));
    assert.equal(whyOf(await answerAfter(t, revoke, () => verb(scene))), 'ended');
  });
}

test('S-1: an acquire of a session that ends meanwhile is refused', async (t) => {
  await using scene = await setTheScene();
  const request = acquiring(scene.ann, { key: keyOf('another') });
  const acquire = () => scene.store.leases.acquire(request);
  assert.equal(whyOf(await answerAfter(t, endingOf(scene, scene.ann), acquire)), 'session-ended');
});

test('H-1: a session whose parent ends meanwhile is not opened', async (t) => {
  await using scene = await setTheScene();
  const request = openingOf('child', { parent: scene.ann.id });
  const open = () => scene.store.sessions.open(request);
  assert.equal(whyOf(await answerAfter(t, endingOf(scene, scene.ann), open)), 'session-ended');
});

test('A-1: when two sessions find a key free, the later write is refused', async (t) => {
  await using scene = await setTheScene();
  await mustRelease(scene.store, scene.tenure);
  const bob = await openedSession(scene.other, 'bob', LONG);
  const take = () => mustAcquire(scene.other, bob);
  const acquire = () => scene.store.leases.acquire(acquiring(scene.ann));
  assert.equal(whyOf(await answerAfter(t, take, acquire)), 'held');
});

test('T-3: a grant whose epoch is raised meanwhile has a fence of the new epoch', async (t) => {
  await using scene = await setTheScene();
  const raise = () => scene.other.raiseEpoch({ actor: 'olga', reason: 'to be sure' });
  const request = acquiring(scene.ann, { key: keyOf('another') });
  const answer = await answerAfter(t, raise, () => scene.store.leases.acquire(request));
  assert.ok(answer.kind === 'granted');
  assert.equal(epochOf(answer.fence), epochOf(scene.tenure.fence) + 1);
});

test('T-4: no grant is made when grants are halted meanwhile', async (t) => {
  await using scene = await setTheScene();
  const ahead = { key: KEY, fence: toFence(3 * COUNTERS_PER_EPOCH) };
  const request = acquiring(scene.ann, { key: keyOf('another') });
  const halt = () => scene.other.leases.verify(ahead);
  const answer = await answerAfter(t, halt, () => scene.store.leases.acquire(request));
  assert.equal(whyOf(answer), 'halted');
});

test('T-4: a grant that finds another cluster seen meanwhile raises the epoch first', async (t) => {
  await using scene = await setTheScene();
  const key = `${scene.prefix}meta/cluster`;
  const move = () => scene.raw.put(key, JSON.stringify({ cluster: '1', term: 1 }));
  const request = acquiring(scene.ann, { key: keyOf('another') });
  const answer = await answerAfter(t, move, () => scene.store.leases.acquire(request));
  assert.ok(answer.kind === 'granted');
  assert.equal(epochOf(answer.fence), epochOf(scene.tenure.fence) + 1);
});

test('V-1, S-2: a heartbeat has a notice of a drain that was requested meanwhile', async (t) => {
  await using scene = await setTheScene();
  const drain = () => scene.other.leases.requestDrain(draining(scene.tenure));
  const answer = await answerAfter(t, drain, () => scene.store.sessions.heartbeat(scene.ann));
  assert.ok(answer.kind === 'alive' && answer.notices === 1);
});

test('V-1: a drain respects the time that a heartbeat promised meanwhile', async (t) => {
  await using scene = await setTheScene();
  await scene.clock.advance(100_000);
  const beat = () => mustBeat(scene.other, scene.ann);
  const drain = () => scene.store.leases.requestDrain(draining(scene.tenure));
  const answer = await answerAfter(t, beat, drain);
  assert.ok(answer.kind === 'draining');
  assert.equal(answer.deadlineInMs, LONG.ttlMs);
});

test('C-1, G-3: a heartbeat whose session lapses meanwhile, by the time of other clients, is a rejoin', async (t) => {
  await using scene = await setTheScene();
  const bob = await openedSession(scene.store, 'bob');
  await scene.clock.advance(AUTHORITY_MS - 1);
  await scene.store.sessions.inspect(bob.id);
  const passTime = async (): Promise<void> => {
    await scene.clock.advance(20_000);
    await mustBeat(scene.other, scene.ann);
  };
  const answer = await answerAfter(t, passTime, () => scene.store.sessions.heartbeat(bob));
  assert.ok(answer.kind === 'alive' && answer.rejoined);
});

test('E-2, S-3: a session that is renewed after it was found overdue does not expire', async (t) => {
  await using scene = await setTheScene();
  const { store, other, clock } = scene;
  await mustRelease(store, scene.tenure);
  const bob = await openedSession(store, 'bob');
  await mustAcquire(store, bob);
  await clock.advance(TTL_MS);
  const recover = async (): Promise<void> => {
    assert.equal((await other.sessions.recover({ cause: 'the store was away' })).extended, 1);
    await mustBeat(other, bob);
  };
  const answer = await answerAfter(t, recover, () => store.leases.acquire(acquiring(scene.ann)));
  assert.equal(whyOf(answer), 'held');
});

test('E-6: a late heartbeat is accepted when another client finds out first that the store was away', async (t) => {
  await using scene = await setTheScene();
  const { store, other, clock, raw, prefix } = scene;
  const bob = await openedSession(store, 'bob');
  await store.sessions.inspect(bob.id);
  await clock.advance(TTL_MS);
  const key = `${prefix}meta/cluster`;
  const [seen] = await raw.list(key);
  const { cluster, term } = JSON.parse(seen?.value ?? '') as Record<string, unknown>;
  await raw.put(key, JSON.stringify({ cluster, term: Number(term) - 1 }));
  // The heartbeat is too late. Before it checks for an outage, another client has checked.
  const read = EtcdClient.prototype.read;
  const late = t.mock.method(EtcdClient.prototype, 'read', async function (
    this: EtcdClient,
    ...call: unknown[]
  ) {
    if (JSON.stringify(call).includes(Buffer.from(key).toJSON().data.join())) {
      late.mock.restore();
      await other.sessions.sweep({ limit: 1 });
    }
    return Reflect.apply(read, this, call);
  } as unknown as typeof read);
  assert.equal((await store.sessions.heartbeat(bob)).kind, 'alive');
  assert.equal(EtcdClient.prototype.read, read, 'the patched read did not run');
});

test('C-2: a heartbeat whose native lease is gone meanwhile gets a new one', async (t) => {
  await using scene = await setTheScene();
  const pulse = `${scene.prefix}w/pulse/${scene.ann.id}`;
  const giveUp = async (): Promise<void> => {
    const [kept] = await scene.raw.list(pulse);
    await scene.raw.revokeLease(kept?.lease ?? '');
  };
  const answer = await answerAfter(t, giveUp, () => scene.store.sessions.heartbeat(scene.ann));
  assert.equal(answer.kind, 'alive');
  assert.equal((await scene.raw.list(pulse)).length, 1);
});
