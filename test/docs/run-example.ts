// Runs an example of the documentation.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** In an empty folder, with the keys that some pages tell the reader to make. */
export async function outputOf(code: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-docs-'));
  const key = randomBytes(32).toString('base64');
  try {
    await writeFile(join(folder, 'example.ts'), code);
    const hook = join(import.meta.dirname, '../../scripts/package-sources.ts');
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import', hook, 'example.ts'],
      {
        cwd: folder,
        env: { ...env, KEY_2026_11: key, KEY_2026_05: key, LINK_KEY: key },
        timeout: 60_000,
      },
    );
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
