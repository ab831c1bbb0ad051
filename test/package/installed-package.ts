import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { oneAtATime } from '../../scripts/one-at-a-time.ts';
import { sourcesDigest } from '../../scripts/sources-digest.ts';
import { runCommand } from '../services/run-command.ts';

const ROOT = join(import.meta.dirname, '../..');

const PACKED = join(ROOT, '.cache/package');
const SOURCES = [
  ...['src', 'contract', 'console', 'site', 'docs', 'deploy', 'examples', 'scripts'].map(
    (folder) => `${folder}/**/*`,
  ),
  ...['*.md', '*.json', 'test/tidy/*.ts'],
];

/** Builds and packs this checkout if its sources have changed. */
export async function packedTarball(): Promise<string> {
  const tarball = join(PACKED, `${sourcesDigest(SOURCES)}.tgz`);
  await mkdir(PACKED, { recursive: true });
  return oneAtATime(tarball, async () => {
    if (existsSync(tarball)) return tarball;
    for (const old of globSync('*.tgz', { cwd: PACKED })) await rm(join(PACKED, old));
    const draft = await mkdtemp(join(PACKED, 'draft-'));
    const options = ['--silent', '--json=false', '--pack-destination', draft];
    const printed = await runCommand('npm', ['pack', ...options], { cwd: ROOT });
    await rename(join(draft, printed.trim().split('\n').at(-1) ?? ''), tarball);
    await rm(draft, { recursive: true, force: true });
    return tarball;
  });
}

export interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export interface InstalledPackage {
  readonly manifest: Manifest;
  /** A project that has nothing installed but the package and what the package depends on. */
  readonly project: string;
  /** The package as its users have it. */
  readonly folder: string;
  readonly tarball: string;
  /** Makes an optional peer available, from this checkout. */
  addPeer(name: string): Promise<void>;
  remove(): Promise<void>;
}

/** Lays the tarball of this checkout out as npm would in a new project. */
export async function installPackage(): Promise<InstalledPackage> {
  const project = await mkdtemp(join(tmpdir(), 'holdfast-package-'));
  const remove = () => rm(project, { recursive: true, force: true });
  try {
    return { ...(await installInto(project)), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function installInto(project: string): Promise<Omit<InstalledPackage, 'remove'>> {
  const folder = join(project, 'node_modules/holdfast');
  const tarball = await packedTarball();
  await mkdir(folder, { recursive: true });
  await runCommand('tar', ['-xzf', tarball, '--strip-components=1', '-C', folder]);
  await writeFile(join(project, 'package.json'), '{ "type": "module", "private": true }\n');
  const manifest: Manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const link = async (name: string) => {
    const target = join(project, 'node_modules', name);
    await mkdir(dirname(target), { recursive: true });
    await symlink(join(ROOT, 'node_modules', name), target);
  };
  // Undeclared packages stay out of reach, as for a user.
  for (const name of Object.keys(manifest.dependencies ?? {})) {
    await link(name);
  }
  return { manifest, project, folder, tarball, addPeer: link };
}

interface Locked {
  readonly dev?: true;
  readonly link?: true;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/**
 * Writes a lockfile with the versions of this checkout, whose packages npm has in its cache: nothing
 * is fetched. It has the package's dependencies, and these packages with theirs.
 */
export async function keepVersions(folder: string, packages: readonly string[]): Promise<void> {
  const { packages: all, ...lock } = JSON.parse(
    readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
  ) as { readonly packages: Readonly<Record<string, Locked>> };
  const added = new Set<string>();
  const add = (name: string): void => {
    const path = `node_modules/${name}`;
    const found = all[path];
    if (added.has(path) || found === undefined) return;
    added.add(path);
    const needs = { ...found.dependencies, ...found.optionalDependencies };
    for (const each of Object.keys(needs)) add(each);
  };
  for (const name of packages) add(name);
  const kept = Object.entries(all).flatMap(([path, { dev, ...entry }]) => {
    const isKept = path.startsWith('node_modules/') && !entry.link && (!dev || added.has(path));
    return isKept ? [[path, entry]] : [];
  });
  const text = JSON.stringify({ ...lock, packages: Object.fromEntries(kept) });
  await writeFile(join(folder, 'package-lock.json'), text);
}

/** A user does not have the settings of the person who runs the tests, nor a test runner around. */
export function userEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('HOLDFAST_') && name !== 'NODE_TEST_CONTEXT',
  );
  // This Node, not the machine's own.
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`;
  return { ...Object.fromEntries(kept), PATH };
}
