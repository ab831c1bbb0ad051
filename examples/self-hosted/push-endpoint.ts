// The restaurant's pipeline behind a push endpoint, in its own process.

import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { pushHandler } from 'holdfast/worker/push';
import { Shop } from '../executions/order.ts';
import { mealPipeline } from '../executions/restaurant.ts';
import { ordered, sendReport } from '../leases/child-process.ts';

export interface EndpointOrder {
  readonly shopFile: string;
  readonly port: number;
  readonly url: string;
  readonly secret: string;
  readonly coordinator: { readonly url: string; readonly key: string };
}

const APPROVAL_MS = 20_000;

const { shopFile, port, url, secret, coordinator } = await ordered<EndpointOrder>();
const handler = pushHandler({
  pipelines: [mealPipeline(new Shop(shopFile), APPROVAL_MS)],
  signing: { keys: { k1: secret }, current: 'k1' },
  audience: url,
  coordinator,
});

async function answer(request: IncomingMessage): Promise<Response> {
  return handler(new Request(url, { method: 'POST', body: await text(request) }));
}

createServer(async (request, response) => {
  const reply = await answer(request);
  response.writeHead(reply.status);
  response.end(await reply.text());
}).listen(port, '127.0.0.1', () => void sendReport({ kind: 'ready' }));
