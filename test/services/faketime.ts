// Shifts the wall clock of single processes with libfaketime, found or fetched.

import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withApt } from './apt.ts';
import { cachedFolder, exists } from './project-cache.ts';

/** The build for programs with threads. */
const LIBRARY = 'faketime/libfaketimeMT.so.1';

export interface ShiftedClock {
  /** The environment of the process. It reads its shift again each second. */
  readonly env: NodeJS.ProcessEnv;
  /** 0 ends the shift. The monotonic clock never moves. */
  shift(seconds: number): Promise<void>;
}

/** `file` holds the shift. */
export async function shiftedClock(file: string): Promise<ShiftedClock> {
  const shift = (seconds: number): Promise<void> =>
    writeFile(file, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  await shift(0);
  const env = {
    ...{ LD_PRELOAD: await faketimeLibrary(), FAKETIME_TIMESTAMP_FILE: file },
    ...{ FAKETIME_DONT_FAKE_MONOTONIC: '1', FAKETIME_CACHE_DURATION: '1' },
  };
  return { env, shift };
}

async function faketimeLibrary(): Promise<string> {
  const installed = await libraryBelow('/');
  if (installed !== undefined) return installed;
  const root = await cachedFolder('libfaketime-apt', (folder) =>
    withApt(folder, (apt) => apt.unpack(['libfaketime'])),
  );
  const fetched = await libraryBelow(root);
  if (fetched === undefined) throw new Error(`Debian's package libfaketime holds no ${LIBRARY}.`);
  return fetched;
}

/** Debian keeps libraries in a folder for each architecture. */
async function libraryBelow(root: string): Promise<string | undefined> {
  const libraries = join(root, 'usr/lib');
  const folders = await readdir(libraries).catch(() => []);
  for (const folder of ['.', ...folders]) {
    const path = join(libraries, folder, LIBRARY);
    if (await exists(path)) return path;
  }
  return undefined;
}
