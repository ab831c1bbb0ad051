// Where a new project finds this very package: at the registry, or in the tarball that it was installed from. A
// checkout is packed into the new folder, which then needs nothing of it any more.

import { execFile } from 'node:child_process';
import { access, readFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Fault } from '../../support/fault.ts';
import { printProblem } from '../screen.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url)).replace(/[/\\]$/, '');
const run = promisify(execFile);

/** As it is written into the package.json in `folder`. */
export async function dependencyFor(folder: string, version: string): Promise<string> {
  if (basename(dirname(ROOT)) === 'node_modules') {
    return (await tarballFor(folder)) ?? `^${version}`;
  }
  // What is packed has no scripts.
  const isCheckout = await isThere(join(ROOT, 'scripts/build.ts'));
  return isCheckout ? packInto(folder) : `file:${pathFrom(folder, ROOT)}`;
}

/** npm notes beside what it installs where that was from. */
async function tarballFor(folder: string): Promise<string | undefined> {
  const modules = dirname(ROOT);
  const noted = await readFile(join(modules, '.package-lock.json'), 'utf8').catch(() => '{}');
  const { packages } = JSON.parse(noted) as {
    readonly packages?: Readonly<Record<string, { readonly resolved?: string }>>;
  };
  const from = packages?.[`node_modules/${basename(ROOT)}`]?.resolved;
  if (from === undefined || !from.startsWith('file:')) return undefined;
  const tarball = resolve(dirname(modules), from.slice('file:'.length));
  return (await isThere(tarball)) ? `file:${pathFrom(folder, tarball)}` : undefined;
}

async function packInto(folder: string): Promise<string> {
  printProblem('This is a checkout: it is built and packed into the new folder …');
  try {
    const options = ['--silent', '--json=false', '--pack-destination', resolve(folder)];
    const { stdout } = await run('npm', ['pack', ...options], { cwd: ROOT });
    return `file:${stdout.trim().split('\n').at(-1) ?? ''}`;
  } catch (cause) {
    const said = String((cause as { stderr?: unknown }).stderr ?? cause).trim();
    throw new Fault(
      'not-packed',
      `This checkout cannot be packed, so nothing was written to ${folder}: \`npm pack\` in ${ROOT} ended with: ${said}`,
      { cause },
    );
  }
}

function pathFrom(folder: string, target: string): string {
  return relative(resolve(folder), target).replaceAll('\\', '/');
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
