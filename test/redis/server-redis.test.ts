// The Redis store and its server: settings, restarts, losses.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openSession } from '../../src/index.ts';
import { epochOf } from '../../src/lease/fence.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { until } from '../processes/stage/until.ts';
import { FLUSHED_ALWAYS, FLUSHED_EVERY_SECOND } from '../services/redis.ts';
import { fenceOf, kindsOf, send, serverFor, storeAt, take, whenBack } from './scene.ts';

const NO_FILE = { appendonly: 'no' };

test('the durability of each append-only setting names the failures that a "done" survives', async (t) => {
  const { url } = await serverFor(t, FLUSHED_ALWAYS);
  const labelled = async (name: string, value: string) => {
    await send(url, 'CONFIG', 'SET', name, value);
    const store = await storeAt(t, url);
    return store.durability;
  };
  assert.match(
    await labelled('appendfsync', 'always'),
    /^the loss of the machine \(AOF, .*always\)/,
  );
  assert.match(await labelled('no-appendfsync-on-rewrite', 'yes'), /may take back .*everysec/);
  assert.match(await labelled('no-appendfsync-on-rewrite', 'no'), /^the loss of the machine/);
  assert.match(await labelled('appendfsync', 'everysec'), /end of a process; .*last two seconds/);
  assert.match(await labelled('appendfsync', 'no'), /end of a process; .*half a minute/);
});

test('a server that forgets at a restart is refused, unless durability is "any"', async (t) => {
  const { url } = await serverFor(t, NO_FILE);
  await assert.rejects(openRedisStore({ url }), { code: 'not-durable', message: /appendonly yes/ });
  const store = await storeAt(t, url, { durability: 'any' });
  assert.match(store.durability, /^nothing: .*forget everything/);
});

test('T-3: a server that evicts keys is refused', async (t) => {
  const { url } = await serverFor(t, { maxmemory: '100mb', 'maxmemory-policy': 'allkeys-lru' });
  await assert.rejects(openRedisStore({ url }), { code: 'not-durable', message: /noeviction/ });
});

test('T-3, E-6: after a crash with AOF always the same term continues, in the same epoch', async (t) => {
  const redis = await serverFor(t, FLUSHED_ALWAYS);
  const store = await storeAt(t, redis.url);
  await using session = await openSession({ store, owner: 'ann', ttlMs: 60_000 });
  const lease = await take(session);
  assert.equal((await lease.checkpoint('row 41')).kind, 'saved');
  await redis.kill();
  await redis.start();
  const next = await whenBack(() => fenceOf(store, 'invoice/2'));
  assert.ok(next > lease.fence);
  assert.equal(epochOf(next), epochOf(lease.fence), 'nothing can have been forgotten');
  assert.equal((await lease.checkpoint('row 42')).kind, 'saved');
});

test('T-4: after a crash with AOF everysec the epoch rises before any grant', async (t) => {
  const redis = await serverFor(t, FLUSHED_EVERY_SECOND);
  const store = await storeAt(t, redis.url);
  await using session = await openSession({ store, owner: 'ann', ttlMs: 60_000 });
  const lease = await take(session);
  const before = await session.heartbeat();
  await redis.kill();
  await redis.start();
  const next = await whenBack(() => fenceOf(store, 'invoice/2'));
  assert.equal(epochOf(next), epochOf(lease.fence) + 1);
  assert.ok((await kindsOf(store)).includes('epoch-raised'));
  assert.ok(before.kind === 'alive');
  const { notices } = (await store.sessions.inspect(session.id))?.session ?? { notices: 0 };
  assert.ok(notices > before.notices, 'every live session checks its leases');
  assert.equal((await session.heartbeat()).kind, 'alive');
  assert.equal((await lease.checkpoint('row 42')).kind, 'saved', 'this one is');
});

test('T-3: a server that has forgotten everything issues fences above the earlier ones', async (t) => {
  const redis = await serverFor(t, NO_FILE);
  const open = () => storeAt(t, redis.url, { durability: 'any' });
  const old = await open();
  const newest = await fenceOf(old);
  await redis.kill();
  await redis.start();
  const afresh = await fenceOf(await open());
  assert.ok(afresh > newest, `${afresh} for one that knows nothing, after ${newest}`);
  const remembered = await whenBack(() => fenceOf(old));
  assert.ok(remembered > afresh, `${remembered} for one that knows better, after ${afresh}`);
});

test('T-3: a client that only opened the store keeps fences rising after everything is deleted', async (t) => {
  const { url } = await serverFor(t);
  const first = await openRedisStore({ url });
  await first.raiseEpoch({ actor: 'olga', reason: 'to be sure' });
  const before = await fenceOf(first);
  await first.close();
  const store = await storeAt(t, url);
  await send(url, 'FLUSHALL');
  assert.ok((await fenceOf(store)) > before, 'no fence is issued below an earlier one');
});

/** A live client remembers it when all keys are gone. */
function untilKnown(url: string, epoch: number): Promise<void> {
  return until(`a client remembers epoch ${epoch}`, async () => {
    const channels = await send(url, 'PUBSUB', 'CHANNELS', `*:meta:epoch:${epoch}`);
    return (channels as readonly string[]).length > 0;
  });
}

test('T-3: after FLUSHALL a new client gets no fence below that of a live one', async (t) => {
  const { url } = await serverFor(t);
  const living = await storeAt(t, url);
  await living.raiseEpoch({ actor: 'olga', reason: 'as a restart does' });
  const before = await fenceOf(living);
  await untilKnown(url, epochOf(before));
  await send(url, 'FLUSHALL');
  const fresh = await storeAt(t, url);
  assert.ok((await fenceOf(fresh)) > before);
});

test('T-3: a client that only keeps a session remembers the epoch too', async (t) => {
  const { url } = await serverFor(t);
  const living = await storeAt(t, url);
  await using session = await openSession({ store: living, owner: 'ann', ttlMs: 1_000 });
  const other = await openRedisStore({ url });
  await other.raiseEpoch({ actor: 'olga', reason: 'as a restart does' });
  const before = await fenceOf(other);
  await other.close();
  await session.heartbeat();
  await untilKnown(url, epochOf(before));
  await send(url, 'FLUSHALL');
  const fresh = await storeAt(t, url);
  assert.ok((await fenceOf(fresh)) > before);
});

test('T-4: deleted keys raise the epoch of a client that has seen more', async (t) => {
  const redis = await serverFor(t);
  const store = await storeAt(t, redis.url);
  const before = await fenceOf(store);
  await send(redis.url, 'HSET', '{holdfast}:meta', 'fence', String(before - 1));
  assert.equal(epochOf(await fenceOf(store)), epochOf(before) + 1, 'gone back by one');
  await send(redis.url, 'FLUSHALL');
  assert.ok((await fenceOf(store)) > before + 2 ** 39, 'gone back to nothing');
});
