// Processes that are measured; they end when this one does.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

export interface Running {
  /** The first line that it printed. */
  readonly firstLine: string;
  /** Sends it a message, and waits for what it says to that. */
  ask(message: string): Promise<unknown>;
  stop(): Promise<void>;
}

export async function start(file: string, input: object = {}): Promise<Running> {
  const child = fork(join(import.meta.dirname, file), [JSON.stringify(input)], {
    execArgv: [],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const { stdout } = child;
  if (stdout === null) throw new Error(`${file} has no output`);
  const [firstLine] = (await Promise.race([once(stdout, 'data'), once(child, 'exit')])) as [Buffer];
  if (!(firstLine instanceof Buffer)) throw new Error(`${file} ended before it was ready`);
  return {
    firstLine: firstLine.toString('utf8').trim(),
    async ask(message) {
      const answered = once(child, 'message');
      child.send(message);
      const [answer] = (await answered) as [unknown];
      return answer;
    },
    async stop() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}
