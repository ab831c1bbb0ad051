// The scripts of a checkout: their help, and what they print when something is missing.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { inherited } from './spawned.ts';

const ROOT = join(import.meta.dirname, '../..');

function run(
  ...words: readonly string[]
): Promise<{ code: number; out: string; problems: string }> {
  return new Promise((resolve) => {
    const options = { cwd: ROOT, env: inherited() };
    const child = execFile(process.execPath, words, options, (_fault, out, problems) =>
      resolve({ code: child.exitCode ?? -1, out, problems }),
    );
  });
}

for (const [name, file] of [
  ['incidents', 'scripts/incidents.ts'],
  ['simulate', 'test/simulate/main.ts'],
] as const) {
  test(`\`npm run ${name} -- --help\` prints its usage`, async () => {
    const { code, out, problems } = await run(file, '--help');
    assert.deepEqual([code, problems], [0, '']);
    assert.ok(out.startsWith(`npm run ${name} -- [`), out);
  });
}

test('`npm run incidents` without a coordinator prints how to start one', async () => {
  const server = createServer();
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port)),
  );
  // Nothing listens there now.
  await new Promise((resolve) => server.close(resolve));
  const { code, out, problems } = await run('scripts/incidents.ts', `http://127.0.0.1:${port}`);
  assert.deepEqual([code, out], [1, '']);
  assert.match(problems, /^No coordinator responds at .* Nothing was set up\. .*npm start/);
});
