import {
  type ReplyEnvelope,
  type TransportRequest,
  WORK_VERSION,
} from '../../src/protocol/messages/envelope.ts';
import type { Server } from '../../src/server/serve.ts';
import { grpcTransport } from '../../src/worker/grpc-transport.ts';
import type { Kind } from './backend.ts';
import { stockClient } from './stock-grpc.ts';

const BYTES_MAX = 4 * 1024 * 1024;

export function grpcKind(mode: 'stream' | 'unary'): Kind {
  return {
    name: `gRPC, ${mode}`,
    offers: ['envelopes', 'limit'],
    options: async () => ({ grpc: { port: 0 }, limits: { bodyBytesMax: BYTES_MAX } }),
    transport: ({ grpcAddress: address = '' }, key) =>
      grpcTransport({ address, key, mode, bytesMax: BYTES_MAX }),
    twice,
    deliver,
  };
}

/** The same bytes, by a client that was generated from the file alone. */
async function twice(
  server: Server,
  key: string,
  message: TransportRequest,
): Promise<readonly [unknown, unknown]> {
  const client = stockClient(server.grpcAddress ?? '', key);
  const request = { v: WORK_VERSION, id: 'one', ...message };
  const [one, other] = [await client.ask(request), await client.ask(request)];
  client.close();
  return [one.body, other.body];
}

async function deliver(server: Server, key: string, envelope: unknown): Promise<ReplyEnvelope> {
  const client = stockClient(server.grpcAddress ?? '', key);
  const reply = await client.ask(envelope as object);
  client.close();
  return reply;
}
