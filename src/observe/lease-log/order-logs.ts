// Rotated logs in the order they were written, each once, however a shell lists them.

import { realpath } from 'node:fs/promises';
import { readLeaseLog } from './read-log.ts';

/** By when each was begun. For whoever reads the logs of one session one after the other. */
export async function orderLeaseLogs(files: readonly string[]): Promise<readonly string[]> {
  const begun = new Map<string, { readonly file: string; readonly at: number }>();
  for (const file of files) {
    const known = await realpath(file);
    if (!begun.has(known)) begun.set(known, { file, at: await begunAt(file) });
  }
  return [...begun.values()].sort((a, b) => a.at - b.at).map(({ file }) => file);
}

async function begunAt(file: string): Promise<number> {
  for await (const first of readLeaseLog(file)) {
    return first.kind === 'header' ? first.at : 0;
  }
  return 0;
}
