import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './free-port.ts';
import type { PostgresCluster } from './postgres-cluster.ts';

/** How PostgreSQL ends: `fast` in order, `immediate` like a power failure. */
export type StopMode = 'fast' | 'immediate';

export interface RunningServer {
  readonly port: number;
  /** False once the server has ended, by `stop` or by itself. */
  isRunning(): boolean;
  stop(mode: StopMode): Promise<void>;
}

const STOP_SIGNALS: Readonly<Record<StopMode, NodeJS.Signals>> = {
  fast: 'SIGINT',
  immediate: 'SIGQUIT',
};
const PORT_ATTEMPTS_MAX = 5;

/** Starts the server on a free port. Another process may take the port first; then tries again. */
export async function startServer(cluster: PostgresCluster): Promise<RunningServer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startServerOn(cluster, await freePort());
    } catch (error) {
      const portTaken = error instanceof Error && error.message.includes('Address already in use');
      if (!portTaken || attempt === PORT_ATTEMPTS_MAX) {
        throw error;
      }
    }
  }
}

export async function startServerOn(
  cluster: PostgresCluster,
  port: number,
): Promise<RunningServer> {
  const settings = { ...cluster.settings, port: String(port) };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(
    join(cluster.binaries.directory, 'postgres'),
    ['-D', cluster.dataDirectory, ...flags],
    {
      ...cluster.spawnOptions,
      // Its own session: an interrupt at the terminal goes to the tests, and the watchdog then ends
      // the server.
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  await untilReady(child);
  child.unref();
  return {
    port,
    isRunning: () => isRunning(child),
    stop: (mode) => stopChild(child, mode),
  };
}

/** Resolves on the server's own announcement; rejects with its log when it ends before. */
function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const log: string[] = [];
    const { stderr } = child;
    if (stderr === null) {
      reject(new Error('the server was spawned without a pipe for its log'));
      return;
    }
    createInterface({ input: stderr }).on('line', (line) => {
      log.push(line);
      if (/database system is ready to accept (read-only )?connections/.test(line)) {
        resolve();
        // Still reads the log to its end, or the server would block on a full pipe.
        log.length = 0;
        if ('unref' in stderr && typeof stderr.unref === 'function') {
          stderr.unref();
        }
      }
    });
    child.once('error', reject);
    child.once('close', (code, signal) => {
      const how = signal ?? `exit code ${code}`;
      reject(new Error(`PostgreSQL ended before it was ready (${how}):\n${log.join('\n')}`));
    });
  });
}

async function stopChild(child: ChildProcess, mode: StopMode): Promise<void> {
  if (!isRunning(child)) {
    return;
  }
  child.ref();
  const ended = once(child, 'exit');
  child.kill(STOP_SIGNALS[mode]);
  await ended;
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}
