// Ends a private cluster when the process that owns it is gone.
//
// The owner holds the other end of standard input and never writes to it. However the owner ends,
// SIGKILL included, the system closes that end. This process then stops the server and removes the
// folder. It runs in its own session so that an interrupt at the terminal does not reach it.

import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  throw new Error('usage: node postgres-watchdog.ts <folder of the cluster>');
}

process.stdin.resume();
process.stdin.once('close', () => endCluster(folder));

function endCluster(clusterFolder: string): void {
  const pid = serverPid(clusterFolder);
  if (pid === undefined || !signalled(pid, 'SIGQUIT')) {
    removeFolder(clusterFolder);
    return;
  }
  const poll = setInterval(() => {
    if (!signalled(pid, 0)) {
      clearInterval(poll);
      removeFolder(clusterFolder);
    }
  }, 10);
}

/** The server removes this file when it ends in order, so a pid found here is a server's. */
function serverPid(clusterFolder: string): number | undefined {
  try {
    const [pid] = readFileSync(join(clusterFolder, 'data/postmaster.pid'), 'utf8').split('\n');
    return Number(pid);
  } catch {
    return undefined;
  }
}

function signalled(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

function removeFolder(clusterFolder: string): void {
  const data = join(clusterFolder, 'data');
  if (hasOwnDisk(clusterFolder, data)) spawnSync('umount', [data]);
  rmSync(clusterFolder, { recursive: true, force: true, maxRetries: 10 });
}

function hasOwnDisk(folder: string, data: string): boolean {
  const deviceOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.dev;
  return deviceOf(data) !== undefined && deviceOf(data) !== deviceOf(folder);
}
