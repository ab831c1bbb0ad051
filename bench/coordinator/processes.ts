// Starts measured processes. They exit when this process does.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface Running {
  /** The first line that it printed. */
  readonly firstLine: string;
  /** Sends a message to the process and returns its reply. */
  request(message: string): Promise<unknown>;
  stop(): Promise<void>;
}

export async function start(file: string, input: object = {}): Promise<Running> {
  const child = fork(join(import.meta.dirname, file), [JSON.stringify(input)], {
    execArgv: [],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const { stdout } = child;
  if (stdout === null) throw new Error(`${file} has no standard output.`);
  const [firstLine] = (await Promise.race([once(stdout, 'data'), once(child, 'exit')])) as [Buffer];
  if (!(firstLine instanceof Buffer)) throw new Error(`${file} exited before it was ready.`);
  return {
    firstLine: firstLine.toString('utf8').trim(),
    async request(message) {
      const replied = once(child, 'message');
      child.send(message);
      const [reply] = (await replied) as [unknown];
      return reply;
    },
    async stop() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
