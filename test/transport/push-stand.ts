// A coordinator that calls one endpoint on loopback, in which a handler is mounted one way or another.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { Holdfast } from '../../src/index.ts';
import { openServer, type PushOptions } from '../../src/server/serve.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import type { PushHandler } from '../../src/worker/push-handler.ts';

export const SIGNING = { keys: { k: 'k'.repeat(32) }, current: 'k' };

export type Mount = (handler: PushHandler) => Promise<Server>;

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function called(
  handler: PushHandler,
  { headers, url = '/' }: Pick<IncomingMessage, 'headers' | 'url'>,
  body: string,
): Promise<Response> {
  return handler(new Request(`http://${headers.host}${url}`, { method: 'POST', body }));
}

const plain: Mount = async (handler) =>
  createServer((async (request, response) => {
    const answer = await called(handler, request, await textOf(request));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(await answer.text());
  }) as RequestListener);

export const MOUNTS: Readonly<Record<string, Mount>> = {
  'node:http': plain,
  async Express(handler) {
    const app = express();
    app.use(express.text({ limit: '32mb' }));
    app.post('/', async (request, response) => {
      const answer = await called(handler, request, request.body as string);
      response.status(answer.status).send(await answer.text());
    });
    return createServer(app);
  },
  async Fastify(handler) {
    const app = fastify();
    app.post('/', async (request, reply) => {
      const answer = await called(handler, request.raw, request.body as string);
      return reply.code(answer.status).send(await answer.text());
    });
    await app.ready();
    return app.server;
  },
};

/** `own` is called with what there is to do; that it has it is said by the other. */
export function whenDriven(other: PushHandler, own: PushHandler): PushHandler {
  return async (request) => {
    const body = await request.text();
    const again = new Request(request.url, { method: 'POST', body });
    return body.includes('"kind":"probe"') ? other(again) : own(again);
  };
}

export interface Mounted {
  readonly url: string;
  close(): void;
}

export async function mounted(handler: PushHandler, mount: Mount = plain): Promise<Mounted> {
  const endpoint = await mount(handler);
  endpoint.listen(0, '127.0.0.1');
  await once(endpoint, 'listening');
  const { port } = endpoint.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    close() {
      endpoint.closeAllConnections();
      endpoint.close();
    },
  };
}

export const ALLOW = { hosts: ['127.0.0.1'], privateAddresses: true, plain: true };

export interface EndpointStand {
  readonly store: CoordinatorStore;
  readonly holdfast: Holdfast;
  /** Of the coordinator. */
  readonly url: string;
}

export async function onEndpoint(
  given: {
    readonly handler: PushHandler;
    readonly mount?: Mount;
    readonly pipelines: readonly string[];
    readonly circuit?: PushOptions['circuit'];
    readonly probeMs?: number;
    readonly capacity?: number;
    /** Before there is a coordinator. */
    readonly first?: (store: CoordinatorStore) => Promise<void>;
  },
  play: (stand: EndpointStand) => Promise<void>,
): Promise<void> {
  const { handler, mount = plain, pipelines, circuit, probeMs, capacity = 10 } = given;
  const endpoint = await mounted(handler, mount);
  const store = openMemoryStore();
  await given.first?.(store);
  const server = await openServer({
    ...{ store, port: 0, tends: false },
    push: {
      endpoints: [{ url: endpoint.url, pipelines, capacity }],
      signing: SIGNING,
      allow: ALLOW,
      ...(circuit === undefined ? {} : { circuit }),
      ...(probeMs === undefined ? {} : { probeMs }),
    },
  });
  const holdfast = new Holdfast({ store });
  try {
    await play({ store, holdfast, url: server.url });
  } finally {
    await holdfast.close();
    await server.close();
    await store.close();
    endpoint.close();
  }
}
