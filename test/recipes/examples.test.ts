import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';

const EXAMPLES = join(import.meta.dirname, '../../examples/leases');

/** What each must have told, in this order. */
const STORIES: Readonly<Record<string, readonly RegExp[]>> = {
  'partition-processor': [/SIGKILL: three/, /four joins/, /no gap; \d+ repeated/],
  'service-registry': [/node-b suspect/, /node-b recovered/, /node-c suspect/, /node-c gone/],
  'singleton-scheduler': [/SIGKILL/, /before it: expired/, /please stop/, /before it: yielded/],
  'subscription-cancellation': [
    /SIGKILL: worker-1/,
    /exit "expired", done: stop-renewal, open intent: subscription\/9\/refund-rest/,
    /did "refund-rest" happen\? true/,
    /was called 3 times: stop-renewal, refund-rest, send-confirmation/,
  ],
};

describe('examples of leases', () => {
  test('every example is checked here', async () => {
    const entries = await readdir(EXAMPLES, { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    assert.deepEqual(folders.sort(), Object.keys(STORIES));
  });

  for (const [name, told] of Object.entries(STORIES)) {
    test(`${name} comes out as it is told, and leaves nothing behind`, () => play(name, told));
  }
});

async function play(name: string, told: readonly RegExp[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-example-'));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const example = spawn(process.execPath, [join(EXAMPLES, name, 'main.ts')], {
    env: { ...env, TMPDIR: folder },
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
    for (const line of told) {
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
