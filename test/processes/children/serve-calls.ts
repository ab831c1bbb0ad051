// The child's side of test/processes/stage/child.ts.

import type { CallMessage, ChildMessage, InputOf } from '../stage/child.ts';

type Handlers<Api extends object> = {
  readonly [Name in keyof Api]: (input: InputOf<Api[Name]>) => unknown;
};

/** Answers calls until the channel closes; then the process ends, whatever it is doing. */
export function serveCalls<Api extends object>(handlers: Handlers<Api>): void {
  const table = new Map(Object.entries(handlers)) as Map<string, (input: unknown) => unknown>;
  process.once('disconnect', () => process.exit(0));
  process.on('message', async (message) => {
    const { id, name, input } = message as CallMessage;
    try {
      const handler = table.get(name);
      if (handler === undefined) throw new Error(`there is no call "${name}"`);
      await send({ kind: 'answer', id, output: await handler(input) });
    } catch (error) {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      await send({ kind: 'failure', id, message: text });
    }
  });
}

/** Resolves when the parent's end of the channel has it. */
export async function emit(name: string, detail?: unknown): Promise<void> {
  await send({ kind: 'event', name, detail });
}

function send(message: ChildMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) return resolve();
    process.send(message, undefined, undefined, () => resolve());
  });
}
