import { link, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';

const POLL_MS = 100;
/** A holder renews its lock far more often, unless it has died. */
const LOCK_MS = 600_000;
const RENEWED_MS = 30_000;

/** Calls of one process can overlap, so each has its own file. */
let calls = 0;

/**
 * Runs work that only one process must do, such as a download. Other processes wait and then call
 * `work` too, which finds the result. They do not wait for a process that has died.
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
    while (!(await takesLock(own, lock))) {
      if (!(await isHeld(lock))) await rm(lock, { force: true });
      else await pause(POLL_MS);
    }
    const renewing = setInterval(() => {
      const now = new Date();
      utimes(lock, now, now).catch(() => undefined);
    }, RENEWED_MS).unref();
    try {
      return await work();
    } finally {
      clearInterval(renewing);
      await rm(lock, { force: true });
    }
  } finally {
    await rm(own, { force: true });
  }
}

/** Creates the lock by a hard link, so that it never exists without its content. */
async function takesLock(own: string, lock: string): Promise<boolean> {
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
    // After this long, the system may have given the process id to another process.
    return Date.now() - mtimeMs < LOCK_MS && process.kill(pid, 0);
  } catch (error) {
    // The holder has just removed the lock. The next attempt takes it.
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}
