// Accepts workers' connections. It limits their number and closes slow ones, as over HTTP, because
// gRPC has no such limits of its own.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import type { Metadata, ServerInterceptingCallInterface, ServerInterceptor } from '@grpc/grpc-js';
import { Fault } from '../../support/fault.ts';
import type { Timers } from '../../support/timer.ts';
import type { ReplyEnvelope } from '../messages/envelope.ts';
import type { Caller } from '../rest/route.ts';

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

// Authenticates a single message before gRPC reads it, and within the time of a request. By
// default, gRPC would read the whole message first, from any sender and however slowly. For a
// stream, `WorkerStream` does this.

export interface BeforeReading {
  readonly driver: Pick<
    typeof import('@grpc/grpc-js'),
    'Metadata' | 'ServerInterceptingCall' | 'status'
  >;
  /** Throws if the caller has no access. */
  readonly admit: (call: IncomingCall) => Promise<Caller>;
  readonly refuse: (refusal: unknown) => Promise<ReplyEnvelope>;
  readonly cut: (peer: string) => void;
  readonly requestMs: number;
  readonly timers: Timers;
}

interface IncomingCall {
  readonly metadata: Metadata;
  getPeer(): string;
}

/** The admitted caller of each call, by its metadata. */
export type Admitted = WeakMap<Metadata, Caller>;

export function beforeReading(parts: BeforeReading, admitted: Admitted): ServerInterceptor {
  const { driver, admit, cut, requestMs, timers } = parts;
  return ({ requestStream }, call) => {
    if (requestStream) return new driver.ServerInterceptingCall(call);
    const arrived = timers.after(requestMs, () => cut(call.getPeer()));
    const onReceiveMetadata = (metadata: Metadata, pass: (metadata: Metadata) => void): void => {
      admit({ metadata, getPeer: () => call.getPeer() }).then(
        (caller) => {
          admitted.set(metadata, caller);
          pass(metadata);
        },
        (refusal: unknown) => {
          arrived();
          void answerUnread(parts, call, refusal);
        },
      );
    };
    return new driver.ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMetadata,
          onReceiveHalfClose: (pass) => {
            arrived();
            pass();
          },
          onCancel: arrived,
        }),
    });
  };
}

async function answerUnread(
  { driver, refuse }: BeforeReading,
  call: ServerInterceptingCallInterface,
  refusal: unknown,
): Promise<void> {
  const reply = await refuse(refusal);
  call.sendMetadata(new driver.Metadata());
  call.sendMessage(reply, () => call.sendStatus({ code: driver.status.OK, details: 'OK' }));
}
