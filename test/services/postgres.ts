// PostgreSQL for tests and benches: found or fetched, private, durable, removed afterwards.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { findPostgresBinaries, type PostgresSource } from './postgres-binaries.ts';
import { createCluster } from './postgres-cluster.ts';
import { type StopMode, startServer, startServerOn } from './postgres-server.ts';

export interface PostgresOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** Takes the binaries from this place or fails. Default: the first place that has them. */
  readonly source?: PostgresSource;
}

export interface PrivatePostgres {
  readonly url: string;
  readonly version: string;
  readonly source: string;
  readonly dataDirectory: string;
  readonly binDirectory: string;
  /**
   * Same port, same data, unless `meanwhile` changes them while the server is down. `immediate` leaves the
   * server to recover from its log, as after a crash.
   */
  restart(mode: StopMode, meanwhile?: () => Promise<void>): Promise<void>;
  /** Idempotent. Removes the cluster's folder before it returns. */
  stop(): Promise<void>;
}

/** Starts a private cluster that ends with this process at the latest, however this process ends. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PrivatePostgres> {
  const binaries = await findPostgresBinaries(options.source);
  const cluster = await createCluster(binaries, options.settings ?? {});
  const watchdog = startWatchdog(cluster.folder);
  let server = await startServer(cluster).catch(async (error: unknown) => {
    await watchdog.release();
    throw error;
  });
  const url = `postgres://postgres@127.0.0.1:${server.port}/postgres`;
  const [row] = await query<{ server_version: string }>(url, 'show server_version');

  const endCluster = async () => {
    await server.stop('immediate');
    await watchdog.release();
    // Done by the watchdog already, unless something killed it.
    await rm(cluster.folder, { recursive: true, force: true });
  };
  let stopped: Promise<void> | undefined;
  return {
    url,
    version: row?.server_version ?? 'unknown',
    source: binaries.source,
    dataDirectory: cluster.dataDirectory,
    binDirectory: cluster.binaries.directory,
    async restart(mode, meanwhile) {
      await server.stop(mode);
      await meanwhile?.();
      server = await startServerOn(cluster, server.port);
    },
    stop() {
      stopped ??= endCluster();
      return stopped;
    },
  };
}

/**
 * A fresh database of the cluster that the runner started, or of a private cluster if a test file
 * runs by hand. Test files never see each other's rows.
 */
export async function postgresForTests(): Promise<{ url: string; release(): Promise<void> }> {
  const sharedUrl = process.env['HOLDFAST_TEST_POSTGRES_URL'];
  const own = sharedUrl === undefined ? await startPostgres() : undefined;
  const serverUrl = own?.url ?? sharedUrl ?? '';
  const name = `hf_${randomBytes(8).toString('hex')}`;
  await query(serverUrl, `create database ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  let released: Promise<void> | undefined;
  const release = async () => {
    await dropDatabase(serverUrl, name);
    await own?.stop();
  };
  return {
    url: url.href,
    release() {
      released ??= release();
      return released;
    },
  };
}

const DROPS_MAX = 5;
const STILL_IN_USE = '55006';

/**
 * The server gives connected clients five seconds to leave, which a busy machine may need more than
 * once.
 */
async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await query(serverUrl, `drop database if exists ${name} with (force)`);
      return;
    } catch (error) {
      const { code } = error as { readonly code?: unknown };
      if (code !== STILL_IN_USE || tries >= DROPS_MAX) throw error;
    }
  }
}

async function query<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

export function startWatchdog(folder: string): { release(): Promise<void> } {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'postgres-watchdog.ts'), folder],
    { detached: true, stdio: ['pipe', 'ignore', 'ignore'] },
  );
  const ended = once(child, 'exit');
  child.unref();
  return {
    async release() {
      child.ref();
      child.stdin.end();
      await ended;
    },
  };
}
