// Plays the page for the first five minutes in a folder: its program is killed in the middle and
// started again.

import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openHoldfast } from '../../src/index.ts';
import { until } from '../processes/stage/until.ts';

const PAGE = join(import.meta.dirname, '../../docs/start/five-minutes.md');
const LAST_BEFORE_THE_KILL = 'charging, attempt 2';
const OPENING = /^const holdfast = await openHoldfast.*$/m;

interface Place {
  readonly folder: string;
  /** A SQLite file or a URL. With a URL, the program gets the line for PostgreSQL. */
  readonly store: string;
  /** Starts `node order.ts` in the folder. */
  start(): ChildProcess;
}

/** The program continues after a kill, and prints what the page shows. */
export async function playFiveMinutes({ folder, store, start }: Place): Promise<void> {
  const page = await readFile(PAGE, 'utf8');
  const [code = '', forPostgres = ''] = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(
    ([, block = '']) => block,
  );
  const [first = '', second = ''] = [...page.matchAll(/^```text\n(.*?)^```$/gms)].map(
    ([, block = '']) => block,
  );
  assert.match(code, /ctx\.sleep\(10_000\)/);
  const [line = ''] = OPENING.exec(forPostgres) ?? [];
  const program = store.includes('://') ? code.replace(OPENING, () => line) : code;
  // A reader needs time to press Ctrl-C; this test does not.
  await writeFile(join(folder, 'order.ts'), program.replace('10_000', '3_000'));

  // Open before the order begins, so that it sees the sleep on a busy machine too.
  const holdfast = await openHoldfast({ store });
  const killed = start();
  assert.deepEqual(await printed(killed, LAST_BEFORE_THE_KILL), shown(first));
  // A kill before the charge is recorded would repeat it.
  await until('the order sleeps', async () => {
    const { items } = await holdfast.list({ status: 'waiting' });
    return items.length === 1;
  });
  await holdfast.close();
  killed.kill('SIGKILL');
  await once(killed, 'close');
  assert.deepEqual((await printed(start())).map(withoutId), shown(second));
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
  return lines.filter((line) => !/^\((node:|Use )|^\^C/.test(line)).map(withoutId);
}

const withoutId = (line: string): string => line.replace(/ \S+(?=\/0\/step)/, ' …');
