// The worker protocol over gRPC: single messages, or a stream in which the coordinator sends
// wakeups.

import type { Metadata, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { Fault } from '../../support/fault.ts';
import { requireFewValues } from '../../support/json-size.ts';
import { weightOfParsing } from '../../support/turns.ts';
import type { ReplyEnvelope } from '../messages/envelope.ts';
import { type UnparsedRequest, unparsedRequest, WORK_SERVICE } from '../messages/grpc-service.ts';
import { isHeld } from '../messages/operation.ts';
import { isWorkKind, workMessage } from '../messages/work-messages.ts';
import { type Caller, type Coordinator, projectShare } from '../rest/route.ts';
import type { Dispatch } from '../work/dispatch.ts';
import { type Admitted, beforeReading } from './before-reading.ts';
import { Connections, type ConnectionsParts } from './connections.ts';
import { type Stream, textOf, WorkerStream, type WorkerStreamParts } from './worker-stream.ts';

type Driver = typeof import('@grpc/grpc-js');

export interface GrpcAccess {
  readonly authorization: string | undefined;
  readonly project: string | undefined;
  readonly ip: string;
}

export interface GrpcParts {
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

const requestDeserialize = (wire: Buffer): Buffer => wire;

/** Leaves requests undecoded, so that the coordinator authenticates the caller first. */
const UNREAD_SERVICE = {
  Call: { ...WORK_SERVICE.Call, requestDeserialize },
  Stream: { ...WORK_SERVICE.Stream, requestDeserialize },
} as const;

export async function serveGrpc(parts: GrpcParts): Promise<GrpcServer> {
  const driver = await loadDriver();
  const { host, port, bytesMax, connectionsMax, connected, requestMs, tls } = parts;
  const { timers } = parts.coordinator;
  const admitted: Admitted = { callers: new WeakMap(), streams: new WeakMap() };
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
          refuse: (refusal) => refused(parts, NOTHING, refusal),
        },
        admitted,
      ),
    ],
  });
  const streams = new Set<Stream>();
  server.addService(UNREAD_SERVICE, {
    Call: (call: ServerUnaryCall<Buffer, ReplyEnvelope>, done: sendUnaryData<ReplyEnvelope>) => {
      const disconnected = new AbortController();
      call.on('cancelled', () => disconnected.abort());
      const signal = AbortSignal.any([disconnected.signal, parts.stopping]);
      const admit = async (): Promise<Caller> => knownIn(admitted.callers, call.metadata);
      const unary = { admit, wire: call.request, signal };
      void respond(parts, unary).then((reply) => done(null, reply));
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
}

/** Reads nothing of a message before its sender is admitted. */
async function respond(
  parts: GrpcParts,
  { admit: enter, wire, signal }: UnaryCall,
): Promise<ReplyEnvelope> {
  let caller: Caller;
  try {
    caller = await enter();
  } catch (refusal) {
    return refused(parts, wire, refusal);
  }
  const weight = weightOfParsing(wire.length);
  if (weight > 0) await parts.coordinator.shares.begin(projectShare(caller.project), weight);
  const { text, id, parse } = unparsedFrom(wire);
  try {
    requireFewValues('The message', [text], parts.coordinator.jsonValuesMax);
  } catch (refusal) {
    return refusedWith(parts, id, refusal);
  }
  const envelope: { readonly kind?: string; readonly body?: unknown } = parse();
  let release: (() => void) | undefined;
  const admit = async (): Promise<Caller> => {
    if (isLong(envelope)) release = parts.hold(caller);
    return caller;
  };
  try {
    return await parts.dispatch({ envelope, length: wire.length, admit, signal });
  } finally {
    release?.();
  }
}

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

function serveStream(
  parts: GrpcParts,
  call: Stream,
  { entry, ended, cutLong }: Pick<WorkerStreamParts, 'entry' | 'ended' | 'cutLong'>,
): WorkerStream {
  const access = accessOf(call);
  const { coordinator, stopping, hold } = parts;
  const admit = (): Promise<Caller> => parts.admit(access);
  return new WorkerStream(
    {
      ...{ coordinator, stopping, hold, entry, ended, cutLong, admit },
      respond: (wire, signal) => respond(parts, { admit, wire, signal }),
      refuse: (wire, refusal) => refused(parts, wire, refusal),
    },
    call,
  );
}

async function loadDriver(): Promise<Driver> {
  try {
    return await import('@grpc/grpc-js');
  } catch (cause) {
    throw new Fault(
      'driver-missing',
      'gRPC needs the package "@grpc/grpc-js". Nothing was opened. Install it beside holdfast: npm install @grpc/grpc-js',
      { cause },
    );
  }
}
