// The caller's end of a stream: one WebSocket to a coordinator, for workers and clients. Messages of
// one turn share a frame. It loads `ws` when the first connection opens, so that pages in a browser
// need nothing of it.

import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Timers } from '../../support/timer.ts';
import type { ReplyEnvelope } from './envelope.ts';

/** The coordinator refuses larger frames. */
export const FRAME_BYTES_MAX = 1024 * 1024;
/** The most messages in one frame. */
export const FRAME_MESSAGES_MAX = 1_000;
/** The longest time until the coordinator has accepted the connection. */
const OPEN_MS = 5_000;
/** A longer message is a request of its own, so that it delays no other. */
const MESSAGE_CHARS_MAX = 64 * 1024;
/** Beyond this, the next message begins another frame. A character takes up to three bytes. */
const FRAME_CHARS = 128 * 1024;

export interface StreamConnectionOptions {
  /** Of the coordinator, such as http://127.0.0.1:7433. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timers: Timers;
  readonly onReply: (reply: ReplyEnvelope) => void;
  /** Called once, unless `close` was called before. */
  readonly onBroken: (why: string) => void;
}

export class StreamConnection {
  readonly #socket: WebSocket;
  readonly #below: Socket;
  readonly #options: StreamConnectionOptions;
  #out: string[] = [];
  #outChars = 0;
  #isPlanned = false;
  #isOver = false;

  private constructor(socket: WebSocket, below: Socket, options: StreamConnectionOptions) {
    this.#socket = socket;
    this.#below = below;
    this.#options = options;
    socket.on('message', (data) => this.#onFrame(String(data)));
    socket.on('error', () => undefined);
    socket.on('close', (status, reason) => {
      this.#broke(reason.length > 0 ? reason.toString() : `it was closed with status ${status}`);
    });
  }

  /** Rejects if there is no stream at this address, or not for this caller. */
  static async open(options: StreamConnectionOptions): Promise<StreamConnection> {
    const { WebSocket } = await import('ws');
    const { url, headers } = options;
    const address = `${url.replace(/^http/, 'ws')}/v1/stream`;
    const socket = new WebSocket(address, {
      ...{ headers, perMessageDeflate: false, handshakeTimeout: OPEN_MS, maxPayload: 0 },
    });
    return new Promise((resolve, reject) => {
      let below: Socket | undefined;
      socket.once('upgrade', (response) => {
        below = response.socket;
      });
      socket.once('error', reject);
      socket.once('open', () => {
        socket.off('error', reject);
        if (below !== undefined) resolve(new StreamConnection(socket, below, options));
      });
    });
  }

  get isOpen(): boolean {
    return !this.#isOver;
  }

  /** True if the message is short enough for a frame. */
  static fits(envelope: string): boolean {
    return envelope.length <= MESSAGE_CHARS_MAX;
  }

  /** An idle connection of a client does not keep its process alive. */
  keepProcess(isNeeded: boolean): void {
    // A socket that has ended would wait for its next connection, with a listener for each call.
    if (this.#below.destroyed) return;
    if (isNeeded) this.#below.ref();
    else this.#below.unref();
  }

  /** Takes the JSON of an envelope. */
  send(envelope: string): void {
    const isFull = this.#outChars + envelope.length > FRAME_CHARS;
    if (isFull || this.#out.length >= FRAME_MESSAGES_MAX) this.#flush();
    this.#out.push(envelope);
    this.#outChars += envelope.length;
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#options.timers.soon(() => {
      this.#isPlanned = false;
      this.#flush();
    });
  }

  /** Ends it at once, and sends nothing to a coordinator that may be silent. */
  cut(why: string): void {
    this.#socket.terminate();
    this.#broke(why);
  }

  close(): void {
    this.#isOver = true;
    this.#flush();
    this.#socket.close();
    this.keepProcess(false);
  }

  #flush(): void {
    if (this.#out.length === 0) return;
    const frame = `[${this.#out.join(',')}]`;
    this.#out = [];
    this.#outChars = 0;
    this.#socket.send(frame, () => undefined);
  }

  #onFrame(frame: string): void {
    for (const reply of JSON.parse(frame) as readonly ReplyEnvelope[]) this.#options.onReply(reply);
  }

  #broke(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onBroken(why);
  }
}
