// How the store connects to Redis: its errors, other kinds of clients, other kinds of servers.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createWebServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createClient, createCluster } from 'redis';
import { ManualClock } from '../../contract/index.ts';
import {
  type KernelStore,
  LeaseNotHeld,
  openSession,
  parseLeaseKey,
  parseOwner,
  parseSessionId,
} from '../../src/index.ts';
import { elect } from '../../src/recipes/index.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { until } from '../processes/stage/until.ts';
import { fenceOf, freePort, KEY, send, serverFor, storeAt, take, whenBack } from './scene.ts';

const ID = parseSessionId('00000000-0000-4000-8000-000000000001');
const START_MS = Date.UTC(2030, 0, 1);
const OPENING = { id: ID, owner: parseOwner('ann'), ttlMs: 60_000, graceMs: 0, metadata: {} };

test('a missing server is "cannot be reached", never "may have been done"', async () => {
  for (const url of ['redis://nosuch.invalid', 'redis://127.0.0.1:1', 'unix:///no/such/socket']) {
    await assert.rejects(openRedisStore({ url }), {
      name: 'StoreUnavailable',
      message: /cannot be reached .* Nothing was changed/,
    });
  }
});

test('a server that is not Redis, or does not respond, is named within connectTimeoutMs', async (t) => {
  const web = createWebServer((_, response) => response.end('hello'));
  const mute = createServer((socket) => socket.on('error', () => undefined));
  const sockets = new Set<Socket>();
  mute.on('connection', (socket) => sockets.add(socket));
  const urlOf = async (server: Server): Promise<string> => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  await assert.rejects(openRedisStore({ url: await urlOf(web) }), {
    name: 'StoreUnavailable',
    message: /did not respond like Redis .*"H".* Check the host and the port/,
  });
  await assert.rejects(openRedisStore({ url: await urlOf(mute), connectTimeoutMs: 50 }), {
    name: 'StoreUnavailable',
    message: /no response within 50 ms/,
  });
});

