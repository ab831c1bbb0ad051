// A failover to a replica that had not received everything, since Redis answers "done" without
// waiting for it.

import assert from 'node:assert/strict';
import { rename } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { revoking } from '../../contract/lease/opened-session.ts';
import { openSession, parseLeaseKey } from '../../src/index.ts';
import { epochOf } from '../../src/lease/fence.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { until } from '../processes/stage/until.ts';
import type { PrivateRedis } from '../services/redis.ts';
import { fenceOf, freePort, kindsOf, send, serverFor, storeAt, take, whenBack } from './scene.ts';

const LATE = { bytes: new TextEncoder().encode('late'), digest: 'late', seq: 9 };

interface Pair {
  readonly primary: PrivateRedis;
  readonly replica: PrivateRedis;
  /** The replica has everything up to now, and nothing that comes later. */
  promote(): Promise<void>;
  /** The primary is gone, and its address leads to the replica. */
  failOver(): Promise<void>;
}

async function offsetOf({ url }: { readonly url: string }, field: string): Promise<number> {
  const info = String(await send(url, 'INFO', 'replication'));
  return Number(new RegExp(`${field}:(\\d+)`).exec(info)?.[1]);
}

async function pairOf(t: TestContext): Promise<Pair> {
  const port = await freePort();
  const settings = { port, bind: '127.0.0.1', 'repl-diskless-sync-delay': '0' };
  const primary = await serverFor(t, settings);
  const replica = await serverFor(t);
  await send(replica.url, 'REPLICAOF', '127.0.0.1', port);
  await until('the replica is in step', async () =>
    String(await send(replica.url, 'INFO', 'replication')).includes('master_link_status:up'),
  );
  return {
    primary,
    replica,
    async promote() {
      const written = await offsetOf(primary, 'master_repl_offset');
      await until(
        'the replica has everything',
        async () => (await offsetOf(replica, 'slave_repl_offset')) >= written,
      );
      await send(replica.url, 'REPLICAOF', 'NO', 'ONE');
    },
    async failOver() {
      await primary.kill();
      await rename(replica.socket, primary.socket);
    },
  };
}

test('a replica is refused by name, and the durability of a primary with one mentions the failover', async (t) => {
  const { primary, replica } = await pairOf(t);
  await assert.rejects(openRedisStore({ url: replica.url }), { code: 'server-read-only' });
  const store = await storeAt(t, primary.url);
  assert.match(store.durability, /always\); a failover may take back/);
});

test('T-3, T-4: a grant that a failover took back is not issued again, and its holder learns of it', async (t) => {
  const { primary, promote, failOver } = await pairOf(t);
  const store = await storeAt(t, primary.url);
  await using session = await openSession({ store, owner: 'ann', ttlMs: 60_000 });
  const kept = await take(session);
  await promote();
  const lost = await take(session, 'invoice/2');
  assert.equal((await lost.checkpoint('lost in the failover')).kind, 'saved');
  await failOver();

  const other = await storeAt(t, primary.url);
  await using bob = await openSession({ store: other, owner: 'bob', ttlMs: 60_000 });
  const taken = await take(bob, 'invoice/2');
  assert.ok(taken.fence > lost.fence, 'a forgotten fence is not issued again');
  assert.equal(epochOf(taken.fence), epochOf(lost.fence) + 1);
  assert.equal(taken.restored, undefined, 'the checkpoint is lost, as the guide says');

  await whenBack(() => store.sessions.inspect(session.id));
  assert.equal((await session.heartbeat()).kind, 'alive');
  await until('its notices made it look', () => lost.remainingMs() === 0);
  assert.equal((await kept.checkpoint('row 42')).kind, 'saved', 'the other one is still there');
  assert.ok(!(await kindsOf(other)).includes('alarm'), 'the store found out by itself');
});

test('T-4, E-4: in a quiet store a holder learns of a failover, and a forgotten release is repeated', async (t) => {
  const { primary, promote, failOver } = await pairOf(t);
  const store = await storeAt(t, primary.url);
  await using ann = await openSession({ store, owner: 'ann', ttlMs: 3_000 });
  await using bob = await openSession({ store, owner: 'bob', ttlMs: 3_000 });
  const first = await take(ann);
  await promote();
  await first.release('finished');
  const forgotten = await take(bob);
  await failOver();

  await until('its holder knows that it is lost', () => forgotten.remainingMs() === 0);
  assert.equal(forgotten.signal.reason.by, 'lost');
  const got = await bob.acquire(forgotten.key, { wait: true, timeoutMs: 30_000 });
  assert.ok(got.kind === 'acquired', JSON.stringify(got));
  assert.equal(got.lease.predecessor.exit, 'abandoned');
  assert.ok(got.lease.fence > forgotten.fence);
});

test('T-4: a notice that a failover took back does not hide the one that the failover gives', async (t) => {
  const { primary, promote, failOver } = await pairOf(t);
  const store = await storeAt(t, primary.url);
  await using session = await openSession({ store, owner: 'ann', ttlMs: 60_000 });
  await promote();
  const lost = await take(session, 'invoice/2');
  const revoked = await take(session, 'invoice/3');
  assert.equal((await store.leases.revoke(revoking(revoked))).kind, 'revoked');
  await session.heartbeat();
  await until('it has seen that notice', () => revoked.remainingMs() === 0);
  await failOver();

  const other = await storeAt(t, primary.url);
  await whenBack(() => store.sessions.inspect(session.id));
  await session.heartbeat();
  await until('its notices made it look', () => lost.remainingMs() === 0);
  assert.ok((await fenceOf(other, 'invoice/2')) > lost.fence);
});

test('T-4: a holder that shows a forgotten fence first raises the epoch, and halts nothing', async (t) => {
  const { primary, promote, failOver } = await pairOf(t);
  const store = await storeAt(t, primary.url);
  await using session = await openSession({ store, owner: 'ann', ttlMs: 60_000 });
  await promote();
  const { fence } = await take(session, 'invoice/2');
  await failOver();
  const tenure = { key: parseLeaseKey('invoice/2'), fence, session: session.id };
  const late = await whenBack(() => store.leases.checkpoint({ ...tenure, ...LATE }));
  assert.ok(late.kind === 'refused' && late.why === 'key-unknown', JSON.stringify(late));
  assert.deepEqual(
    (await kindsOf(store)).filter((kind) => kind === 'alarm' || kind === 'epoch-raised'),
    ['epoch-raised'],
  );
  assert.ok((await fenceOf(store, 'invoice/2')) > fence);
});

test('a primary that became a replica is unavailable, and known not to have done anything', async (t) => {
  const redis = await serverFor(t);
  const store = await storeAt(t, redis.url);
  await send(redis.url, 'REPLICAOF', '127.0.0.1', '1');
  const answer = store.sessions.sweep({ limit: 1 });
  await assert.rejects(answer, { name: 'StoreUnavailable', message: /READONLY/ });
});
