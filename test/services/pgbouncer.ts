// PgBouncer for tests: found or fetched, private, in transaction mode before a PostgreSQL, removed
// afterwards.

import { chown, cp, mkdtemp, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import {
  findPgbouncerBinary,
  movedTo,
  type PgbouncerBinary,
  pgbouncerEnvironment,
} from './pgbouncer-binary.ts';
import { runCommand } from './run-command.ts';
import { type Supervisor, supervise } from './supervise.ts';
import { type User, unprivilegedUser } from './unprivileged-user.ts';

export interface PrivatePgbouncer extends Supervisor {
  /** The URL of the database behind it, through the pooler. */
  readonly url: string;
  readonly version: string;
  readonly source: string;
  /** Everything it has on disk. */
  readonly folder: string;
}

/** Fewer than clients, so that they share connections all the time. */
const SERVER_CONNECTIONS = '6';

/**
 * Before the database of this URL. It ends with this process at the latest, however this process
 * ends.
 */
export async function startPgbouncer(
  url: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<PrivatePgbouncer> {
  const found = await findPgbouncerBinary();
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'holdfast-pgbouncer-'));
  const user = await unprivilegedUser();
  const binary = await reachableBinary(found, folder, user);
  const target = new URL(url);
  const port = await freePort();
  await writeFile(join(folder, 'pgbouncer.ini'), configOf(target, { port, settings }));
  await writeFile(join(folder, 'users.txt'), '"postgres" ""\n');
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  const supervisor = await supervise(
    {
      ...{ name: 'PgBouncer', program: binary.program, args: ['pgbouncer.ini'], folder },
      ...{ ready: ['process up'], ...user },
    },
    pgbouncerEnvironment(binary),
  );
  const { version, source } = found;
  const through = new URL(url);
  through.port = String(port);
  return { url: through.href, version, source, folder, ...supervisor };
}

interface Pooling {
  readonly port: number;
  readonly settings: Readonly<Record<string, string>>;
}

function configOf(target: URL, { port, settings }: Pooling): string {
  const all: Readonly<Record<string, string>> = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'any',
    auth_file: 'users.txt',
    pool_mode: 'transaction',
    default_pool_size: SERVER_CONNECTIONS,
    max_client_conn: '500',
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  const database = `* = host=${target.hostname} port=${target.port} user=${target.username}`;
  return `[databases]\n${database}\n[pgbouncer]\n${lines.join('\n')}\n`;
}

/**
 * It refuses to run as root, and a user without rights cannot enter, say, a project below root's
 * home.
 */
async function reachableBinary(
  binary: PgbouncerBinary,
  folder: string,
  user: User | undefined,
): Promise<PgbouncerBinary> {
  if (user === undefined || binary.movableRoot === undefined) return binary;
  const env = pgbouncerEnvironment(binary);
  const runs = runCommand(binary.program, ['--version'], { cwd: '/', env, ...user });
  if (await runs.then(isSo, isNotSo)) return binary;
  const root = join(folder, 'binaries');
  await cp(binary.movableRoot, root, { recursive: true, verbatimSymlinks: true });
  return movedTo(root);
}

function isSo(): boolean {
  return true;
}

function isNotSo(): boolean {
  return false;
}
