import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from './run-command.ts';

const DEPENDS_OPTIONS: readonly string[] = [
  ...['--recurse', '--no-recommends', '--no-suggests', '--no-conflicts'],
  ...['--no-breaks', '--no-replaces', '--no-enhances'],
];

export interface Apt {
  /** Lines of packages whose names match. */
  search(names: string): Promise<string>;
  /** Libraries that these packages need and this machine lacks, without those that match `never`. */
  missingLibraries(packages: readonly string[], never: RegExp): Promise<readonly string[]>;
  unpack(packages: readonly string[]): Promise<void>;
}

/**
 * Unpacks the distribution's packages into `folder`. While `use` works apt keeps its lists there
 * too, so this needs no root and changes nothing on the system.
 */
export async function withApt(folder: string, use: (apt: Apt) => Promise<void>): Promise<void> {
  const state = join(folder, 'apt');
  await mkdir(join(state, 'lists/partial'), { recursive: true });
  await mkdir(join(state, 'cache/archives/partial'), { recursive: true });
  const own = [
    ...['-o', `Dir::State::Lists=${join(state, 'lists')}`],
    ...['-o', `Dir::Cache=${join(state, 'cache')}`],
  ];
  await runCommand('apt-get', ['--quiet', 'update', ...own]);
  await use({
    search: (names) => runCommand('apt-cache', [...own, 'search', '--names-only', names]),
    async missingLibraries(packages, never) {
      const options = ['depends', ...DEPENDS_OPTIONS, ...packages];
      const tree = await runCommand('apt-cache', [...own, ...options]);
      const present = await installedPackages();
      const libraries = [...tree.matchAll(/^((?:lib|zlib)\S+)$/gm)].map(([, name]) => name ?? '');
      return libraries.filter((name) => !present.has(name) && !never.test(name));
    },
    async unpack(packages) {
      const options = ['--quiet', 'download', ...own, ...packages];
      await runCommand('apt-get', options, { cwd: state });
      const archives = (await readdir(state)).filter((name) => name.endsWith('.deb'));
      for (const archive of archives) {
        await runCommand('dpkg', ['-x', join(state, archive), folder]);
      }
    },
  });
  await rm(state, { recursive: true });
}

async function installedPackages(): Promise<ReadonlySet<string>> {
  const selections = await runCommand('dpkg', ['--get-selections']);
  return new Set(
    [...selections.matchAll(/^([^\s:]+)\S*\s+install$/gm)].map(([, name]) => name ?? ''),
  );
}
