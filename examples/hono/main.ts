// A shop built with Hono takes orders and runs their steps, without a worker process: the coordinator calls the
// route /holdfast of the app for each execution.
//
//   npm run example examples/hono/main.ts

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { openServer } from 'holdfast/server';
import { openSqliteStore } from 'holdfast/store/sqlite';
import type { Hono } from 'hono';
import { Story } from '../leases/story.ts';
import { shopApp } from './app.ts';

const story = new Story();
const effects: string[] = [];
const secret = randomBytes(32).toString('base64');

await story.play('A Hono app as a push worker', async () => {
  // The app needs the coordinator's URL and the coordinator needs the app's, so the port comes first.
  let app: Hono | undefined;
  const listener = createServer(
    getRequestListener((request) => app?.fetch(request) ?? new Response(null, { status: 503 })),
  );
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;

  const store = await openSqliteStore({ file: join(story.folder, 'orders.db') });
  const server = await openServer({
    ...{ store, port: 0 },
    push: {
      endpoints: [{ url: `${url}/holdfast`, pipelines: ['order'], capacity: 10 }],
      signing: { keys: { k1: secret }, current: 'k1' },
      // In production: HTTPS, and hosts that are not private.
      allow: { hosts: ['127.0.0.1'], http: true, privateAddresses: true },
    },
  });
  const coordinator = { url: server.url, key: server.firstKey ?? '' };
  app = shopApp({ url, coordinator, secret, effects: (what) => effects.push(what) });
  story.print('coordinator', 'calls the app for pipeline order');

  const order = async (): Promise<string> => {
    const body = JSON.stringify({ id: '1', item: 'tent' });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/orders`, { method: 'POST', headers, body });
    return ((await response.json()) as { readonly id: string }).id;
  };
  const [first, second] = [await order(), await order()];
  story.print('customer', `clicks twice and gets ${first === second ? 'one order' : 'two orders'}`);
  const ended = await (await fetch(`${url}/orders/${first}`)).json();
  story.print('app', `the order ends with: ${JSON.stringify(ended)}`);
  story.print('shop', `effects: ${effects.join(', ')}`);
  story.mustBe(effects.join() === 'charge tent,ship tent', 'each step ran once');
  await server.close();
  await store.close();
  listener.close();
});
