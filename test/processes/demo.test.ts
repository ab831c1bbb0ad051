import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const HOOK = join(import.meta.dirname, '../../scripts/package-sources.ts');
const MAIN = join(import.meta.dirname, '../../examples/frozen-worker/main.ts');

/** In the order in which a reader sees them. */
const PRINTED: readonly RegExp[] = [
  /worker A .*acquired "payroll" with fence 1\.1/,
  /SIGSTOP/,
  /the lease has lapsed/,
  /the session of worker A has expired/,
  /worker B .*acquired "payroll" with fence 1\.2/,
  /reads how A ended: expired/,
  /finds A's checkpoint \(3 paid\) and its open intent "pay-invoice-4"/,
  /SIGCONT/,
  /ledger .*REFUSED: fence 1\.2 is known/,
  /store .*REFUSED: Fence 1\.1 of "payroll" is stale/,
  /6 invoices, 6 payments: correct/,
  /ledger .*ACCEPTED/,
  /6 {2}1\.1 {4}A .*paid twice/,
  /6 invoices, 7 payments: CORRUPTED/,
  /Read next: README\.md, then docs\/spec\/lease\.md/,
];

test('P1: `npm run demo` plays a frozen worker with and without the check, and prints the expected story', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-demo-'));
  const { FORCE_COLOR: _, ...env } = process.env;
  const demo = spawn(process.execPath, ['--import', HOOK, MAIN], {
    env: { ...env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let output = '';
    demo.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const [code] = await once(demo, 'close');
    assert.equal(code, 0, output);
    assert.ok(!output.includes('\u001b'), 'no colour without a terminal');
    let from = 0;
    for (const line of PRINTED) {
      const found = output.slice(from).search(line);
      assert.ok(found >= 0, `${line} is missing, or comes too early:\n${output}`);
      from += found;
    }
    assert.deepEqual(await readdir(folder), [], 'it cleans up after itself');
  } finally {
    demo.kill();
    await rm(folder, { recursive: true, force: true });
  }
});
