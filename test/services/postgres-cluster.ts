import { chown, cp, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { type PostgresBinaries, postgresEnvironment } from './postgres-binaries.ts';
import { runCommand } from './run-command.ts';
import { type User, unprivilegedUser } from './unprivileged-user.ts';

export interface PostgresCluster {
  /** Everything the cluster has on disk; removing it removes the cluster. */
  readonly folder: string;
  readonly dataDirectory: string;
  readonly binaries: PostgresBinaries;
  readonly settings: Readonly<Record<string, string>>;
  readonly spawnOptions: SpawnOptions;
}

export interface SpawnOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly gid?: number;
}

/** Durable by default: benches and crash tests measure a realistic server. */
const DURABLE: Readonly<Record<string, string>> = { fsync: 'on', synchronous_commit: 'on' };

export interface ClusterOptions {
  /** The cluster is a copy of this server and starts as its standby. */
  readonly primaryUrl?: string | undefined;
  /** The data directory is a disk of its own with this size. The watchdog unmounts it. */
  readonly diskMb?: number | undefined;
}

/**
 * An initialised data directory in a new temporary folder, owned by the user that will run the
 * server.
 */
export async function createCluster(
  found: PostgresBinaries,
  settings: Readonly<Record<string, string>>,
  { primaryUrl, diskMb }: ClusterOptions = {},
): Promise<PostgresCluster> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'holdfast-postgres-'));
  try {
    const user = await unprivilegedUser();
    if (user !== undefined) {
      await chown(folder, user.uid, user.gid);
    }
    const binaries = await reachableBinaries(found, folder, user);
    const spawnOptions = { cwd: folder, env: postgresEnvironment(binaries), ...user };
    const dataDirectory = join(folder, 'data');
    if (diskMb !== undefined) {
      await mkdir(dataDirectory);
      const owner = user === undefined ? '' : `,uid=${user.uid},gid=${user.gid}`;
      const options = `size=${diskMb}m,mode=700${owner}`;
      await runCommand('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', dataDirectory]);
    }
    // Only the creation of the cluster goes unsynced; the server itself syncs as usual.
    const [program, ...args] =
      primaryUrl === undefined
        ? ['initdb', '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-locale']
        : ['pg_basebackup', '-d', primaryUrl, '-R', '-c', 'fast'];
    await runCommand(
      join(binaries.directory, program),
      [...args, '-D', dataDirectory, '--no-sync'],
      spawnOptions,
    );
    const allSettings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: folder,
      max_connections: '200',
      ...DURABLE,
      ...settings,
    };
    return { folder, dataDirectory, binaries, settings: allSettings, spawnOptions };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** A user without rights cannot enter, say, a project below root's home; a copy helps there. */
async function reachableBinaries(
  binaries: PostgresBinaries,
  folder: string,
  user: User | undefined,
): Promise<PostgresBinaries> {
  if (user === undefined) {
    return binaries;
  }
  try {
    const env = postgresEnvironment(binaries);
    const postgres = join(binaries.directory, 'postgres');
    await runCommand(postgres, ['--version'], { cwd: folder, env, ...user });
    return binaries;
  } catch (error) {
    if (binaries.movableRoot === undefined) {
      throw error;
    }
    return await copyBinaries(binaries, binaries.movableRoot, join(folder, 'binaries'));
  }
}

async function copyBinaries(
  binaries: PostgresBinaries,
  from: string,
  to: string,
): Promise<PostgresBinaries> {
  await cp(from, to, { recursive: true, verbatimSymlinks: true });
  const moved = (path: string) => join(to, relative(from, path));
  return {
    source: binaries.source,
    directory: moved(binaries.directory),
    movableRoot: to,
    libraryDirectories: binaries.libraryDirectories.map(moved),
  };
}
