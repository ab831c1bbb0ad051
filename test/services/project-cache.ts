import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { oneAtATime } from '../../scripts/one-at-a-time.ts';

const PROJECT_CACHE = join(import.meta.dirname, '../../.cache/services');

/**
 * The folder of one download. `fill` works in a temporary folder, which gets the final name only
 * when it is complete, so a broken download never looks finished. Concurrent processes wait for the
 * first.
 */
export async function cachedFolder(
  name: string,
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const target = join(PROJECT_CACHE, name);
  if (await exists(target)) {
    return target;
  }
  await mkdir(PROJECT_CACHE, { recursive: true });
  return oneAtATime(target, async () => {
    if (!(await exists(target))) await filled(target, fill);
    return target;
  });
}

async function filled(target: string, fill: (folder: string) => Promise<void>): Promise<void> {
  const draft = await mkdtemp(`${target}.draft-`);
  try {
    await fill(draft);
    await rename(draft, target);
  } catch (error) {
    if (!(await exists(target))) {
      throw error;
    }
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

export async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
