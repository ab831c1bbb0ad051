// Accepts workers' connections. It limits their number and closes slow ones, as over HTTP, because
// gRPC has no such limits of its own.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { Fault } from '../../support/fault.ts';
import type { Timers } from '../../support/timer.ts';

export interface ConnectionsParts {
  readonly host: string;
  /** 0 picks any free port. */
  readonly port: number;
  readonly connectionsMax: number;
  /** Called with each connection, before TLS. */
  readonly connected: (socket: Socket) => void;
  /** The longest silence at the start of a connection. */
  readonly requestMs: number;
  readonly timers: Timers;
  readonly tls?: Pick<TlsOptions, 'key' | 'cert' | 'minVersion'>;
  readonly take: (socket: Socket) => void;
}

const OVER_TLS: TlsOptions = { minVersion: 'TLSv1.2', ALPNProtocols: ['h2'] };
/** The length of the preface that begins every HTTP/2 connection. */
const PREFACE_BYTES = 24;
const CLOSE_MS_MAX = 2_000;

export class Connections {
  readonly #parts: ConnectionsParts;
  readonly #server: Server;
  readonly #sockets: Map<string, Socket> = new Map();

  private constructor(parts: ConnectionsParts) {
    this.#parts = parts;
    const { tls, requestMs: handshakeTimeout, connectionsMax, connected } = parts;
    const came = (socket: Socket): void => this.#came(socket);
    this.#server =
      tls === undefined
        ? createServer(came)
        : createTlsServer({ ...OVER_TLS, ...tls, handshakeTimeout }, came);
    // The TLS handshake failed or timed out.
    this.#server.on('tlsClientError', (_: Error, socket: Socket) => socket.destroy());
    this.#server.maxConnections = connectionsMax;
    this.#server.prependListener('connection', connected);
  }

  static async listen(parts: ConnectionsParts): Promise<Connections> {
    const { host, port } = parts;
    const opened = new Connections(parts);
    try {
      opened.#server.listen({ host: host.replace(/^\[|\]$/g, ''), port });
      await once(opened.#server, 'listening');
    } catch (cause) {
      const why = (cause as Error).message;
      const detail = `gRPC cannot listen on ${host}:${port}: ${why}. The coordinator did not start. Choose another address with --grpc.`;
      throw new Fault('listen-failed', detail, { cause });
    }
    return opened;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The bytes read so far. */
  bytesOf(peer: string): number {
    return this.#sockets.get(peer)?.bytesRead ?? 0;
  }

  /** The peer's name in gRPC: the remote address and port. */
  cut(peer: string): void {
    this.#sockets.get(peer)?.destroy();
  }

  /** Accepts no more connections. Open ones end by themselves, or after a limit. */
  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    const cancel = this.#parts.timers.after(CLOSE_MS_MAX, () => {
      for (const socket of this.#sockets.values()) socket.destroy();
    });
    await closed;
    cancel();
  }

  #came(socket: Socket): void {
    const { requestMs, timers, take } = this.#parts;
    const peer = `${socket.remoteAddress}:${socket.remotePort}`;
    this.#sockets.set(peer, socket);
    const cancel = timers.after(requestMs, () => {
      if (socket.bytesRead < PREFACE_BYTES) socket.destroy();
    });
    socket.on('close', () => {
      cancel();
      if (this.#sockets.get(peer) === socket) this.#sockets.delete(peer);
    });
    // The new owner of the socket handles its errors. Before that there is nothing to lose.
    socket.on('error', () => undefined);
    take(socket);
  }
}
