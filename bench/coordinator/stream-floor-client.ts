// The client of the floor of a coordinator, and the messages that its processes exchange: a line of
// JSON each.

import { once } from 'node:events';
import { connect as connectTo, type Socket } from 'node:net';
import { start } from './processes.ts';

export interface Message {
  readonly kind: 'worker' | 'submit' | 'run' | 'step' | 'recorded' | 'end' | 'ended';
  readonly id: number;
  readonly fence?: number;
  readonly seq?: number;
  readonly body?: string;
}

export type Send = (message: Message) => void;

export const PAYLOAD: string = 'a'.repeat(200);

export interface StreamFloor {
  /** Submits one execution with three steps, and waits for its end. */
  run(): Promise<void>;
  close(): Promise<void>;
}

export async function openStreamFloor(url: string): Promise<StreamFloor> {
  const server = await start('stream-floor.ts', { role: 'server', url });
  const { port } = JSON.parse(server.firstLine) as { port: number };
  const worker = await start('stream-floor.ts', { role: 'worker', port });
  const waiting = new Map<number, () => void>();
  const send = await connect(port, ({ id }) => {
    waiting.get(id)?.();
    waiting.delete(id);
  });
  let last = 0;
  return {
    run: () =>
      new Promise((resolve) => {
        last += 1;
        waiting.set(last, resolve);
        send({ kind: 'submit', id: last, body: PAYLOAD });
      }),
    async close() {
      await worker.stop();
      await server.stop();
    },
  };
}

export async function connect(port: number, onMessage: Send): Promise<Send> {
  const socket = connectTo(port, '127.0.0.1');
  await once(socket, 'connect');
  // The other end closes the connection by exiting.
  socket.on('error', () => undefined).unref();
  return sender(socket, onMessage);
}

/** Messages of one turn of the event loop share a packet. */
export function sender(socket: Socket, onMessage: Send): Send {
  let read = '';
  let unsent = '';
  socket.setNoDelay(true).setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = `${read}${text}`.split('\n');
    read = lines.pop() ?? '';
    for (const line of lines) onMessage(JSON.parse(line) as Message);
  });
  return (message) => {
    if (unsent === '') {
      setImmediate(() => {
        socket.write(unsent);
        unsent = '';
      });
    }
    unsent += `${JSON.stringify(message)}\n`;
  };
}
