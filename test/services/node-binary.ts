import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cachedFolder } from './project-cache.ts';
import { runCommand } from './run-command.ts';

/** A Node of this version from npm, such as `22` or `latest`, in the project's cache. */
export async function nodeBinary(version: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  const root = await cachedFolder(`node-${version}`, async (folder) => {
    const options = ['--prefix', folder, '--no-audit', '--no-fund', '--prefer-offline'];
    await runCommand('npm', ['install', ...options, `${name}@${version}`]);
  });
  const folder = join(root, 'node_modules', name);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly bin?: { readonly node: string };
  };
  return join(folder, bin?.node ?? 'bin/node');
}
