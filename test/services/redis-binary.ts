import { delimiter, join } from 'node:path';
import { exists } from './project-cache.ts';
import { redisFromApt } from './redis-from-apt.ts';
import { runCommand } from './run-command.ts';

export interface RedisBinary {
  readonly source: 'path' | 'apt';
  readonly program: string;
  /** Where the shared libraries are that the system does not have. */
  readonly libraryDirectories: readonly string[];
}

/** The first that runs here: one on the PATH, else the distribution's package in the cache. */
export async function findRedisBinary(): Promise<RedisBinary> {
  const reasons: string[] = [];
  for (const find of [redisOnPath, redisFromApt]) {
    try {
      const found = await find();
      await runCommand(found.program, ['--version'], { env: redisEnvironment(found) });
      return found;
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error));
    }
  }
  throw new Error(
    `No Redis could be found or fetched:\n${reasons.map((reason) => `  ${reason}`).join('\n')}\n` +
      'Put `redis-server` on PATH, or make the package archive reachable, ' +
      'or leave Redis out by name: npm test -- --without=redis',
  );
}

export function redisEnvironment(binary: RedisBinary): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env, LC_ALL: 'C' };
  if (binary.libraryDirectories.length > 0) {
    env['LD_LIBRARY_PATH'] = binary.libraryDirectories.join(delimiter);
  }
  return env;
}

async function redisOnPath(): Promise<RedisBinary> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    const program = join(folder, 'redis-server');
    if (await exists(program)) {
      return { source: 'path', program, libraryDirectories: [] };
    }
  }
  throw new Error('path: no folder of PATH holds redis-server');
}
