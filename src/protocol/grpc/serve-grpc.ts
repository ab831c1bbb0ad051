// The worker protocol over gRPC: single messages, or a stream in which the coordinator sends
// wakeups.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import type { Metadata, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { Fault } from '../../support/fault.ts';
import { requireFewValues } from '../../support/json-size.ts';
import { loadPackage } from '../../support/load-package.ts';
import type { Timers } from '../../support/timer.ts';
import { weightOfBytes, weightOfParsing } from '../../support/turns.ts';
import type { ReplyEnvelope } from '../messages/envelope.ts';
import { type UnparsedRequest, unparsedRequest, WORK_SERVICE } from '../messages/grpc-service.ts';
import { isWorkKind, workMessage } from '../messages/work-messages.ts';
import { type Caller, type Coordinator, isHeld, projectShare } from '../rest/route.ts';
import { type Dispatch, messageKind, refusedReply, roomFor } from '../work/dispatch.ts';
import { type Admitted, beforeReading } from './before-reading.ts';
import {
  type Outgoing,
  type Stream,
  textOf,
  WorkerStream,
  type WorkerStreamParts,
} from './worker-stream.ts';

interface GrpcAccess {
  readonly authorization: string | undefined;
  readonly project: string | undefined;
  readonly ip: string;
}

interface GrpcParts {
  readonly coordinator: Coordinator;
  readonly dispatch: Dispatch;
  readonly admit: (access: GrpcAccess) => Promise<Caller>;
  /** Throws if too many are open. Returns the function that releases. */
  readonly hold: (caller: Caller) => () => void;
  readonly host: string;
  /** 0 picks any free port. */
  readonly port: number;
  readonly bytesMax: number;
  readonly connectionsMax: number;
  /** Called with each connection; closes one above the limit of its address. */
  readonly connected: ConnectionsParts['connected'];
  /** The longest time for a message to arrive, and for a connection to stay without a call. */
  readonly requestMs: number;
  readonly tls?: NonNullable<ConnectionsParts['tls']>;
  readonly stopping: AbortSignal;
}

export interface GrpcServer {
  /** Such as 127.0.0.1:7435. */
  readonly address: string;
  close(): Promise<void>;
}

const unchanged = (wire: Buffer): Buffer => wire;
const bytes = { requestDeserialize: unchanged, responseSerialize: unchanged };

/**
 * Leaves requests undecoded, so that the coordinator authenticates the caller first. It encodes the
 * replies itself, because their size counts.
 */
const UNREAD_SERVICE = {
  Call: { ...WORK_SERVICE.Call, ...bytes },
  Stream: { ...WORK_SERVICE.Stream, ...bytes },
} as const;

export async function serveGrpc(parts: GrpcParts): Promise<GrpcServer> {
  const driver = await loadPackage('gRPC', '@grpc/grpc-js', () => import('@grpc/grpc-js'));
  const { host, port, bytesMax, connectionsMax, connected, requestMs, tls } = parts;
  const { timers } = parts.coordinator;
  const admitted: Admitted = {
    callers: new WeakMap(),
    streams: new WeakMap(),
    below: new WeakMap(),
  };
  const cut = (peer: string): void => connections.cut(peer);
  const server = new driver.Server({
    'grpc.max_receive_message_length': bytesMax,
    'grpc.max_send_message_length': -1,
    'grpc.max_concurrent_streams': STREAMS_MAX,
    // Close a connection without a call, as over HTTP; a client reconnects by itself.
    'grpc.max_connection_idle_ms': requestMs,
    // Also close the connection of a peer that vanished.
    'grpc.keepalive_time_ms': KEEP_ALIVE_MS,
    interceptors: [
      beforeReading(
        {
          ...{ driver, cut, requestMs, bytesMax, timers },
          admit: (call) => parts.admit(accessOf(call)),
          refuse: async (refusal) =>
            WORK_SERVICE.Call.responseSerialize(await refused(parts, NOTHING, refusal)),
        },
        admitted,
      ),
    ],
  });
  const streams = new Set<Stream>();
  server.addService(UNREAD_SERVICE, {
    Call: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
      const disconnected = new AbortController();
      call.on('cancelled', () => disconnected.abort());
      const signal = AbortSignal.any([disconnected.signal, parts.stopping]);
      const admit = async (): Promise<Caller> => knownIn(admitted.callers, call.metadata);
      const encode = WORK_SERVICE.Call.responseSerialize;
      const unary = { admit, wire: call.request, signal, encode };
      void respond(parts, unary).then(({ wire, free }) => {
        const below = knownIn(admitted.below, call.metadata);
        const late = timers.after(requestMs, () => cut(call.getPeer()));
        const sent = (): void => {
          late();
          free();
        };
        if (below.closed) sent();
        else below.once('close', sent);
        done(null, wire);
      });
    },
    Stream: (call: Stream) => {
      streams.add(call);
      const peer = call.getPeer();
      const before = connections.bytesOf(peer);
      const isLong = (): boolean => connections.bytesOf(peer) - before > SHORT_BYTES;
      serveStream(parts, call, {
        entry: knownIn(admitted.streams, call.metadata),
        ended: () => streams.delete(call),
        cutLong: () => (isLong() ? cut(peer) : undefined),
        cut: () => cut(peer),
      });
    },
  });
  // `Connections` has terminated TLS before this point.
  const credentials = driver.ServerCredentials.createInsecure();
  const { injectConnection: take } = server.createConnectionInjector(credentials);
  const connections = await Connections.listen({
    ...{ host, port, connectionsMax, connected, requestMs, timers, take },
    ...(tls === undefined ? {} : { tls }),
  });
  return {
    address: `${host}:${connections.port}`,
    async close() {
      const closed = connections.close();
      for (const stream of streams) stream.end();
      await new Promise<void>((resolve) => {
        const cancel = timers.after(1_000, () => server.forceShutdown());
        server.tryShutdown(() => {
          cancel();
          resolve();
        });
      });
      await closed;
    },
  };
}

