import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { cachedFolder, exists } from './project-cache.ts';
import { runCommand } from './run-command.ts';

/** Never replaced: a second C library beside the running one breaks every program. */
const NEVER_UNPACKED =
  /^(libc6|libc-bin|libgcc-s1|libstdc\+\+6|libllvm.*|libz3-.*|.*-perl|libperl.*)$/;

const DEPENDS_OPTIONS: readonly string[] = [
  ...['--recurse', '--no-recommends', '--no-suggests', '--no-conflicts'],
  ...['--no-breaks', '--no-replaces', '--no-enhances'],
];

/**
 * The distribution's own package and the libraries this machine lacks, unpacked into the project's
 * cache. apt keeps its lists there too, so this needs no root and changes nothing on the system.
 */
export async function postgresFromApt(): Promise<PostgresBinaries> {
  const root = await cachedFolder('postgres-apt', unpackPostgres);
  const [version] = (await readdir(join(root, 'usr/lib/postgresql'))).sort().reverse();
  if (version === undefined) {
    throw new Error(
      `the unpacked package in ${root} holds no PostgreSQL; delete that folder to fetch it again`,
    );
  }
  return {
    source: 'apt',
    directory: join(root, 'usr/lib/postgresql', version, 'bin'),
    movableRoot: root,
    libraryDirectories: await libraryDirectories(root),
  };
}

async function unpackPostgres(folder: string): Promise<void> {
  const state = join(folder, 'apt');
  await mkdir(join(state, 'lists/partial'), { recursive: true });
  await mkdir(join(state, 'cache/archives/partial'), { recursive: true });
  const privateState = [
    ...['-o', `Dir::State::Lists=${join(state, 'lists')}`],
    ...['-o', `Dir::Cache=${join(state, 'cache')}`],
  ];
  await runCommand('apt-get', ['--quiet', 'update', ...privateState]);
  const server = await newestServerPackage(privateState);
  const packages = [server, ...(await missingLibraries(server, privateState))];
  await runCommand('apt-get', ['--quiet', 'download', ...privateState, ...packages], {
    cwd: state,
  });
  const archives = (await readdir(state)).filter((name) => name.endsWith('.deb'));
  for (const archive of archives) {
    await runCommand('dpkg', ['-x', join(state, archive), folder]);
  }
  await rm(state, { recursive: true });
}

async function newestServerPackage(privateState: readonly string[]): Promise<string> {
  const found = await runCommand('apt-cache', [
    ...privateState,
    ...['search', '--names-only', '^postgresql-[0-9]+$'],
  ]);
  const majors = [...found.matchAll(/^postgresql-(\d+)\b/gm)].map(([, major]) => Number(major));
  if (majors.length === 0) {
    throw new Error('the package lists of this machine name no postgresql-NN package');
  }
  return `postgresql-${Math.max(...majors)}`;
}

async function missingLibraries(
  server: string,
  privateState: readonly string[],
): Promise<readonly string[]> {
  const tree = await runCommand('apt-cache', [
    ...privateState,
    ...['depends', ...DEPENDS_OPTIONS, server],
  ]);
  const selections = await runCommand('dpkg', ['--get-selections']);
  const present = new Set(
    [...selections.matchAll(/^([^\s:]+)\S*\s+install$/gm)].map(([, name]) => name ?? ''),
  );
  const libraries = [...tree.matchAll(/^((?:lib|zlib)\S+)$/gm)].map(([, name]) => name ?? '');
  return libraries.filter((name) => !present.has(name) && !NEVER_UNPACKED.test(name));
}

async function libraryDirectories(root: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const parent of [join(root, 'usr/lib'), join(root, 'lib')]) {
    if (!(await exists(parent))) {
      continue;
    }
    const children = await readdir(parent);
    found.push(
      parent,
      ...children.filter((name) => name.includes('-')).map((n) => join(parent, n)),
    );
  }
  return found;
}
