// Ways to mount a handler at /holdfast. The ways in the guide use the guide's lines.

import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { Readable } from 'node:stream';
import express from 'express';
import fastify from 'fastify';
import type { PushHandler } from '../../src/worker/push-handler.ts';

export type Mount = (handler: PushHandler) => Promise<Server>;

/** With the original URL, and the raw body. */
function requestOf(incoming: IncomingMessage, origin = `http://${incoming.headers.host}`): Request {
  return new Request(new URL(incoming.url ?? '/', origin), {
    method: incoming.method ?? 'GET',
    headers: Object.entries(incoming.headers).map(([name, value]) => [name, `${value}`]),
    ...(incoming.method === 'POST' && { body: Readable.toWeb(incoming) as ReadableStream }),
    duplex: 'half',
  });
}

function served(answerTo: (incoming: IncomingMessage) => Promise<Response>): Server {
  return createServer((async (incoming, response) => {
    const answer = await answerTo(incoming);
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  }) as RequestListener);
}

export const plain: Mount = async (handler) => served((incoming) => handler(requestOf(incoming)));

/** `app/holdfast/route.ts` of Next: found by its exports, and called with its parameters. */
interface Route {
  POST(request: Request, context: { readonly params: Promise<object> }): Promise<Response>;
}

/**
 * The URL of a request has the host of the server at its start, whatever the header Host contains.
 */
const next: Mount = async (handler) => {
  const route: Route = { POST: handler };
  return served(async (incoming) => {
    const called = requestOf(incoming, 'http://localhost:3000');
    const isKnown = called.method === 'POST' && new URL(called.url).pathname === '/holdfast';
    if (!isKnown) return new Response(null, { status: 405 });
    return route.POST(called, { params: Promise.resolve({}) });
  });
};

async function inExpress(handler: PushHandler): Promise<Server> {
  const called = (body: string) => handler(new Request('http://here/', { method: 'POST', body }));
  const app = express();
  app.post('/holdfast', express.text({ limit: '32mb' }), async (request, response) => {
    const answer = await called(request.body);
    response.status(answer.status).send(await answer.text());
  });
  return createServer(app);
}

async function inFastify(handler: PushHandler): Promise<Server> {
  const called = (body: string) => handler(new Request('http://here/', { method: 'POST', body }));
  const other = fastify({ bodyLimit: 32 * 1024 * 1024 });
  other.post<{ Body: string }>('/holdfast', async (request, reply) => {
    const answer = await called(request.body);
    return reply.code(answer.status).send(await answer.text());
  });
  await other.ready();
  return other.server;
}

/** Each with a handler that has its `audience`. */
export const MOUNTS: Readonly<Record<string, Mount>> = {
  'node:http': plain,
  'a route of Next': next,
  Express: inExpress,
  Fastify: inFastify,
};
