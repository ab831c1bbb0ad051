import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const PROJECT_CACHE = join(import.meta.dirname, '../../.cache/services');

/**
 * The folder of one downloaded thing. `fill` works in a folder of its own which takes the final
 * name only when complete, so a broken download is never mistaken for a finished one and two
 * processes may fill the same name at the same time.
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
  const draft = await mkdtemp(join(PROJECT_CACHE, `${name}.draft-`));
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
  return target;
}

export async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
