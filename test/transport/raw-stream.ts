// A stream by hand: frames are sent and read as they are.

import type { Socket } from 'node:net';
import { WebSocket } from 'ws';
import type { ReplyEnvelope } from '../../src/protocol/messages/envelope.ts';

export class RawStream {
  readonly socket: WebSocket;
  /** The status and the reason with which the coordinator closed it. */
  readonly closed: Promise<readonly [number, string]>;
  readonly #frames: (readonly ReplyEnvelope[])[] = [];
  #arrived: () => void = () => undefined;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => {
      socket.once('close', (status, reason) => resolve([status, reason.toString()]));
    });
    socket.on('error', () => undefined);
    socket.on('message', (data) => {
      this.#frames.push(JSON.parse(String(data)) as readonly ReplyEnvelope[]);
      this.#arrived();
    });
  }

  /** Rejects with the status of a refused upgrade. */
  static async open(
    url: string,
    key: string | undefined,
    headers: object = {},
  ): Promise<RawStream> {
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/stream`, {
      headers: { ...authorization, ...headers },
    });
    const stream = new RawStream(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    return stream;
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  async next(): Promise<readonly ReplyEnvelope[]> {
    while (this.#frames.length === 0) {
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
    return this.#frames.shift() ?? [];
  }

  /** The TCP connection below. */
  get below(): Socket {
    return (this.socket as unknown as { readonly _socket: Socket })._socket;
  }

  close(): void {
    this.socket.close();
  }
}

export async function closedBy(stream: RawStream): Promise<number> {
  const [status] = await stream.closed;
  return status;
}
