// An archive in a folder. It writes each document to a temporary file beside its place, and renames
// it when it is complete.

import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { InvalidInput } from '../support/fault.ts';
import { boundedText, readOptions, thrownText } from '../support/options.ts';
import { systemRandom } from '../support/random.ts';
import { type Archive, type ArchiveDocument, ArchiveUnavailable, isArchivePath } from './port.ts';

export type { Archive, ArchiveDocument } from './port.ts';

/** Options of `openFolderArchive`. */
export interface FolderArchiveOptions {
  /** The folder. It is created if it does not exist. */
  readonly folder: string;
}

const PATH_BYTES_MAX = 4_096;

/**
 * Opens an archive in a folder, with one file per document. Throws `InvalidInput` for invalid
 * options.
 *
 * @example
 * import { openHoldfast } from 'holdfast';
 *
 * const archive = openFolderArchive({ folder: '/var/lib/holdfast/archive' });
 * await using holdfast = await openHoldfast({
 *   store: './holdfast.db',
 *   retention: { archive, keepMs: { completed: 30 * 86_400_000 } },
 * });
 */
export function openFolderArchive(given: FolderArchiveOptions): Archive {
  const { folder } = readOptions('openFolderArchive', given, ['folder']);
  boundedText('openFolderArchive: folder', folder, PATH_BYTES_MAX);
  const root = resolve(folder);
  return {
    name: `the folder ${root}`,
    put: (document) => withUnavailable(root, () => put(root, document)),
    get: (path) => withUnavailable(root, () => get(join(root, checked(path)))),
  };
}

/** A document that was acknowledged survives a power cut (P3). */
async function put(root: string, { path, bytes }: ArchiveDocument): Promise<void> {
  const file = join(root, checked(path));
  const made = await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${systemRandom.uuid()}.part`;
  try {
    await writeSynced(draft, bytes);
    await rename(draft, file);
  } catch (cause) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw cause;
  }
  await sync(dirname(file));
  // For each created folder, flush its parent too.
  for (let at = dirname(file); made !== undefined && at.length >= made.length; at = dirname(at)) {
    await sync(dirname(at));
  }
}

async function writeSynced(file: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function sync(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function get(file: string): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array(await readFile(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function checked(path: string): string {
  if (isArchivePath(path)) return path;
  throw new InvalidInput(
    `${JSON.stringify(path)} is not a path in an archive: letters, digits, ".", "_" and "-", with "/" between them.`,
  );
}

async function withUnavailable<Result>(
  root: string,
  operation: () => Promise<Result>,
): Promise<Result> {
  try {
    return await operation();
  } catch (cause) {
    if (cause instanceof InvalidInput) throw cause;
    throw new ArchiveUnavailable(
      `The archive in ${root} cannot be used: ${thrownText(cause)}. Nothing was removed from the store. Check that the folder exists, is writable and has space.`,
      { cause },
    );
  }
}
