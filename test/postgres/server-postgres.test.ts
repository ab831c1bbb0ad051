// The PostgreSQL store and its server: settings, restarts, rights.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { appendFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import pg from 'pg';
import {
  type Fence,
  type KernelStore,
  openSession,
  parseLeaseKey,
  parseOwner,
  parseSessionId,
  type SessionId,
  watchLeases,
} from '../../src/index.ts';
import { epochOf } from '../../src/lease/fence.ts';
import { inspectPostgresStore } from '../../src/store/postgres/inspect-store.ts';
import { snapshotProblem } from '../../src/store/postgres/oldest-snapshot.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { systemRandom } from '../../src/support/random.ts';
import { until } from '../processes/stage/until.ts';
import { startPostgres } from '../services/postgres.ts';

const KEY = parseLeaseKey('invoice/1');

let server: Awaited<ReturnType<typeof startPostgres>>;

before(async () => {
  server = await startPostgres({ settings: { synchronous_commit: 'off' } });
});

after(() => server.stop());

async function fenceOf(store: KernelStore): Promise<Fence> {
  const session = await openSession({ store, owner: 'ann' });
  const got = await session.acquire(KEY);
  assert.ok(got.kind === 'acquired');
  await got.lease.release('finished');
  await session.close();
  return got.lease.fence;
}

async function asRoot(sql: string): Promise<void> {
  const client = new pg.Client(server.url);
  await client.connect();
  await client.query(sql);
  await client.end();
}

test('T-3: grants wait for the disk although the server’s setting does not require it', async () => {
  const store = await openPostgresStore({ url: server.url, schema: 'commit_off' });
  assert.match(store.durability, /^process and machine crashes .*synchronous_commit on/);
  await store.close();
});

test('T-3: behind a pooler each transaction waits for the disk, since a connection’s setting is lost', async () => {
  const store = await openPostgresStore({ url: server.url, schema: 'commit_off', pooler: true });
  assert.match(store.durability, /^process and machine crashes .*synchronous_commit on/);
  await store.close();
});

test('T-4: another timeline or system raises the epoch before the next grant', async () => {
  const options = { url: server.url, schema: 'moved' };
  const store = await openPostgresStore(options);
  const before = await fenceOf(store);
  await asRoot("update moved.meta set timeline = timeline - 1, started_at = 'epoch'");
  const after = await fenceOf(store);
  assert.ok(after > before + 2 ** 39, `${after} is in the next epoch after ${before}`);
  const kinds: string[] = [];
  const stop = new AbortController();
  for await (const event of watchLeases(store, { signal: stop.signal, pollMs: 10 })) {
    kinds.push(event.kind);
    if (event.kind === 'epoch-raised') stop.abort();
  }
  assert.ok(kinds.includes('epoch-raised'));
  await store.close();
});

test('P-18, S-1: heartbeats of one moment are one transaction, and a locked session delays no other', async (t) => {
  const store = await openPostgresStore({ url: server.url, schema: 'beats' });
  t.after(() => store.close());
  const client = new pg.Client(server.url);
  await client.connect();
  t.after(() => client.end());
  const owner = parseOwner('ann');
  const ids = Array.from({ length: 8 }, () => parseSessionId(systemRandom.uuid()));
  for (const id of ids) {
    await store.sessions.open({ id, owner, ttlMs: 60_000, graceMs: 0, metadata: {} });
  }
  const beat = async (id: SessionId) => (await store.sessions.heartbeat({ id, owner })).kind;
  const alive = ids.map(() => 'alive');
  const strange = { id: parseSessionId(systemRandom.uuid()), owner: 'a\0' as typeof owner };
  const [refused, ...kinds] = await Promise.all([
    store.sessions.heartbeat(strange),
    ...ids.map(beat),
  ]);
  assert.equal(refused.kind, 'refused');
  assert.deepEqual(kinds, alive);
  const { rows } = await client.query('select distinct xmin::text from beats.session');
  assert.equal(rows.length, 1);
  const [locked, ...free] = ids;
  assert.ok(locked !== undefined);
  await client.query(`begin; select from beats.session where id = '${locked}' for update`);
  let isLocked = true;
  const waiting = beat(locked).then((kind) => ({ kind, isLocked }));
  assert.deepEqual(await Promise.all(free.map(beat)), alive.slice(1));
  isLocked = false;
  await client.query('rollback');
  assert.deepEqual(await waiting, { kind: 'alive', isLocked: false });
});

