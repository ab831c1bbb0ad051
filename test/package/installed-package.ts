import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runCommand } from '../services/run-command.ts';

const ROOT = join(import.meta.dirname, '../..');

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

/** Builds and packs this checkout, then lays the tarball out as npm would in a new project. */
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
  await runCommand('npm', ['pack', '--pack-destination', project], { cwd: ROOT });
  const tarball = (await readdir(project)).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) {
    throw new Error('`npm pack` ended well but left no tarball; run it by hand to see why');
  }
  await mkdir(folder, { recursive: true });
  await runCommand('tar', ['-xzf', join(project, tarball), '--strip-components=1', '-C', folder]);
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
  return { manifest, project, folder, tarball: join(project, tarball), addPeer: link };
}
