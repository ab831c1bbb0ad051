// The worker protocol over gRPC: one message at a time, or a stream of them, in which the coordinator rings.

import type { Metadata, Server, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js';
import { Fault } from '../../support/fault.ts';
import type { ReplyEnvelope } from '../messages/envelope.ts';
import { WORK_SERVICE } from '../messages/grpc-service.ts';
import { isWorkKind, workMessage } from '../messages/work-messages.ts';
import type { Caller, Coordinator } from '../rest/route.ts';
import type { Dispatch } from '../work/dispatch.ts';
import { Conversation, type Stream, textOf } from './conversation.ts';

type Driver = typeof import('@grpc/grpc-js');

export interface Knocking {
  readonly authorization: string | undefined;
  readonly project: string | undefined;
  /** The address that it comes from. */
  readonly ip: string;
}

export interface GrpcParts {
  readonly coordinator: Coordinator;
  readonly dispatch: Dispatch;
  readonly admit: (knock: Knocking) => Promise<Caller>;
  /** Throws where too many are open. What it returns lets go. */
  readonly hold: (caller: Caller) => () => void;
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly bytesMax: number;
  readonly tls?: { readonly key: string; readonly cert: string };
  readonly stopping: AbortSignal;
}

export interface GrpcServer {
  /** Such as 127.0.0.1:7435. */
  readonly address: string;
  close(): Promise<void>;
}

const requestDeserialize = (wire: Buffer): Buffer => wire;

/** Its requests come as they were sent. */
const UNREAD_SERVICE = {
  Ask: { ...WORK_SERVICE.Ask, requestDeserialize },
  Converse: { ...WORK_SERVICE.Converse, requestDeserialize },
} as const;

export async function serveGrpc(parts: GrpcParts): Promise<GrpcServer> {
  const driver = await loadDriver();
  const { host, port, bytesMax, tls } = parts;
  const server = new driver.Server({
    'grpc.max_receive_message_length': bytesMax,
    'grpc.max_send_message_length': -1,
  });
  const streams = new Set<Stream>();
  server.addService(UNREAD_SERVICE as never, {
    Ask: (call: ServerUnaryCall<Buffer, ReplyEnvelope>, done: sendUnaryData<ReplyEnvelope>) => {
      const gone = new AbortController();
      call.on('cancelled', () => gone.abort());
      const signal = AbortSignal.any([gone.signal, parts.stopping]);
      const asking = { knock: knockOf(call), wire: call.request, signal };
      void answer(parts, asking).then((reply) => done(null, reply));
    },
    Converse: (call: Stream) => {
      streams.add(call);
      converse(parts, call, () => streams.delete(call));
    },
  });
  const credentials =
    tls === undefined
      ? driver.ServerCredentials.createInsecure()
      : driver.ServerCredentials.createSsl(null, [
          { private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.cert) },
        ]);
  const bound = await bind(server, `${host}:${port}`, credentials);
  return {
    address: `${host}:${bound}`,
    async close() {
      for (const stream of streams) stream.end();
      await new Promise<void>((resolve) => {
        const cancel = parts.coordinator.timers.after(1_000, () => server.forceShutdown());
        server.tryShutdown(() => {
          cancel();
          resolve();
        });
      });
    },
  };
}

function bind(
  server: Server,
  address: string,
  credentials: Parameters<Server['bindAsync']>[1],
): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, credentials, (error, port) => {
      if (error === null) resolve(port);
      else reject(new Fault('listen-failed', `gRPC cannot listen on ${address}: ${error.message}`));
    });
  });
}

interface Asking {
  readonly knock: Knocking;
  readonly wire: Buffer;
  readonly signal: AbortSignal;
}

/** Nothing of a message is read before its sender has come in. */
async function answer(parts: GrpcParts, { knock, wire, signal }: Asking): Promise<ReplyEnvelope> {
  let caller: Caller;
  try {
    caller = await parts.admit(knock);
  } catch (refusal) {
    return refused(parts, wire, refusal);
  }
  const envelope = envelopeFrom(wire);
  let letGo: (() => void) | undefined;
  const admit = async (): Promise<Caller> => {
    if (isLong(envelope)) letGo = parts.hold(caller);
    return caller;
  };
  try {
    return await parts.dispatch({ envelope, admit, signal });
  } finally {
    letGo?.();
  }
}

const SHORT_BYTES = 64 * 1024;

/** Of who was refused, a long message is not read even for its id. */
function refused(parts: GrpcParts, wire: Buffer, refusal: unknown): Promise<ReplyEnvelope> {
  const { id = '' } = wire.length > SHORT_BYTES ? {} : envelopeFrom(wire);
  const admit = (): Promise<never> => Promise.reject(refusal);
  return parts.dispatch({ envelope: { id }, admit, signal: parts.stopping });
}

/** What cannot be read is an envelope without anything. */
function envelopeFrom(wire: Buffer): { readonly id?: string; readonly kind?: string } {
  try {
    return WORK_SERVICE.Ask.requestDeserialize(wire);
  } catch {
    return {};
  }
}

function isLong({ kind = '' }: { readonly kind?: string }): boolean {
  return isWorkKind(kind) && workMessage(kind).isLong === true;
}

function knockOf(call: { readonly metadata: Metadata; getPeer(): string }): Knocking {
  return {
    authorization: textOf(call.metadata, 'authorization'),
    project: textOf(call.metadata, 'holdfast-project'),
    ip: call.getPeer().replace(/:\d+$/, ''),
  };
}

function converse(parts: GrpcParts, call: Stream, ended: () => void): Conversation {
  const knock = knockOf(call);
  const { coordinator, stopping, hold } = parts;
  return new Conversation(
    {
      ...{ coordinator, stopping, hold, ended },
      admit: () => parts.admit(knock),
      answer: (wire, signal) => answer(parts, { knock, wire, signal }),
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
      'gRPC needs the package "@grpc/grpc-js". Install it beside holdfast: npm install @grpc/grpc-js',
      { cause },
    );
  }
}
