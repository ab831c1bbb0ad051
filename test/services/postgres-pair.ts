// A PostgreSQL primary with a standby, as two private servers on loopback.

import { type FileHandle, mkdtemp, open, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startWatchdog } from './postgres.ts';
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.ts';
import { type ClusterOptions, createCluster, type PostgresCluster } from './postgres-cluster.ts';
import { type RunningServer, startServer, startServerOn } from './postgres-server.ts';
import { runCommand } from './run-command.ts';

interface Node {
  readonly cluster: PostgresCluster;
  server: RunningServer;
  readonly watchdog: { release(): Promise<void> };
}

export interface PairOptions {
  /** `synchronous`: the primary acknowledges a commit once the standby has it on disk. */
  readonly commits: 'synchronous' | 'asynchronous';
  /** Each server has a disk of this size, so that `fillDisk` works. It needs the right to mount. */
  readonly diskMb?: number;
}

/** Keeps WAL for a standby that starts. */
const SETTINGS = { wal_keep_size: '128MB', max_wal_size: '128MB' };
const BALLAST = 'ballast';
const BALLAST_BYTES = 1024 * 1024;

export class PostgresPair {
  readonly #binaries: PostgresBinaries;
  readonly #options: PairOptions;
  #primary: Node;
  #standby: Node | undefined;
  /** The port of the server that ended last. */
  #freePort: number | undefined;

  private constructor(binaries: PostgresBinaries, primary: Node, options: PairOptions) {
    this.#binaries = binaries;
    this.#primary = primary;
    this.#options = options;
  }

  static async start(options: PairOptions): Promise<PostgresPair> {
    const binaries = await findPostgresBinaries();
    const { diskMb } = options;
    const pair = new PostgresPair(binaries, await startNode(binaries, { diskMb }), options);
    await pair.addStandby();
    return pair;
  }

  /** The ports of both servers, the primary first. */
  get ports(): readonly number[] {
    return [this.#primary, this.#standby].flatMap((node) => node?.server.port ?? []);
  }

  get primaryUrl(): string {
    return urlOf(this.#primary);
  }

  /** Runs statements on the primary as its superuser. */
  async query(text: string): Promise<readonly pg.QueryResultRow[]> {
    const client = new pg.Client({ connectionString: this.primaryUrl });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** Copies the primary to a new server that follows it, on the port of the server that ended. */
  async addStandby(): Promise<void> {
    const [{ primaryUrl }, { commits, diskMb }] = [this, this.#options];
    this.#standby = await startNode(this.#binaries, { primaryUrl, diskMb }, this.#freePort);
    if (commits === 'synchronous') {
      await this.query("alter system set synchronous_standby_names = '*'");
      await this.query('select pg_reload_conf()');
    }
    const wanted = commits === 'synchronous' ? 'sync' : 'async';
    const state = `select from pg_stat_replication where state = 'streaming' and sync_state = '${wanted}'`;
    while ((await this.query(state)).length === 0);
  }

  /** Ends the primary like a power failure and promotes the standby. No standby is left. */
  async failOver(): Promise<void> {
    const [old, next] = [this.#primary, this.#standby];
    if (next === undefined) throw new Error('There is no standby to promote: call addStandby.');
    await old.server.stop('immediate');
    const { cluster } = next;
    const args = ['promote', '-w', '-D', cluster.dataDirectory];
    await runCommand(join(cluster.binaries.directory, 'pg_ctl'), args, cluster.spawnOptions);
    this.#primary = next;
    this.#standby = undefined;
    this.#freePort = old.server.port;
    await endNode(old);
  }

  /** The standby stops following the primary, so a failover loses what comes after. */
  async detachStandby(): Promise<void> {
    const client = new pg.Client({ connectionString: urlOf(this.#standby ?? this.#primary) });
    await client.connect();
    await client.query("alter system set primary_conninfo = ''");
    await client.query('select pg_reload_conf()');
    await client.end();
  }

  /** No byte is left on the primary's disk. The server may end by itself. */
  async fillDisk(): Promise<void> {
    const file = await open(join(this.#primary.cluster.dataDirectory, BALLAST), 'w');
    try {
      await fill(file);
    } finally {
      await file.close();
    }
  }

  /** Starts the primary again if it has ended meanwhile. */
  async freeDisk(): Promise<void> {
    const { cluster, server } = this.#primary;
    await rm(join(cluster.dataDirectory, BALLAST));
    if (!server.isRunning()) this.#primary.server = await startServerOn(cluster, server.port);
  }

  async stop(): Promise<void> {
    for (const node of [this.#primary, this.#standby]) if (node !== undefined) await endNode(node);
  }
}

/** True if this process may give a server a disk of its own. */
export async function canMount(): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-mount-'));
  try {
    await runCommand('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]);
    await runCommand('umount', [folder]);
    return true;
  } catch {
    return false;
  } finally {
    await rmdir(folder);
  }
}

/** Writes blocks, smaller and smaller ones, until no byte fits. */
async function fill(file: FileHandle): Promise<void> {
  for (let bytes = BALLAST_BYTES; bytes >= 1; ) {
    try {
      await file.write(Buffer.alloc(bytes));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
      bytes = Math.floor(bytes / 16);
    }
  }
}

async function startNode(
  binaries: PostgresBinaries,
  options: ClusterOptions,
  port?: number,
): Promise<Node> {
  const cluster = await createCluster(binaries, SETTINGS, options);
  const watchdog = startWatchdog(cluster.folder);
  const starting = port === undefined ? startServer(cluster) : startServerOn(cluster, port);
  const server = await starting.catch(async (error: unknown) => {
    await watchdog.release();
    throw error;
  });
  return { cluster, watchdog, server };
}

async function endNode({ cluster, server, watchdog }: Node): Promise<void> {
  await server.stop('immediate');
  await watchdog.release();
  await rm(cluster.folder, { recursive: true, force: true });
}

function urlOf({ server }: Node): string {
  return `postgres://postgres@127.0.0.1:${server.port}/postgres`;
}
