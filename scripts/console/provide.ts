import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { oneAtATime } from '../one-at-a-time.ts';
import { sourcesDigest } from '../sources-digest.ts';
import { bundledLicenses } from './licenses.ts';

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, '.cache');
/** A coordinator that runs from source serves the console from here (ADR 0026). */
const BUILT = join(CACHE, 'console');
const SOURCES = [
  ...['console/{src,public}/**/*', 'console/*.{html,ts,json}', 'package-lock.json'],
  // The tour shows this file.
  'src/cli/demo/restaurant.ts',
];

/** Builds the console if its sources have changed, and returns its folder. */
export async function provideConsole(log: (line: string) => void): Promise<string> {
  const digest = sourcesDigest(SOURCES);
  const stamp = join(BUILT, 'sources.txt');
  const isCurrent = (): boolean => existsSync(stamp) && readFileSync(stamp, 'utf8') === digest;
  if (isCurrent()) return BUILT;
  await mkdir(CACHE, { recursive: true });
  await oneAtATime(BUILT, async () => {
    if (!isCurrent()) await buildConsole(digest, log);
  });
  return BUILT;
}

async function buildConsole(digest: string, log: (line: string) => void): Promise<void> {
  log('• Building the console …');
  const startedAt = performance.now();
  const { build } = await import('vite');
  const draft = await mkdtemp(join(CACHE, 'console.draft-'));
  try {
    const outDir = join(draft, 'built');
    await build({ root: join(ROOT, 'console'), build: { outDir, emptyOutDir: true } });
    await writeFile(join(outDir, 'licenses.txt'), bundledLicenses('console'));
    await writeFile(join(outDir, 'sources.txt'), digest);
    await rename(BUILT, join(draft, 'old')).catch(() => undefined);
    await rename(outDir, BUILT);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  log(`• Built the console (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
}
