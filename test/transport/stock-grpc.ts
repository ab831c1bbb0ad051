// A client that knows only the file: grpc-js with proto-loader's view of work.proto.

import { join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import type { ReplyEnvelope } from '../../src/protocol/messages/envelope.ts';

export const PROTO = join(import.meta.dirname, '../../src/protocol/messages/work.proto');

interface WireReply {
  readonly v: number;
  readonly id: string;
  readonly body: Buffer;
  readonly bytes: Buffer;
  readonly problem: NonNullable<ReplyEnvelope['problem']> | null;
}

export interface WireFrame {
  readonly reply: WireReply | null;
  readonly wakeup: boolean;
}

interface WorkClient extends grpc.Client {
  Call(
    request: object,
    metadata: grpc.Metadata,
    done: (error: Error | null, reply: WireReply) => void,
  ): void;
  Stream(metadata: grpc.Metadata): grpc.ClientDuplexStream<object, WireFrame>;
}

export interface StockClient {
  ask(envelope: object): Promise<ReplyEnvelope>;
  openStream(): grpc.ClientDuplexStream<object, WireFrame>;
  close(): void;
}

/** As a later version of the file would have it. */
const LATER = { priority: 'later' };

export function stockClient(address: string, key: string): StockClient {
  const loaded = grpc.loadPackageDefinition(loadSync(PROTO, { keepCase: true, defaults: true }));
  const { holdfast } = loaded as unknown as {
    readonly holdfast: { work: { v1: { Work: new (...given: unknown[]) => WorkClient } } };
  };
  const client = new holdfast.work.v1.Work(address, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  metadata.set('authorization', `Bearer ${key}`);
  return {
    ask: (envelope) =>
      'priority' in envelope ? askRaw(client, metadata) : askOf(client, metadata, envelope),
    openStream: () => client.Stream(metadata),
    close: () => client.close(),
  };
}

export function wireOf(envelope: object): object {
  const { body } = envelope as { readonly body?: unknown };
  return {
    ...envelope,
    ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
  };
}

export function replyOf({ v, id, body, bytes, problem }: WireReply): ReplyEnvelope {
  return {
    ...{ v, id },
    ...(body.length === 0 ? {} : { body: JSON.parse(body.toString()) }),
    ...(bytes.length === 0 ? {} : { bytes }),
    ...(problem === null ? {} : { problem }),
  };
}

function askOf(
  client: WorkClient,
  metadata: grpc.Metadata,
  envelope: object,
): Promise<ReplyEnvelope> {
  return new Promise((resolve, reject) => {
    client.Call(wireOf(envelope), metadata, (error, reply) =>
      error === null ? resolve(replyOf(reply)) : reject(error),
    );
  });
}

/** A greeting with a field 15, which is a text. */
function askRaw(client: WorkClient, metadata: grpc.Metadata): Promise<ReplyEnvelope> {
  const text = (no: number, value: string): Buffer =>
    Buffer.concat([Buffer.from([no * 8 + 2, value.length]), Buffer.from(value)]);
  const bytes = Buffer.concat([
    Buffer.from([8, 1]),
    text(2, 'one'),
    text(3, 'greet'),
    text(15, LATER.priority),
  ]);
  const { Call } = loadSync(PROTO, { defaults: true })['holdfast.work.v1.Work'] as unknown as {
    readonly Call: {
      readonly path: string;
      readonly responseDeserialize: (wire: Buffer) => WireReply;
    };
  };
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      Call.path,
      (raw: Buffer) => raw,
      Call.responseDeserialize,
      bytes,
      metadata,
      (error: Error | null, reply?: WireReply) =>
        error === null ? resolve(replyOf(reply as WireReply)) : reject(error),
    );
  });
}
