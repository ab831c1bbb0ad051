import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withApt } from './apt.ts';
import type { ChromiumBinary } from './chromium-binary.ts';
import { cachedFolder, exists } from './project-cache.ts';

/** Fonts from the package, so that text has a size on a machine without fonts. */
const PACKAGES: readonly string[] = ['chromium', 'chromium-common', 'fonts-dejavu-core'];

/** Never replaced: a second C library beside the running one breaks every program. */
const NEVER_UNPACKED =
  /^(libc6|libc-bin|libgcc-s1|libstdc\+\+6|libelogind0|libpam.*|libperl.*|.*-perl|.*-dev|.*-doc)$/;

/** The distribution's own package and the libraries this machine lacks, unpacked into the project's cache. */
export async function chromiumFromApt(): Promise<ChromiumBinary> {
  const root = await cachedFolder('chromium-apt', unpackChromium);
  const libraries = join(root, 'usr/lib');
  const children = await readdir(libraries);
  const inside = children.filter((name) => name.includes('-linux-'));
  const nested = await Promise.all(
    inside.map(async (name) =>
      (await readdir(join(libraries, name), { withFileTypes: true }))
        .filter((entry) => entry.isDirectory())
        .map((entry) => join(libraries, name, entry.name)),
    ),
  );
  await writeFonts(root);
  return {
    source: 'apt',
    program: join(root, 'usr/lib/chromium/chromium'),
    libraryDirectories: [
      join(libraries, 'chromium'),
      libraries,
      ...inside.map((name) => join(libraries, name)),
      ...nested.flat(),
    ],
    fontsFile: join(root, 'fonts.conf'),
  };
}

async function unpackChromium(folder: string): Promise<void> {
  await withApt(folder, async (apt) => {
    const missing = await apt.missingLibraries(PACKAGES, NEVER_UNPACKED);
    await apt.unpack([...PACKAGES, ...missing]);
  });
}

/** The paths in it use the folder's final name. */
async function writeFonts(root: string): Promise<void> {
  const file = join(root, 'fonts.conf');
  if (await exists(file)) return;
  const cache = join(root, 'fonts-cache');
  await mkdir(cache, { recursive: true });
  const text = `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>${join(root, 'usr/share/fonts')}</dir><dir>/usr/share/fonts</dir><cachedir>${cache}</cachedir></fontconfig>\n`;
  // A concurrent reader sees all of it or none.
  await writeFile(`${file}.${process.pid}`, text);
  await rename(`${file}.${process.pid}`, file);
}