test('T-3: two failovers, of which the standby missed the first, raise the epoch by two', async () => {
  const store = await openPostgresStore({ url: server.url, schema: 'missed' });
  const before = await fenceOf(store);
  await asRoot("update missed.meta set timeline = timeline - 2, started_at = 'epoch'");
  const after = await fenceOf(store);
  assert.equal(epochOf(after) - epochOf(before), 2);
  await store.close();
});

test('T-4, S-2: a holder whose grant a failover took back learns of it with its next heartbeat', async () => {
  const store = await openPostgresStore({ url: server.url, schema: 'forgotten' });
  const session = await openSession({ store, owner: 'ann', ttlMs: 60_000 });
  const [lost, kept] = [await session.acquire(KEY), await session.acquire('invoice/2')];
  assert.ok(lost.kind === 'acquired' && kept.kind === 'acquired');
  // Like a standby that had not received the last grant.
  await asRoot(`delete from forgotten.lease where key = '${KEY}'`);
  await asRoot("update forgotten.meta set timeline = timeline - 1, started_at = 'epoch'");
  assert.ok((await fenceOf(store)) > lost.lease.fence);
  assert.equal((await session.heartbeat()).kind, 'alive');
  assert.equal(lost.lease.remainingMs(), 0);
  assert.ok(kept.lease.remainingMs() > 0);
  await session.close();
  await store.close();
});

/** The server is gone, and a standby takes over that received nothing after this call. */
async function standBy(): Promise<() => Promise<void>> {
  const { dataDirectory } = server;
  const standby = `${dataDirectory}-standby`;
  const copy = (from: string, to: string) => promisify(execFile)('cp', ['-a', from, to]);
  await server.restart('fast', async () => {
    await copy(dataDirectory, standby);
    // It ends its recovery as any promoted standby does: on its own timeline.
    await copy(join(standby, 'PG_VERSION'), join(standby, 'recovery.signal'));
    await appendFile(join(standby, 'postgresql.auto.conf'), "restore_command = 'false'\n");
  });
  return () =>
    server.restart('immediate', async () => {
      await rm(dataDirectory, { recursive: true });
      await rename(standby, dataDirectory);
    });
}

test('T-4, E-4: in a quiet store a holder learns of a failover, and a forgotten release is repeated', async (t) => {
  const store = await openPostgresStore({ url: server.url, schema: 'quiet' });
  t.after(() => store.close());
  await using ann = await openSession({ store, owner: 'ann', ttlMs: 6_000 });
  await using bob = await openSession({ store, owner: 'bob', ttlMs: 6_000 });
  const first = await ann.acquire(KEY);
  assert.ok(first.kind === 'acquired');
  const failOver = await standBy();
  await first.lease.release('finished');
  await until('it is released', async () => {
    const found = await store.leases.inspect(KEY).catch(() => undefined);
    return found?.state === 'free';
  });
  const forgotten = await bob.acquire(KEY, { wait: true, timeoutMs: 30_000 });
  assert.ok(forgotten.kind === 'acquired', JSON.stringify(forgotten));
  await failOver();

  await until('its holder knows that it is lost', () => forgotten.lease.remainingMs() === 0);
  const got = await bob.acquire(KEY, { wait: true, timeoutMs: 60_000 });
  assert.ok(got.kind === 'acquired', JSON.stringify(got));
  assert.equal(got.lease.predecessor.exit, 'abandoned');
  assert.ok(got.lease.fence > forgotten.lease.fence);
});

test('an ordinary role that owns its schema is enough', async () => {
  await asRoot(
    'create role plain login; create schema plain authorization plain; grant connect on database postgres to plain',
  );
  const url = new URL(server.url);
  url.username = 'plain';
  const store = await openPostgresStore({ url: url.href, schema: 'plain' });
  const [first, second] = [await fenceOf(store), await fenceOf(store)];
  assert.ok(second > first);
  await store.close();
});

test('a schema that a newer build has migrated is refused, with the fix', async () => {
  const options = { url: server.url, schema: 'newer' };
  await (await openPostgresStore(options)).close();
  await asRoot(
    "insert into newer.migration (name, checksum, older_builds_may_run) values ('9999-future', 'x', false)",
  );
  await assert.rejects(
    openPostgresStore(options),
    /newer version migrated .*\(9999-future\).*Upgrade/,
  );
  await asRoot("update newer.migration set older_builds_may_run = true where name = '9999-future'");
  await (await openPostgresStore(options)).close();
  await asRoot("update newer.migration set checksum = 'edited' where name = '0001-leases'");
  await assert.rejects(openPostgresStore(options), /other content than in this version/);
});

