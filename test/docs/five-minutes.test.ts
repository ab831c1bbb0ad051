// The page for the first five minutes, as a reader follows it: its program is killed in the middle and started again.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { openHoldfast } from '../../src/index.ts';
import { until } from '../processes/stage/until.ts';

const PAGE = join(import.meta.dirname, '../../docs/start/five-minutes.md');
const HOOK = join(import.meta.dirname, '../../scripts/package-sources.ts');
const LAST_BEFORE_THE_KILL = 'charging, attempt 2';

function start(folder: string): ChildProcess {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return spawn(process.execPath, ['--import', HOOK, 'order.ts'], { cwd: folder, env });
}

/** What it prints, until it prints `last` or ends. */
async function printed(child: ChildProcess, last?: string): Promise<readonly string[]> {
  let text = '';
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    if (last !== undefined && text.includes(last)) break;
  }
  return text.trimEnd().split('\n');
}

/** The lines of a `text` block that the program prints to stdout, with the id left out. */
function shown(block: string): readonly string[] {
  const lines = block.trimEnd().split('\n');
  return lines.filter((line) => !/^\(node:|^\^C/.test(line)).map(withoutId);
}

const withoutId = (line: string): string => line.replace(/ \S+(?=\/0\/step)/, ' …');

/** A kill before the charge is recorded would repeat it. */
async function untilItSleeps(folder: string): Promise<void> {
  const holdfast = await openHoldfast({ store: join(folder, 'orders.db') });
  await until('the order sleeps', async () => {
    const { items } = await holdfast.list({ status: 'waiting' });
    return items.length === 1;
  });
  await holdfast.close();
}

test('the program continues after a kill, as the page shows', async (t) => {
  const page = await readFile(PAGE, 'utf8');
  const [, code = ''] = /^```ts\n(.*?)^```$/ms.exec(page) ?? [];
  const [first = '', second = ''] = [...page.matchAll(/^```text\n(.*?)^```$/gms)].map(
    ([, block = '']) => block,
  );
  assert.match(code, /ctx\.sleep\(10_000\)/);
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-five-minutes-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  // A reader needs time to press Ctrl-C; this test does not.
  await writeFile(join(folder, 'order.ts'), code.replace('10_000', '1_500'));

  const killed = start(folder);
  assert.deepEqual(await printed(killed, LAST_BEFORE_THE_KILL), shown(first));
  await untilItSleeps(folder);
  killed.kill('SIGKILL');
  await once(killed, 'close');
  const continued = start(folder);
  assert.deepEqual((await printed(continued)).map(withoutId), shown(second));
});
