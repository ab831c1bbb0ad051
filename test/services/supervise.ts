import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Supervised } from './supervisor.ts';

export interface Supervisor {
  /** Ends it like a crash. Its data on disk stays. */
  kill(): Promise<void>;
  /** After `kill`: on the same data. */
  start(): Promise<void>;
  /** Idempotent. Removes its folder before it returns. */
  stop(): Promise<void>;
}

/** Starts a server that ends with this process at the latest, however this process ends. */
export async function supervise(
  supervised: Supervised,
  env: NodeJS.ProcessEnv,
): Promise<Supervisor> {
  const supervisor = spawn(
    process.execPath,
    [join(import.meta.dirname, 'supervisor.ts'), JSON.stringify(supervised)],
    { detached: true, stdio: ['pipe', 'pipe', 'inherit'], env },
  );
  const ended = once(supervisor, 'exit');
  const lines = createInterface({ input: supervisor.stdout });
  const notifyParent = async (): Promise<void> => {
    const outcome = await Promise.race([once(lines, 'line'), ended.then(() => undefined)]);
    if (outcome === undefined) {
      throw new Error(
        `${supervised.name} ended before it was ready; what it said is in the output above.`,
      );
    }
  };
  await notifyParent();
  const send = async (command: string): Promise<void> => {
    supervisor.stdin.write(`${command}\n`);
    await notifyParent();
  };
  supervisor.unref();
  if ('unref' in supervisor.stdin && typeof supervisor.stdin.unref === 'function') {
    supervisor.stdin.unref();
  }
  let stopped: Promise<void> | undefined;
  const end = async () => {
    supervisor.ref();
    supervisor.stdin.end();
    await ended;
  };
  return {
    kill: () => send('kill'),
    start: () => send('start'),
    stop() {
      stopped ??= end();
      return stopped;
    },
  };
}