test('impossible options are refused before anything is sent', async () => {
  const url = 'redis://127.0.0.1:1';
  const refused = (options: object, message: RegExp) =>
    assert.rejects(openRedisStore(options), { name: 'InvalidInput', message });
  await refused({}, /either url or client/);
  await refused({ url, client: {} }, /either url or client/);
  await refused({ client: {} }, /no method "eval"/);
  await refused({ url: 'http://localhost' }, /redis:\/\//);
  await refused({ url, namespace: 'a{b}' }, /braces/);
  await refused({ url, durability: 'rdb' }, /"aof" or "any"/);
  await refused({ url, durabilty: 'any' }, /Did you mean "durability"/);
});

test('a missing password is named in the error', async (t) => {
  const { url } = await serverFor(t, { requirepass: 'sesame' });
  await assert.rejects(openRedisStore({ url }), { code: 'store-rejected', message: /NOAUTH/ });
});

test('a password or a right that was revoked is reported at once, with the server’s reason', async (t) => {
  const { url } = await serverFor(t);
  const store = await storeAt(t, url);
  const message = (errors: readonly unknown[]) =>
    errors.map((error) => (error as Error).message).join();
  const errors: unknown[] = [];
  const election = elect(
    { store, owner: 'ann', name: 'lead', ttlMs: 3_000, onError: (error) => errors.push(error) },
    ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
  );
  await until('it leads', () => election.state === 'leading');
  const admin = createClient({ url });
  admin.on('error', () => undefined);
  await admin.connect();
  await admin.sendCommand(['ACL', 'SETUSER', 'default', '-evalsha', '-eval']);
  await until('the missing right is reported', () => /NOPERM/.test(message(errors)));

  await admin.sendCommand(['ACL', 'SETUSER', 'default', '+@all']);
  await until('it leads again', () => election.state === 'leading');
  errors.length = 0;
  await admin.sendCommand(['ACL', 'SETUSER', 'default', 'resetpass', '>sesame']);
  await admin.sendCommand(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes']);
  await until('the password error is reported', () => /NOAUTH|WRONGPASS/.test(message(errors)));
  await admin.sendCommand(['ACL', 'SETUSER', 'default', 'nopass']);
  admin.destroy();
  await election.stop();
});

test('a server that has lost the scripts gets them again', async (t) => {
  const { url } = await serverFor(t);
  const store = await storeAt(t, url);
  const before = await fenceOf(store);
  await send(url, 'SCRIPT', 'FLUSH');
  assert.ok((await fenceOf(store)) > before);
});

test('U-1: a verb whose answer never came is unknown; the next one uses a new connection', async (t) => {
  const { url } = await serverFor(t, { 'enable-debug-command': 'yes' });
  const store = await storeAt(t, url, { silenceMs: 300 });
  const busy = send(url, 'DEBUG', 'SLEEP', '1');
  await until('the server is busy', async () => {
    const asked = await store.sessions.open(OPENING).catch((fault: unknown) => fault);
    return (asked as Error).name === 'OutcomeUnknown';
  });
  await busy;
  const opened = await whenBack(() => store.sessions.open(OPENING));
  assert.equal(opened.kind, 'opened');
});

test('a store can be closed although its hint connection found no server', async (t) => {
  const redis = await serverFor(t);
  const store = await openRedisStore({ url: redis.url });
  await redis.kill();
  store.onHint(() => assert.fail('no server is there to send one'));
  await store.close();
});

test('a frozen server does not keep a store from closing, and cannot be opened', async (t) => {
  const { url } = await serverFor(t);
  const store = await openRedisStore({ url, silenceMs: 300 });
  const pid = Number(/process_id:(\d+)/.exec(String(await send(url, 'INFO', 'server')))?.[1]);
  process.kill(pid, 'SIGSTOP');
  const asked = assert.rejects(store.sessions.open(OPENING), { name: 'OutcomeUnknown' });
  await store.close();
  await asked;
  await assert.rejects(openRedisStore({ url, silenceMs: 300 }), {
    name: 'StoreUnavailable',
    message: /did not respond \(.*\)\. Nothing was changed/,
  });
  process.kill(pid, 'SIGCONT');
});

test('a full server refuses for now, and nothing has changed', async (t) => {
  const { url } = await serverFor(t);
  const store = await storeAt(t, url);
  await using session = await openSession({ store, owner: 'ann', ttlMs: 60_000 });
  const lease = await take(session);
  await send(url, 'CONFIG', 'SET', 'maxmemory', '1');
  const key = parseLeaseKey(KEY);
  const before = await store.leases.inspect(key);
  const bytes = new TextEncoder().encode('more');
  const tenure = { key, fence: lease.fence, session: session.id };
  const saving = store.leases.checkpoint({ ...tenure, seq: 1, bytes, digest: 'more' });
  await assert.rejects(saving, { name: 'StoreUnavailable', message: /OOM/ });
  const after = await store.leases.inspect(key);
  assert.deepEqual(after.record, before.record);
  await send(url, 'CONFIG', 'SET', 'maxmemory', '0');
  assert.equal((await lease.checkpoint('more')).kind, 'saved');
});

test('a client that the caller passes is used and left open', async (t) => {
  const { url } = await serverFor(t);
  const client = createClient({ url });
  client.on('error', () => undefined);
  await client.connect();
  t.after(() => client.destroy());
  const store = await openRedisStore({ client });
  assert.equal(store.address, undefined, 'it cannot be sent to a thread');
  assert.ok((await fenceOf(store)) > 0);
  await store.close();
  assert.equal(await client.ping(), 'PONG');
});

test('every key is in one hash slot: a cluster client works throughout, with hints', async (t) => {
  const port = await freePort();
  const redis = await serverFor(t, { port, bind: '127.0.0.1', 'cluster-enabled': 'yes' });
  await send(redis.url, 'CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await until('it serves', async () =>
    String(await send(redis.url, 'CLUSTER', 'INFO')).includes('cluster_state:ok'),
  );
  const client = createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] });
  client.on('error', () => undefined);
  await client.connect();
  t.after(() => client.destroy());
  const store = await openRedisStore({ client });
  t.after(() => store.close());
  const hinted: string[] = [];
  store.onHint((key) => hinted.push(key));
  await until('it listens', async () =>
    /,1$/.test(String(await send(redis.url, 'PUBSUB', 'NUMSUB', '{holdfast}:meta:hints'))),
  );
  await using ann = await openSession({ store, owner: 'ann' });
  await using bob = await openSession({ store, owner: 'bob' });
  const lease = await take(ann);
  const waiting = bob.acquire(KEY, { wait: true });
  const key = parseLeaseKey(KEY);
  await until('bob waits', async () => (await store.leases.inspect(key)).waiting === 1);
  await lease.release('finished');
  assert.equal((await waiting).kind, 'acquired');
  await until('the hint arrived', () => hinted.includes(KEY));
  await store.sessions.sweep({ limit: 10 });
  await store.sessions.recover({ cause: 'drill' });
  await store.raiseEpoch({ actor: 'olga', reason: 'drill' });
  assert.equal((await store.leases.list({ limit: 10 })).length, 1);
});