test('E-5: a lease whose session row is gone is stale, not immortal', async () => {
  const store = await openPostgresStore({ url: server.url, schema: 'orphaned' });
  const session = await openSession({ store, owner: 'ann' });
  await session.acquire(KEY);
  await asRoot('delete from orphaned.session');
  await store.sessions.sweep({ limit: 10 });
  const { state, record } = await store.leases.inspect(KEY);
  assert.deepEqual([state, record?.end?.exit], ['free', 'expired']);
  assert.ok((await fenceOf(store)) > 0);
  await session.close();
  await store.close();
});

test('O-1: an event whose number is lower than one already seen is not skipped', async () => {
  const store = await openPostgresStore({ url: server.url, schema: 'gaps' });
  const [early, late] = [new pg.Client(server.url), new pg.Client(server.url)];
  await Promise.all([early.connect(), late.connect()]);
  const insert =
    "insert into gaps.event (at, kind, detail) values (1, 'epoch-raised', '{}') returning seq";
  for (const client of [early, late]) await client.query('begin; select pg_current_xact_id()');
  await late.query(insert);
  await early.query(insert);
  await early.query('commit');
  const before = await store.leases.events({ after: 0, limit: 100 });
  assert.ok(before.kind === 'events');
  assert.deepEqual(before.events, [], 'the later number waits for the earlier one');
  await late.query('commit');
  const after = await store.leases.events({ after: before.next, limit: 100 });
  assert.ok(after.kind === 'events');
  assert.deepEqual(
    after.events.map(({ seq }) => seq),
    [1, 2],
  );
  await Promise.all([early.end(), late.end()]);
  await store.close();
});

test('T-3: tables restored from a dump into the same server raise the epoch', async () => {
  const store = await openPostgresStore({ url: server.url, schema: 'copied' });
  const before = await fenceOf(store);
  await asRoot(
    'alter sequence copied.fence rename to old; create sequence copied.fence as bigint start 1099511627777 minvalue 1099511627777',
  );
  assert.ok((await fenceOf(store)) > before + 2 ** 39);
  const { facts } = await inspectPostgresStore({ url: server.url, schema: 'copied' });
  const epoch = facts.find(({ name }) => name === 'epoch');
  assert.match(epoch?.found ?? '', /tables were created anew, as by a restore from a dump/);
  await store.close();
});

test('E-5: a key whose session row is gone can be taken without waiting for a sweep', async () => {
  const store = await openPostgresStore({ url: server.url, schema: 'taken' });
  const session = await openSession({ store, owner: 'ann' });
  await session.acquire(KEY);
  await asRoot('delete from taken.session');
  assert.ok((await fenceOf(store)) > 0);
  await session.close();
  await store.close();
});

test('doctor names the transaction that holds the oldest snapshot', async () => {
  const holder = new pg.Client({ connectionString: server.url, application_name: 'report' });
  await holder.connect();
  await holder.query('begin isolation level repeatable read; select 1');
  const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid');
  const { facts } = await inspectPostgresStore({ url: server.url });
  const oldest = facts.find(({ name }) => name === 'oldest snapshot');
  assert.match(oldest?.found ?? '', new RegExp(`process ${rows[0]?.pid}, .*application report`));
  assert.equal(oldest?.change, undefined, 'it is young');
  await holder.end();
  const row = { holder: 'process 7', end: 'select pg_terminate_backend(7)', transactions: 9 };
  const old = snapshotProblem({ ...row, seconds: 61 });
  assert.match(`${old?.sentence} ${old?.advice}`, /61 s .*process 7\. .*pg_terminate_backend\(7\)/);
});

test('a schema name is a plain word, and a closed store opens no connection', async () => {
  for (const schema of ['a"; create table public.pwned(); --', 'sc$&x', "q'x", 'Upper']) {
    await assert.rejects(openPostgresStore({ url: server.url, schema }), /lower-case letters/);
  }
  const store = await openPostgresStore({ url: server.url, schema: 'shut' });
  await store.close();
  store.onHint(() => undefined)();
});
