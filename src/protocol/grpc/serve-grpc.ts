// The worker protocol over gRPC: one message at a time, or a stream of them, in which the coordinator rings.

import type {
  Metadata,
  Server,
  ServerDuplexStream,
  ServerUnaryCall,
  sendUnaryData,
} from '@grpc/grpc-js';
import { Fault } from '../../support/fault.ts';
import type { ReplyEnvelope } from '../messages/envelope.ts';
import { type Frame, WORK_SERVICE } from '../messages/grpc-service.ts';
import type { Caller, Coordinator } from '../rest/route.ts';
import type { Dispatch } from '../work/dispatch.ts';

type Driver = typeof import('@grpc/grpc-js');

export interface Knocking {
  readonly authorization: string | undefined;
  readonly project: string | undefined;
}

export interface GrpcParts {
  readonly coordinator: Coordinator;
  readonly dispatch: Dispatch;
  readonly admit: (knock: Knocking) => Promise<Caller>;
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

/** Rings come in bursts; one of them is enough. */
const RING_MS = 10;

export async function serveGrpc(parts: GrpcParts): Promise<GrpcServer> {
  const driver = await loadDriver();
  const { host, port, bytesMax, tls } = parts;
  const server = new driver.Server({
    'grpc.max_receive_message_length': bytesMax,
    'grpc.max_send_message_length': -1,
  });
  const streams = new Set<ServerDuplexStream<object, Frame>>();
  server.addService(WORK_SERVICE as never, {
    Ask: (call: ServerUnaryCall<object, ReplyEnvelope>, done: sendUnaryData<ReplyEnvelope>) => {
      const { metadata, request: envelope } = call;
      const delivered = { metadata, envelope, signal: parts.stopping };
      void answer(parts, delivered).then((reply) => done(null, reply));
    },
    Converse: (call: ServerDuplexStream<object, Frame>) => {
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

interface Delivered {
  readonly metadata: Metadata;
  readonly envelope: object;
  readonly signal: AbortSignal;
}

function answer(
  { dispatch, admit }: GrpcParts,
  { metadata, envelope, signal }: Delivered,
): Promise<ReplyEnvelope> {
  const knock = knockOf(metadata);
  return dispatch({ envelope, admit: () => admit(knock), signal });
}

function knockOf(metadata: Metadata): Knocking {
  return {
    authorization: textOf(metadata, 'authorization'),
    project: textOf(metadata, 'holdfast-project'),
  };
}

function converse(
  parts: GrpcParts,
  call: ServerDuplexStream<object, Frame>,
  ended: () => void,
): void {
  const { coordinator, stopping } = parts;
  const gone = new AbortController();
  const signal = AbortSignal.any([gone.signal, stopping]);
  let cancelRing: (() => void) | undefined;
  const send = (frame: Frame): void => {
    if (!signal.aborted) call.write(frame);
  };
  const unlisten = coordinator.store.executions.onRing(() => {
    cancelRing ??= coordinator.timers.after(RING_MS, () => {
      cancelRing = undefined;
      // Whoever is not known is told nothing, not even that there is something.
      void knows(parts, call.metadata).then((isKnown) => isKnown && send({ ring: true }));
    });
  });
  const end = (): void => {
    gone.abort();
    unlisten();
    cancelRing?.();
    ended();
  };
  call.on('data', (envelope: object) => {
    const { metadata } = call;
    void answer(parts, { metadata, envelope, signal }).then((reply) =>
      send({ reply, ring: false }),
    );
  });
  call.on('end', () => {
    end();
    call.end();
  });
  call.on('cancelled', end);
  call.on('error', end);
}

async function knows({ admit }: GrpcParts, metadata: Metadata): Promise<boolean> {
  return admit(knockOf(metadata)).then(
    () => true,
    () => false,
  );
}

function textOf(metadata: Metadata, name: string): string | undefined {
  const [value] = metadata.get(name);
  return typeof value === 'string' ? value : undefined;
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
