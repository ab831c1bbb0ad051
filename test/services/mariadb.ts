// MariaDB for tests: found or fetched, private, reached by a socket in its own folder, removed
// afterwards. It has no system tables, so it checks no passwords.

import { mkdir, mkdtemp, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { debianProgram } from './debian-program.ts';
import { exists } from './project-cache.ts';
import { type Supervisor, supervise } from './supervise.ts';

export interface PrivateMariadb extends Supervisor {
  /** The path of its Unix socket. It listens nowhere else. */
  readonly socket: string;
}

/** Starts a private server that ends with this process at the latest, however this process ends. */
export async function startMariadb(): Promise<PrivateMariadb> {
  const { path, env } = await debianProgram('mariadbd', 'mariadb-server-core');
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'holdfast-mariadb-'));
  const socket = join(folder, 'mariadb.sock');
  await mkdir(join(folder, 'data'));
  const messages = join(dirname(path), '../share/mysql');
  const args = [
    ...['--no-defaults', `--datadir=${join(folder, 'data')}`, `--socket=${socket}`],
    ...['--skip-networking', '--skip-grant-tables', '--innodb-buffer-pool-size=16M'],
    ...((await exists(messages)) ? [`--lc-messages-dir=${messages}`] : []),
    // Power failures are not the subject of these tests.
    ...['--innodb-log-file-size=8M', '--innodb-flush-log-at-trx-commit=0'],
    ...(process.getuid?.() === 0 ? ['--user=root'] : []),
  ];
  const ready = ['ready for connections'];
  const supervisor = await supervise({ name: 'MariaDB', program: path, args, folder, ready }, env);
  return { socket, ...supervisor };
}
