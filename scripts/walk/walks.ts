// Walks requests on a new store, and formats the walks for ARCHITECTURE.md.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openStore } from '../../src/embedded/open-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { CLOCK, WALKED, type Walked } from './requests.ts';
import { trace } from './trace.ts';

const COLUMNS_MAX = 100;

export interface Walk extends Pick<Walked, 'name' | 'call'> {
  readonly files: readonly string[];
}

/** `storeAddress` is a path or a URL. By default each walk has a new SQLite file. */
export async function walk(
  names: readonly string[],
  storeAddress?: string,
): Promise<readonly Walk[]> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-walk-'));
  const walks: Walk[] = [];
  try {
    for (const { name, call, open } of WALKED) {
      if (!names.includes(name)) continue;
      // With timers of its own, the store does not wake other processes, which happens at any time.
      const store = await (storeAddress === undefined
        ? openSqliteStore({ file: join(folder, `${name}.db`), clock: CLOCK, timers: systemTimers })
        : openStore(storeAddress));
      const { prepare, close } = await open(store);
      walks.push({ name, call, files: await trace(prepare) });
      await close();
      await store.close();
    }
    return walks;
  } finally {
    await rm(folder, { recursive: true });
  }
}

export const WALK_NAMES: readonly string[] = WALKED.map(({ name }) => name);

/** Names a folder only where it changes: `engine/` run → settling → `support/` timer. */
export function walkText({ name, call, files }: Walk): string {
  let folder = '';
  const stops = files.map((file) => {
    const previous = folder;
    folder = dirname(file);
    const stop = file.slice(folder.length + 1).replace(/\.ts$/, '');
    return folder === previous ? stop : `\`${folder.replace(/^src\//, '')}/\` ${stop}`;
  });
  const head = `**${name}**, \`${call}\`, ${files.length} files:`;
  return wrapped(`${head} ${stops.join(' → ')}`);
}

function wrapped(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + 1 + word.length > COLUMNS_MAX) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.join('\n');
}

const BLOCK = /(<!-- walks: npm run walk -- --write -->\n)[\s\S]*?(<!-- end of walks -->)/;

/** Replaces the walks in the document. */
export function withWalks(document: string, walks: readonly Walk[]): string {
  if (!BLOCK.test(document))
    throw new Error('ARCHITECTURE.md has no block for walks. Nothing was written.');
  const text = walks.map((each) => `\n${walkText(each)}\n`).join('');
  return document.replace(BLOCK, (_, begin: string, end: string) => `${begin}${text}\n${end}`);
}
