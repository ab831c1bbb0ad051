// Earlier builds, as scripts/pack-build.ts packed them (ADR 0022).

import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import type { Build } from '../server/build.ts';
import { exists } from '../services/project-cache.ts';

export interface PackedBuild {
  /** The commit it was built from. */
  readonly commit: string;
  /** Text by path. */
  readonly files: Readonly<Record<string, string>>;
}

/** Below the project, so that it finds the project's packages. */
const CACHE = join(import.meta.dirname, '../../.cache');

/** `previous` takes turns with this build; `0d29afd` is the oldest whose stores this build opens. */
export type PackedName = 'previous' | '0d29afd';

export async function packedBuild(name: PackedName): Promise<Build & { readonly commit: string }> {
  const bytes = await readFile(join(import.meta.dirname, `builds/${name}.json.br`));
  const { commit, files } = JSON.parse(brotliDecompressSync(bytes).toString()) as PackedBuild;
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const folder = join(CACHE, `packed-build-${digest}`);
  if (!(await exists(folder))) await unpack(files, folder);
  return {
    commit,
    cli: join(folder, 'dist/cli/main.js'),
    worker: join(folder, 'dist/worker/open-worker.js'),
    pipeline: join(folder, 'dist/engine/pipeline.js'),
  };
}

/**
 * Renames the folder when it is complete, since another process may do the same at the same time.
 */
async function unpack(files: PackedBuild['files'], folder: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const draft = await mkdtemp(join(CACHE, 'packed-build.draft-'));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(draft, path)), { recursive: true });
    await writeFile(join(draft, path), text);
  }
  await rename(draft, folder).catch(async (error: unknown) => {
    await rm(draft, { recursive: true, force: true });
    if (!(await exists(folder))) throw error;
  });
}