test('an address opens the same store in another thread', async (t) => {
  const { url } = await serverFor(t);
  const { address } = await storeAt(t, url, { namespace: 'shared' });
  assert.ok(address !== undefined);
  const { [address.open]: open } = await import(address.module);
  const again = await open(structuredClone(address.options));
  assert.ok((await fenceOf(again)) > 0);
  await again.close();
});

/** A server whose clock the test sets. */
async function serverWithClock(t: TestContext): Promise<{
  readonly store: KernelStore;
  readonly setTo: (ms: number) => Promise<unknown>;
}> {
  const { url } = await serverFor(t);
  const clock = '{holdfast}:test-clock';
  const setTo = (ms: number) => send(url, 'SET', clock, String(ms));
  await setTo(START_MS);
  const nowLua = ` return tonumber(redis.call('GET', '${clock}'))`;
  return { store: await storeAt(t, url, { nowLua }), setTo };
}

test('C-2: setting the server’s clock back does not stop the store’s time', async (t) => {
  const { store, setTo } = await serverWithClock(t);
  await store.sessions.open(OPENING);
  const left = async () => (await store.sessions.inspect(ID))?.remainingMs;
  await setTo(START_MS - 3_600_000);
  assert.equal(await left(), 60_000, 'it stands still at first');
  await store.sessions.heartbeat(OPENING);
  await setTo(START_MS - 3_600_000 + 20_000);
  assert.equal(await left(), 40_000, 'and goes on from there at the pace of the clock');
  await store.sessions.recover({ cause: 'any write' });
  await setTo(START_MS + 30_000);
  assert.equal(await left(), 30_000, 'and does not leap when the clock is right again');
});

test('R-3, T-2: after the server’s clock jumped ahead, the replaced holder stops with its next heartbeat', async (t) => {
  const { store, setTo } = await serverWithClock(t);
  const clock = new ManualClock();
  const ttlMs = 15_000;
  const ann = await openSession({ store, owner: 'ann', ttlMs, clock, timers: clock.timers });
  const first = await take(ann);
  await setTo(START_MS + 60_000);
  await using bob = await openSession({ store, owner: 'bob', ttlMs });
  const second = await take(bob);
  first.assertHeld(0);
  assert.ok(second.fence > first.fence, 'a guard refuses the late writes of the first');
  const stopped = once(first.signal, 'abort');
  await clock.advance(ttlMs / 3);
  await stopped;
  assert.throws(() => first.assertHeld(0), LeaseNotHeld);
  second.assertHeld(0);
});
