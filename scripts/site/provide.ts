import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { oneAtATime } from '../one-at-a-time.ts';
import { sourcesDigest } from '../sources-digest.ts';
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
  const digest = sourcesDigest(SOURCES);
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
