import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The `statfs` types of tmpfs and ramfs, where a flush does nothing. */
const IN_MEMORY: ReadonlySet<number> = new Set([0x01021994, 0x858458f6]);

/** Creates a folder on a disk. It is deleted when the process exits, also after a signal. */
export function scratchFolder(): string {
  const folder = countingFolder();
  if (IN_MEMORY.has(statfsSync(folder).type)) {
    throw new Error(`Not measured: ${tmpdir()} is in memory. Set TMPDIR to a folder on a disk.`);
  }
  return folder;
}

/** The same for benches that measure no time. It may be in memory. */
export function countingFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  process.once('SIGINT', () => process.exit(130));
  process.once('SIGTERM', () => process.exit(143));
  return folder;
}
