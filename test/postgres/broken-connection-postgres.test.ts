// A connection that breaks while no query waits on it.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { test } from 'node:test';
import pg from 'pg';
import { connectDirectly, loadDriver, poolOf } from '../../src/store/postgres/connect.ts';
import { Database, STORE_NOW_SQL } from '../../src/store/postgres/database.ts';
import { openPostgresForExport } from '../../src/store/postgres/export/open-for-export.ts';
import { inspectPostgresStore } from '../../src/store/postgres/inspect-store.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { Fault, StoreUnavailable } from '../../src/support/fault.ts';
import { postgresForTests } from '../services/postgres.ts';

async function endConnection(url: string, pid: number): Promise<void> {
  const admin = new pg.Client(url);
  await admin.connect();
  await admin.query('select pg_terminate_backend($1)', [pid]);
  await admin.end();
}

test('a connection that breaks between two statements of a transaction fails only that transaction', {}, async (t) => {
  const { url, release } = await postgresForTests();
  const pool = poolOf({ url, connectionsMax: 1 }, await loadDriver());
  t.after(async () => {
    // Not awaited: if this fails, a connection is out for ever.
    void pool.end();
    await release();
  });
  const database = new Database(pool, { schema: 'hf', nowSql: STORE_NOW_SQL, prepare: false });
  const breaking = database.attempt(async (_queries, client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const ended = new Promise((resolve) => client.once('end', resolve));
    await endConnection(url, rows[0]?.pid ?? 0);
    // No query waits for the server here; an unhandled error would end the process.
    await ended;
    return { keep: true, result: undefined };
  });
  await assert.rejects(breaking, StoreUnavailable);
  const answer = await database.attempt(async (_queries, client) => {
    const { rows } = await client.query<{ one: number }>('select 1 as one');
    return { keep: false, result: rows[0]?.one };
  });
  assert.equal(answer, 1, 'the next transaction has a connection that works');
});

const message = (kind: string, body: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(kind), length, body]);
};
const LET_IN = message('R', Buffer.alloc(4));
const READY = message('Z', Buffer.from('I'));
const ENDED = message('E', Buffer.from('SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0'));

/**
 * A server that shuts down while it accepts a client: the login and the shutdown come in one
 * packet.
 */
async function leavingServer(): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.concat([LET_IN, READY, ENDED])));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

const WAYS: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  'a store': (url) => openPostgresStore({ url }),
  'a store, past the pooler': (url) => openPostgresStore({ url, pooler: false, prepare: true }),
  'a store for export': (url) => openPostgresForExport({ url }),
  doctor: (url) => inspectPostgresStore({ url }),
  'a listener': async (url) => {
    const client = await connectDirectly({ url }, await loadDriver());
    await client.query('listen hf');
  },
};

for (const [who, open] of Object.entries(WAYS)) {
  test(`a server that shuts down as ${who} connects fails that connection and ends no process`, async () => {
    const server = await leavingServer();
    const { port } = server.address() as AddressInfo;
    try {
      await assert.rejects(open(`postgres://postgres@127.0.0.1:${port}/app`), (error) => {
        assert.ok(who === 'a listener' || error instanceof Fault, String(error));
        return true;
      });
    } finally {
      server.close();
    }
  });
}
