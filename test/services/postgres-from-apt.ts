import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { withApt } from './apt.ts';
import type { PostgresBinaries } from './postgres-binaries.ts';
import { cachedFolder, exists } from './project-cache.ts';

/** Never replaced: a second C library beside the running one breaks every program. */
const NEVER_UNPACKED =
  /^(libc6|libc-bin|libgcc-s1|libstdc\+\+6|libllvm.*|libz3-.*|.*-perl|libperl.*)$/;

/**
 * Unpacks the distribution's own package, and the libraries this machine lacks, into the project's
 * cache. apt keeps its lists there too, so this needs no root and changes nothing on the system.
 */
export async function postgresFromApt(): Promise<PostgresBinaries> {
  const root = await cachedFolder('postgres-apt', unpackPostgres);
  const [version] = (await readdir(join(root, 'usr/lib/postgresql'))).sort().reverse();
  if (version === undefined) {
    throw new Error(
      `the unpacked package in ${root} holds no PostgreSQL; delete that folder to fetch it again`,
    );
  }
  return {
    source: 'apt',
    directory: join(root, 'usr/lib/postgresql', version, 'bin'),
    movableRoot: root,
    libraryDirectories: await libraryDirectories(root),
  };
}

async function unpackPostgres(folder: string): Promise<void> {
  await withApt(folder, async (apt) => {
    const server = newestServerPackage(await apt.search('^postgresql-[0-9]+$'));
    await apt.unpack([server, ...(await apt.missingLibraries([server], NEVER_UNPACKED))]);
  });
}

function newestServerPackage(found: string): string {
  const majors = [...found.matchAll(/^postgresql-(\d+)\b/gm)].map(([, major]) => Number(major));
  if (majors.length === 0) {
    throw new Error('the package lists of this machine name no postgresql-NN package');
  }
  return `postgresql-${Math.max(...majors)}`;
}

async function libraryDirectories(root: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const parent of [join(root, 'usr/lib'), join(root, 'lib')]) {
    if (!(await exists(parent))) {
      continue;
    }
    const children = await readdir(parent);
    found.push(
      parent,
      ...children.filter((name) => name.includes('-')).map((n) => join(parent, n)),
    );
  }
  return found;
}
