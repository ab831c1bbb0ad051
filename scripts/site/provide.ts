import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { oneAtATime } from '../one-at-a-time.ts';
import { packedSite } from './pack.ts';
import { buildSite } from './run.ts';

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, '.cache');
/** A coordinator that runs from source serves this file (ADR 0048). */
const PACKED = join(CACHE, 'site.br');
const STAMP = join(CACHE, 'site.txt');
const SOURCES = [
  ...[
    '*.md',
    'docs/**/*',
    'site/**/*',
    'site/.vitepress/**/*',
    'package.json',
    'package-lock.json',
  ],
  ...['src/**/*.ts', 'contract/**/*.ts', 'scripts/{site,reference}/**/*.ts', 'test/tidy/*.ts'],
];

/** Builds and packs the site if its sources have changed, and returns the path of the file. */
export async function provideSite(log: (line: string) => void): Promise<string> {
  const digest = sourcesDigest();
  const isCurrent = (): boolean =>
    existsSync(PACKED) && existsSync(STAMP) && readFileSync(STAMP, 'utf8') === digest;
  if (isCurrent()) return PACKED;
  await mkdir(CACHE, { recursive: true });
  await oneAtATime(PACKED, async () => {
    if (!isCurrent()) await packSite(digest, log);
  });
  return PACKED;
}

async function packSite(digest: string, log: (line: string) => void): Promise<void> {
  const draft = `${PACKED}.draft`;
  await writeFile(draft, packedSite(await buildSite(log)));
  await rename(draft, PACKED);
  await writeFile(STAMP, digest);
}

function sourcesDigest(): string {
  const hash = createHash('sha256');
  const paths = globSync(SOURCES, { cwd: ROOT, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  for (const path of [...new Set(paths)].sort()) {
    hash.update(path.slice(ROOT.length)).update('\0').update(readFileSync(path)).update('\0');
  }
  return hash.digest('hex');
}