const NOTHING = Buffer.alloc(0);
const KEEP_ALIVE_MS = 60_000;
/** The limit for one connection; further calls wait at the client. */
const STREAMS_MAX = 1_000;

function knownIn<Known>(admitted: WeakMap<Metadata, Known>, metadata: Metadata): Known {
  const known = admitted.get(metadata);
  if (known === undefined) throw new Error('A message was handled without being admitted.');
  return known;
}

interface UnaryCall {
  readonly admit: () => Promise<Caller>;
  readonly wire: Buffer;
  readonly signal: AbortSignal;
  readonly encode: (reply: ReplyEnvelope) => Buffer;
}

/** Reads nothing of a message before its sender is admitted. */
async function respond(
  parts: GrpcParts,
  { admit: enter, wire, signal, encode }: UnaryCall,
): Promise<Outgoing> {
  const small = (reply: ReplyEnvelope): Outgoing => ({ reply, wire: encode(reply), free: NONE });
  let caller: Caller;
  try {
    caller = await enter();
  } catch (refusal) {
    return small(await refused(parts, wire, refusal));
  }
  const weight = weightOfParsing(wire.length);
  if (weight > 0) await parts.coordinator.shares.begin(projectShare(caller.project), weight);
  const { text, id, parse } = unparsedFrom(wire);
  try {
    requireFewValues('The message', [text], parts.coordinator.jsonValuesMax);
  } catch (refusal) {
    return small(await refusedWith(parts, id, refusal));
  }
  const envelope: { readonly kind?: string; readonly body?: unknown } = parse();
  let release: (() => void) | undefined;
  const admit = async (): Promise<Caller> => {
    if (isLong(envelope)) release = parts.hold(caller);
    return caller;
  };
  let kept: (() => void) | undefined;
  const keep = (free: () => void): void => {
    kept = free;
  };
  const { length } = wire;
  const reply = await parts.dispatch({ envelope, length, admit, signal, keep });
  release?.();
  const sent = encode(reply);
  const { coordinator } = parts;
  coordinator.shares.charge(projectShare(caller.project), weightOfBytes(sent.length));
  const about = { kind: messageKind(envelope), bytes: sent.length };
  const free = kept ?? roomFor(coordinator, caller, about);
  return free === undefined ? small(refusedReply(reply)) : { reply, wire: sent, free };
}

const NONE = (): void => undefined;

const SHORT_BYTES = 64 * 1024;

/** For a refused caller, does not even decode the id of a long message. */
function refused(parts: GrpcParts, wire: Buffer, refusal: unknown): Promise<ReplyEnvelope> {
  return refusedWith(parts, wire.length > SHORT_BYTES ? '' : unparsedFrom(wire).id, refusal);
}

function refusedWith(parts: GrpcParts, id: string, refusal: unknown): Promise<ReplyEnvelope> {
  const admit = (): Promise<never> => Promise.reject(refusal);
  return parts.dispatch({ envelope: { id }, admit, signal: parts.stopping });
}

/** An unreadable message becomes an empty envelope. */
function unparsedFrom(wire: Buffer): UnparsedRequest {
  try {
    return unparsedRequest(wire);
  } catch {
    return { id: '', text: '', parse: () => ({}) };
  }
}

function isLong({ kind = '', body }: { readonly kind?: string; readonly body?: unknown }): boolean {
  return isWorkKind(kind) && isHeld(workMessage(kind), body);
}

function accessOf(call: { readonly metadata: Metadata; getPeer(): string }): GrpcAccess {
  return {
    authorization: textOf(call.metadata, 'authorization'),
    project: textOf(call.metadata, 'holdfast-project'),
    ip: call.getPeer().replace(/:\d+$/, ''),
  };
}

const { responseSerialize: encodeFrame } = WORK_SERVICE.Stream;

function serveStream(
  parts: GrpcParts,
  call: Stream,
  own: Pick<WorkerStreamParts, 'entry' | 'ended' | 'cutLong' | 'cut'>,
): WorkerStream {
  const access = accessOf(call);
  const { coordinator, stopping, hold, requestMs: slowMs } = parts;
  const admit = (): Promise<Caller> => parts.admit(access);
  const encode = (reply: ReplyEnvelope): Buffer => encodeFrame({ reply, wakeup: false });
  return new WorkerStream(
    {
      ...{ coordinator, stopping, hold, admit, slowMs, ...own },
      respond: (wire, signal) => respond(parts, { admit, wire, signal, encode }),
      async refuse(wire, refusal) {
        const reply = await refused(parts, wire, refusal);
        return { reply, wire: encode(reply), free: NONE };
      },
      wakeup: encodeFrame({ wakeup: true }),
    },
    call,
  );
}

// Accepts workers' connections. It limits their number and closes slow ones, as over HTTP, because
// gRPC has no such limits of its own.

interface ConnectionsParts {
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

class Connections {
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
