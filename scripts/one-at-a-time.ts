import { link, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

const LOOK_MS = 100;
const WORK_MS_MAX = 600_000;

/** One process may want the same twice at once. */
let calls = 0;

/**
 * Work of which one process is enough, such as a download that many wait for: the others begin when it has ended,
 * and find it done. Whoever died over it is not waited for.
 */
export async function oneAtATime<Result>(
  name: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const lock = `${name}.lock`;
  calls += 1;
  const own = `${lock}.${process.pid}.${calls}`;
  await writeFile(own, String(process.pid));
  try {
    while (!(await isTaken(own, lock))) {
      if (!(await isHeld(lock))) await rm(lock, { force: true });
      else await pause(LOOK_MS);
    }
    try {
      return await work();
    } finally {
      await rm(lock, { force: true });
    }
  } finally {
    await rm(own, { force: true });
  }
}

/** It appears with its content, or not at all. */
async function isTaken(own: string, lock: string): Promise<boolean> {
  return link(own, lock).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
}

async function isHeld(lock: string): Promise<boolean> {
  try {
    const pid = Number(await readFile(lock, 'utf8'));
    const { mtimeMs } = await stat(lock);
    // The number may be another's by now: nothing takes that long.
    return Date.now() - mtimeMs < WORK_MS_MAX && process.kill(pid, 0);
  } catch (error) {
    // Gone meanwhile: the next look takes it.
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}
