// Where workers connect: so many at most, and who is too slow is cut off, as over HTTP. gRPC has no such limits
// of its own.

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
  /** 0: any that is free. */
  readonly port: number;
  readonly connectionsMax: number;
  /** Called with each connection, before TLS. */
  readonly connected: (socket: Socket) => void;
  /** How long one may say nothing at its beginning. */
  readonly requestMs: number;
  readonly timers: Timers;
  readonly tls?: Pick<TlsOptions, 'key' | 'cert' | 'minVersion'>;
  readonly take: (socket: Socket) => void;
}

const OVER_TLS: TlsOptions = { minVersion: 'TLSv1.2', ALPNProtocols: ['h2'] };
/** What every connection of HTTP/2 begins with. */
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
    // Who does not agree on it, or not in time.
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
      const detail = `gRPC cannot listen on ${host}:${port}: ${why}`;
      throw new Fault('listen-failed', detail, { cause });
    }
    return opened;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** How much of it was read so far. */
  bytesOf(peer: string): number {
    return this.#sockets.get(peer)?.bytesRead ?? 0;
  }

  /** By the name that gRPC has for it: address and port of the other side. */
  cut(peer: string): void {
    this.#sockets.get(peer)?.destroy();
  }

  /** None come any more; those there are end by themselves, or after a while. */
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
    // Whoever takes it hears of its faults; before that there is nothing to lose.
    socket.on('error', () => undefined);
    take(socket);
  }
}

// A message by itself is read when its sender has come in, and within the time that a request has: gRPC would read
// all of it first, whoever sends it and however slowly. In a stream its conversation sees to that.

export interface BeforeReading {
  readonly driver: Pick<
    typeof import('@grpc/grpc-js'),
    'Metadata' | 'ServerInterceptingCall' | 'status'
  >;
  /** Throws for who may not. */
  readonly admit: (call: Asking) => Promise<Caller>;
  readonly refuse: (refusal: unknown) => Promise<ReplyEnvelope>;
  readonly cut: (peer: string) => void;
  readonly requestMs: number;
  readonly timers: Timers;
}

interface Asking {
  readonly metadata: Metadata;
  getPeer(): string;
}

/** Who came in with which call, by its metadata. */
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
