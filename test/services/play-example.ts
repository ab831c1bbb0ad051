import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const HOOK = join(import.meta.dirname, '../../scripts/package-sources.ts');

/**
 * Runs the file. Its output must have these lines in this order, and its temporary folder must be
 * empty afterwards.
 */
export async function playExample(
  file: string,
  lines: readonly RegExp[],
  variables: Readonly<Record<string, string>> = {},
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-example-'));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const example = spawn(process.execPath, ['--import', HOOK, file], {
    env: { ...env, TMPDIR: folder, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  try {
    let output = '';
    for (const stream of [example.stdout, example.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const [code] = await once(example, 'close');
    assert.equal(code, 0, output);
    let from = 0;
    for (const line of lines) {
      const found = output.slice(from).search(line);
      assert.ok(found >= 0, `${line} is missing, or comes too early:\n${output}`);
      from += found;
    }
    assert.deepEqual(await readdir(folder), [], 'it cleans up after itself');
  } finally {
    example.kill();
    await rm(folder, { recursive: true, force: true });
  }
}
