import { readdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { withApt } from './apt.ts';
import { cachedFolder, exists } from './project-cache.ts';

export interface DebianProgram {
  readonly path: string;
  /** The environment in which it finds its libraries. */
  readonly env: NodeJS.ProcessEnv;
}

/** Never replaced: a second C library beside the running one breaks every program. */
const NEVER_UNPACKED =
  /^(libc6|libc-bin|libgcc-s1|libstdc\+\+6|libelogind0|libjs-.*|libperl.*|.*-perl)$/;

/** A program of PATH, or else of Debian's package, unpacked into the project's cache. */
export async function debianProgram(name: string, debianPackage: string): Promise<DebianProgram> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  // Servers are in a folder that is not on the PATH of every user.
  for (const folder of [...folders, '/usr/sbin']) {
    const path = join(folder, name);
    if (await exists(path)) return { path, env: process.env };
  }
  const root = await cachedFolder(`${debianPackage}-apt`, (folder) =>
    withApt(folder, async (apt) => {
      const libraries = await apt.missingLibraries([debianPackage], NEVER_UNPACKED);
      await apt.unpack([debianPackage, ...libraries]);
    }),
  );
  const libraries = join(root, 'usr/lib');
  const children = await readdir(libraries).catch(() => []);
  const places = children.map((child) => join(libraries, child));
  const inBin = join(root, 'usr/bin', name);
  return {
    path: (await exists(inBin)) ? inBin : join(root, 'usr/sbin', name),
    env: { ...process.env, LD_LIBRARY_PATH: [libraries, ...places].join(delimiter) },
  };
}
