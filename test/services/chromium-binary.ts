import { delimiter, join } from 'node:path';
import { chromiumFromApt } from './chromium-from-apt.ts';
import { exists } from './project-cache.ts';
import { runCommand } from './run-command.ts';

export interface ChromiumBinary {
  readonly source: 'path' | 'apt';
  readonly program: string;
  /** The folder of shared libraries that the system lacks. */
  readonly libraryDirectories: readonly string[];
  /** The path of its font configuration, if it brings its own fonts. */
  readonly fontsFile?: string;
}

const NAMES: readonly string[] = ['chromium', 'chromium-browser', 'google-chrome-stable'];

/** The first that runs here: one on the PATH, else the distribution's package in the cache. */
export async function findChromium(): Promise<ChromiumBinary> {
  const reasons: string[] = [];
  for (const find of [chromiumOnPath, chromiumFromApt]) {
    try {
      const found = await find();
      await runCommand(found.program, ['--version'], { env: chromiumEnvironment(found) });
      return found;
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(
    `No Chromium could be found or fetched:\n${reasons.map((reason) => `  ${reason}`).join('\n')}\n` +
      'Put `chromium` on PATH, or make the package archive reachable.',
  );
}

export function chromiumEnvironment(binary: ChromiumBinary): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env };
  if (binary.libraryDirectories.length > 0) {
    env['LD_LIBRARY_PATH'] = binary.libraryDirectories.join(delimiter);
  }
  if (binary.fontsFile !== undefined) env['FONTCONFIG_FILE'] = binary.fontsFile;
  return env;
}

async function chromiumOnPath(): Promise<ChromiumBinary> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    for (const name of NAMES) {
      const program = join(folder, name);
      if (await exists(program)) return { source: 'path', program, libraryDirectories: [] };
    }
  }
  throw new Error(`path: no folder of PATH holds ${NAMES.join(', ')}`);
}
