import { readdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { withApt } from './apt.ts';
import { cachedFolder, exists } from './project-cache.ts';
import { runCommand } from './run-command.ts';

export interface PgbouncerBinary {
  readonly source: 'path' | 'apt';
  readonly program: string;
  /** The unpacked folder, to copy where another user can read it. */
  readonly movableRoot?: string;
  /** The folder of shared libraries that the system lacks. */
  readonly libraryDirectories: readonly string[];
}

/** Never replaced: a second C library beside the running one breaks every program. */
const NEVER_UNPACKED = /^(libc6|libc-bin|libgcc-s1|libstdc\+\+6|libelogind0|libperl.*|.*-perl)$/;

/** The first that runs here: one on the PATH, else the distribution's package in the cache. */
export async function findPgbouncerBinary(): Promise<PgbouncerBinary & { version: string }> {
  const reasons: string[] = [];
  for (const find of [pgbouncerOnPath, pgbouncerFromApt]) {
    try {
      const found = await find();
      const output = await runCommand(found.program, ['--version'], {
        env: pgbouncerEnvironment(found),
      });
      return { ...found, version: /PgBouncer (\S+)/.exec(output)?.[1] ?? 'unknown' };
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(
    `No PgBouncer could be found or fetched:\n${reasons.map((reason) => `  ${reason}`).join('\n')}\n` +
      'Put `pgbouncer` on PATH, or make the package archive reachable, ' +
      'or leave PgBouncer out by name: npm test -- --without=pgbouncer',
  );
}

export function pgbouncerEnvironment(binary: PgbouncerBinary): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env, LC_ALL: 'C' };
  if (binary.libraryDirectories.length > 0) {
    env['LD_LIBRARY_PATH'] = binary.libraryDirectories.join(delimiter);
  }
  return env;
}

async function pgbouncerOnPath(): Promise<PgbouncerBinary> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of [...folders, '/usr/sbin']) {
    const program = join(folder, 'pgbouncer');
    if (await exists(program)) return { source: 'path', program, libraryDirectories: [] };
  }
  throw new Error('path: no folder of PATH holds pgbouncer');
}

async function pgbouncerFromApt(): Promise<PgbouncerBinary> {
  const root = await cachedFolder('pgbouncer-apt', (folder) =>
    withApt(folder, async (apt) => {
      const libraries = await apt.missingLibraries(['pgbouncer'], NEVER_UNPACKED);
      await apt.unpack(['pgbouncer', ...libraries]);
    }),
  );
  return { ...unpackedIn(root), libraryDirectories: await librariesIn(root) };
}

function unpackedIn(root: string): Omit<PgbouncerBinary, 'libraryDirectories'> {
  return { source: 'apt', program: join(root, 'usr/sbin/pgbouncer'), movableRoot: root };
}

async function librariesIn(root: string): Promise<readonly string[]> {
  const folder = join(root, 'usr/lib');
  const children = await readdir(folder).catch(() => []);
  return children.filter((name) => name.includes('-')).map((name) => join(folder, name));
}

/** The same program in another place, after its folder was copied there. */
export async function movedTo(root: string): Promise<PgbouncerBinary> {
  return { ...unpackedIn(root), libraryDirectories: await librariesIn(root) };
}
