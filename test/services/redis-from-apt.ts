import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cachedFolder } from './project-cache.ts';
import type { RedisBinary } from './redis-binary.ts';
import { runCommand } from './run-command.ts';

/** The program itself is in the tools; the server's package only adds its name and the service. */
const PACKAGES: readonly string[] = ['redis-server', 'redis-tools'];

/** Never replaced: a second C library beside the running one breaks every program. */
const NEVER_UNPACKED = /^(libc6|libc-bin|libgcc-s1|libstdc\+\+6|libelogind0|libperl.*|.*-perl)$/;

const DEPENDS_OPTIONS: readonly string[] = [
  ...['--recurse', '--no-recommends', '--no-suggests', '--no-conflicts'],
  ...['--no-breaks', '--no-replaces', '--no-enhances'],
];

/**
 * Unpacks the distribution's own package, and the libraries this machine lacks, into the project's
 * cache. apt keeps its lists there too, so this needs no root and changes nothing on the system.
 */
export async function redisFromApt(): Promise<RedisBinary> {
  const root = await cachedFolder('redis-apt', unpackRedis);
  const libraries = join(root, 'usr/lib');
  const children = await readdir(libraries);
  return {
    source: 'apt',
    program: join(root, 'usr/bin/redis-server'),
    libraryDirectories: [
      libraries,
      ...children.filter((name) => name.includes('-')).map((name) => join(libraries, name)),
    ],
  };
}

async function unpackRedis(folder: string): Promise<void> {
  const state = join(folder, 'apt');
  await mkdir(join(state, 'lists/partial'), { recursive: true });
  await mkdir(join(state, 'cache/archives/partial'), { recursive: true });
  const privateState = [
    ...['-o', `Dir::State::Lists=${join(state, 'lists')}`],
    ...['-o', `Dir::Cache=${join(state, 'cache')}`],
  ];
  await runCommand('apt-get', ['--quiet', 'update', ...privateState]);
  const packages = [...PACKAGES, ...(await missingLibraries(privateState))];
  await runCommand('apt-get', ['--quiet', 'download', ...privateState, ...packages], {
    cwd: state,
  });
  const archives = (await readdir(state)).filter((name) => name.endsWith('.deb'));
  for (const archive of archives) {
    await runCommand('dpkg', ['-x', join(state, archive), folder]);
  }
  await rm(state, { recursive: true });
}

async function missingLibraries(privateState: readonly string[]): Promise<readonly string[]> {
  const tree = await runCommand('apt-cache', [
    ...privateState,
    ...['depends', ...DEPENDS_OPTIONS, ...PACKAGES],
  ]);
  const selections = await runCommand('dpkg', ['--get-selections']);
  const present = new Set(
    [...selections.matchAll(/^([^\s:]+)\S*\s+install$/gm)].map(([, name]) => name ?? ''),
  );
  const libraries = [...tree.matchAll(/^((?:lib|lua|zlib)\S+)$/gm)].map(([, name]) => name ?? '');
  return libraries.filter((name) => !present.has(name) && !NEVER_UNPACKED.test(name));
}
