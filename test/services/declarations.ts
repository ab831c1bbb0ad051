import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { oneAtATime } from '../../scripts/one-at-a-time.ts';
import { sourcesDigest } from '../../scripts/sources-digest.ts';
import { runCommand } from './run-command.ts';

const ROOT = join(import.meta.dirname, '../..');
const BUILT = join(ROOT, '.cache/declarations');
const SOURCES = ['{src,contract}/**/*.ts', 'tsconfig*.json', 'package-lock.json'];

/** Compiler option `paths`: the declaration of each entry point under the name that a user imports. */
type Paths = Readonly<Record<string, readonly [string]>>;

/**
 * Writes the declarations of the sources, if these have changed. A program that imports declarations
 * compiles faster, because the compiler does not check the sources again.
 */
export async function declarationPaths(): Promise<Paths> {
  const digest = sourcesDigest(SOURCES);
  const stamp = join(BUILT, 'sources.txt');
  const isCurrent = (): boolean => existsSync(stamp) && readFileSync(stamp, 'utf8') === digest;
  await mkdir(join(ROOT, '.cache'), { recursive: true });
  await oneAtATime(BUILT, async () => {
    if (isCurrent()) return;
    await rm(BUILT, { recursive: true, force: true });
    const options = ['--emitDeclarationOnly', '--noCheck', '--singleThreaded', '--outDir', BUILT];
    await runCommand(join(ROOT, 'node_modules/.bin/tsc'), [
      ...['-p', join(ROOT, 'tsconfig.build.json')],
      ...options,
    ]);
    await writeFile(stamp, digest);
  });
  const config = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as {
    readonly compilerOptions: { readonly paths: Paths };
  };
  return Object.fromEntries(
    Object.entries(config.compilerOptions.paths).map(([name, [file]]) => [
      name,
      [join(BUILT, file.replace(/\.ts$/, '.d.ts'))],
    ]),
  );
}
