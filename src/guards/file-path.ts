// Which file a path means. The mark belongs to the file, so every path to it must lead to one mark.

import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { InvalidInput } from '../support/fault.ts';
import { refuse } from './arguments.ts';

/** As many as Linux follows. */
const LINKS_MAX = 40;

/** The path without symbolic links, also when the file does not exist yet. Its folder has to. */
export function trueFile(path: string): string {
  if (typeof path !== 'string' || path === '') {
    const what = 'FileGuard needs the path of the file that it guards';
    refuse(path, { what, pass: "new FileGuard('report.jsonl')" });
  }
  let found = resolve(path);
  for (let links = 0; links < LINKS_MAX; links += 1) {
    found = join(trueFolder(dirname(found)), basename(found));
    if (lstatSync(found, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return found;
    found = resolve(dirname(found), readlinkSync(found));
  }
  throw new InvalidInput(`"${path}" leads from symbolic link to symbolic link without an end.`);
}

function trueFolder(folder: string): string {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return realpathSync(folder);
  throw new InvalidInput(
    found === undefined
      ? `FileGuard: the folder "${folder}" does not exist, and the mark is kept in it, beside the ` +
          'file. Make it first: mkdirSync(folder, { recursive: true }).'
      : `FileGuard: "${folder}" is not a folder, so no file can be in it.`,
  );
}

/** The permissions of the file, or undefined without one. A file with several names is refused. */
export async function assertOneName(path: string): Promise<number | undefined> {
  const found = await lstat(path).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined) return undefined;
  if (found.isSymbolicLink()) {
    throw new InvalidInput(
      `"${path}" has become a symbolic link since its guard was made. Nothing was written; ` +
        'make a guard for the file that it leads to.',
    );
  }
  if (found.isFile() && found.nlink > 1) {
    throw new InvalidInput(
      `"${path}" has ${found.nlink} names (hard links), and a guard knows the mark of only one. ` +
        'Nothing was written; remove the others, or copy the file.',
    );
  }
  return found.mode & 0o7777;
}
