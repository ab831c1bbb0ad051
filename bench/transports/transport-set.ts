// Opens a coordinator with every transport.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SQSClient } from '@aws-sdk/client-sqs';
import { startFauxqs } from 'fauxqs';
import { handlerAnywhere } from '../../contract/transport/fake-endpoint.ts';
import { type Pipeline, pipeline } from '../../src/engine/pipeline.ts';
import type { Transport } from '../../src/protocol/messages/envelope.ts';
import { openServer } from '../../src/server/serve.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { grpcTransport } from '../../src/worker/grpc-transport.ts';
import { httpTransport } from '../../src/worker/http-transport.ts';
import { sqsTransport } from '../../src/worker/sqs-transport.ts';

const SECRET = 'a test secret of at least 32 bytes';
const SIGNING = { keys: { k: SECRET }, current: 'k' };

export interface TransportSet {
  /** Opens a new transport, by its name. */
  readonly transports: Readonly<Record<string, () => Promise<Transport>>>;
  readonly pushed: Pipeline<number, string>;
  close(): Promise<void>;
}

export function threeSteps(name: string): Pipeline<number, string> {
  return pipeline<number, string>({
    name,
    async run(ctx) {
      for (const step of ['one', 'two']) await ctx.step(step, () => step);
      return ctx.step('three', () => 'three');
    },
  });
}

export async function openTransportSet(store: CoordinatorStore): Promise<TransportSet> {
  const faux = await startFauxqs({ port: 0, host: '127.0.0.1', logger: false });
  const client = new SQSClient({
    endpoint: `http://127.0.0.1:${faux.port}`,
    ...{ region: 'us-east-1', useQueueUrlAsEndpoint: false },
    credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
  });
  const queue = (name: string): string => faux.createQueue(name).queueUrl;
  const requestQueueUrl = queue('requests');
  const pushed = threeSteps('pushed');
  const endpoint = await openEndpoint(handlerAnywhere({ pipelines: [pushed], signing: SIGNING }));
  const server = await openServer({
    ...{ store, port: 0, auth: 'off', grpc: { port: 0 } },
    sqs: {
      ...{ client, requestQueueUrl, poisonQueueUrl: queue('poison') },
      replyQueues: [`${requestQueueUrl.replace(/[^/]*$/, '')}*`],
      keys: { k: { secret: SECRET } },
    },
    push: {
      endpoints: [{ url: endpoint.url, pipelines: ['pushed'], capacity: 64 }],
      signing: SIGNING,
      allow: { hosts: ['127.0.0.1'], privateAddresses: true, http: true },
    },
  });
  const { url, grpcAddress: address = '' } = server;
  let queues = 0;
  return {
    pushed,
    transports: {
      'in-process': async () => server.transport(),
      REST: async () => httpTransport({ url, timers: systemTimers }),
      'gRPC, stream': () => grpcTransport({ address }),
      'gRPC, unary': () => grpcTransport({ address, mode: 'unary' }),
      SQS: () => {
        queues += 1;
        const replyQueueUrl = queue(`reply-${queues}`);
        return sqsTransport({ client, requestQueueUrl, replyQueueUrl, signing: SIGNING });
      },
    },
    async close() {
      await server.close();
      endpoint.close();
      client.destroy();
      await faux.stop();
    },
  };
}

/** An HTTP server on loopback. */
export async function openEndpoint(
  handler: (request: Request) => Promise<Response>,
  wanted = 0,
): Promise<{ readonly url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const result = await handler(
      new Request(`http://${request.headers.host}/`, { method: 'POST', body }),
    );
    response.writeHead(result.status);
    response.end(await result.text());
  });
  server.listen(wanted, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
