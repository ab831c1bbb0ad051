// Ends the members of a private cluster when the process that owns them is gone.
//
// The owner holds the other end of standard input and never writes to it. However the owner ends,
// SIGKILL included, the system closes that end. This process then kills every member, frozen or
// not, and removes the folder. It runs in its own session so that an interrupt at the terminal does
// not reach it.

import { globSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  throw new Error('usage: node etcd-watchdog.ts <folder of the cluster>');
}

process.stdin.resume();
process.stdin.once('close', () => endCluster(folder));

function endCluster(clusterFolder: string): void {
  const pids = globSync(join(clusterFolder, '*/pid')).map(readPid).filter(isMember);
  for (const pid of pids) signalled(pid, 'SIGKILL');
  const poll = setInterval(() => {
    if (pids.some((pid) => signalled(pid, 0))) return;
    clearInterval(poll);
    rmSync(clusterFolder, { recursive: true, force: true, maxRetries: 10 });
  }, 10);
}

function readPid(file: string): number {
  return Number(readFileSync(file, 'utf8'));
}

/** A leftover process id may belong to another process by now. */
function isMember(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder ?? '');
  } catch {
    return signalled(pid, 0) && process.platform !== 'linux';
  }
}

function signalled(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
