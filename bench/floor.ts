// The raw floor: the best rate of the machine and the bare store, without Holdfast. It has the same
// durability, driver and concurrency as the case that is measured beside it.

import { randomBytes } from 'node:crypto';
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { createClient } from 'redis';
import type { Settings } from './report.ts';

export interface Floor {
  /** Read from the server or the file, after a check that commits are durable. */
  readonly settings: Settings;
  /** One durable commit of one row that carries `bytes` random bytes. */
  commit(worker: number, bytes: number): unknown;
  close(): Promise<void>;
}

/** One row per worker, so that commits of different workers do not block each other. */
const ROWS = 64;

const BLOCK_BYTES = 8_192;

/** Overwrites one block of a file and flushes it. No commit can be faster. */
export function openDiskFloor(folder: string): Floor {
  const file = openSync(join(folder, 'floor.bin'), 'w');
  const block = randomBytes(BLOCK_BYTES);
  writeSync(file, block, 0, BLOCK_BYTES, 0);
  return {
    settings: { call: 'write and fdatasync', blockBytes: BLOCK_BYTES },
    commit: () => {
      writeSync(file, block, 0, BLOCK_BYTES, 0);
      fdatasyncSync(file);
    },
    close: async () => closeSync(file),
  };
}

export function openSqliteFloor(folder: string): Floor {
  const database = new DatabaseSync(join(folder, 'floor.db'));
  database.exec('pragma journal_mode = wal; pragma synchronous = full');
  const settings = {
    journal_mode: pragma(database, 'journal_mode'),
    synchronous: pragma(database, 'synchronous') === '2' ? 'FULL' : 'less than FULL',
  };
  demand(settings, { journal_mode: 'wal', synchronous: 'FULL' });
  database.exec('create table floor (id integer primary key, number integer, bytes blob)');
  const insert = database.prepare('insert into floor values (?, 0, null)');
  for (let id = 0; id < ROWS; id += 1) insert.run(id);
  const begin = database.prepare('begin immediate');
  const commit = database.prepare('commit');
  const update = database.prepare(
    'update floor set number = number + 1, bytes = :bytes where id = :id',
  );
  return {
    settings,
    commit: (worker, bytes) => {
      begin.run();
      update.run({ id: worker, bytes: randomPayload(bytes) });
      commit.run();
    },
    close: async () => database.close(),
  };
}

/** Has a pool, like the store beside it. With one commit in flight, it uses one connection. */
export async function openPostgresFloor(url: string, connections: number): Promise<Floor> {
  const pool = new pg.Pool({ connectionString: url, max: connections });
  const settings = await readPostgresSettings(pool);
  demand(settings, { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' });
  await pool.query(
    `create table floor (id integer primary key, number bigint, bytes bytea) with (fillfactor = 50);
     insert into floor select id, 0, null from generate_series(0, ${ROWS - 1}) as id`,
  );
  return {
    settings: { ...settings, connections },
    commit: (worker, bytes) =>
      pool.query({
        name: 'floor',
        text: 'update floor set number = number + 1, bytes = $2 where id = $1',
        values: [worker, randomPayload(bytes)],
      }),
    close: () => pool.end(),
  };
}

/** Has one connection, like the store beside it. The client pipelines concurrent requests. */
export async function openRedisFloor(url: string): Promise<Floor> {
  const client = createClient({ url });
  await client.connect();
  const settings = {
    ...(await client.configGet('appendonly')),
    ...(await client.configGet('appendfsync')),
    redis_version: /redis_version:(\S+)/.exec(await client.info('server'))?.[1] ?? 'unknown',
  };
  demand(settings, { appendonly: 'yes', appendfsync: 'always' });
  return {
    settings,
    commit: (worker, bytes) => client.hSet('floor', String(worker), randomPayload(bytes)),
    close: async () => client.destroy(),
  };
}

/** Reads the settings that decide whether a commit is durable. */
export async function readPostgresSettings(pool: pg.Pool): Promise<Settings> {
  const { rows } = await pool.query<{ name: string; setting: string }>(
    `select name, setting
       from pg_settings
      where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method', 'server_version')`,
  );
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}

const payloads: Map<number, Buffer> = new Map();

/** Random, because some stores compress values. Returns the same bytes each time. */
export function randomPayload(bytes: number): Buffer {
  let payload = payloads.get(bytes);
  if (payload === undefined) {
    payload = randomBytes(bytes);
    payloads.set(bytes, payload);
  }
  return payload;
}

/** Throws if the settings differ: without flushes, a figure would say nothing about Holdfast. */
export function demand(settings: Settings, wanted: Settings): void {
  for (const [name, value] of Object.entries(wanted)) {
    if (settings[name] !== value) {
      throw new Error(`Not measured: ${name} is "${settings[name]}" and must be "${value}".`);
    }
  }
}

function pragma(database: DatabaseSync, name: string): string {
  return String(database.prepare(`pragma ${name}`).get()?.[name]);
}
