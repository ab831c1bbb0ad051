// The restaurant over push: the coordinator calls an HTTP endpoint for each order. The endpoint is killed while
// the restaurant decides, and a new one continues with the answer.
//
//   npm run example examples/self-hosted/restaurant-push.ts

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { HoldfastClient } from 'holdfast/client';
import { openServer } from 'holdfast/server';
import { openSqliteStore } from 'holdfast/store/sqlite';
import { Shop } from '../executions/order.ts';
import { Story } from '../leases/story.ts';

const ENDPOINT = join(import.meta.dirname, 'push-endpoint.ts');
const story = new Story();
const shopFile = join(story.folder, 'shop.jsonl');
const shop = new Shop(shopFile);
const secret = randomBytes(32).toString('base64');

/** Both endpoints use this port, one after the other. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

async function questionOf(client: HoldfastClient, execution: string): Promise<string> {
  for (;;) {
    const { items } = await client.awaits.list({ execution, open: true });
    if (items[0] !== undefined) return items[0].id;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** An endpoint checks the answer. The coordinator finds the new one with its next probe. */
async function approve(client: HoldfastClient, asked: string): Promise<void> {
  for (;;) {
    const error = await client.awaits.answer(asked, { accepted: true }).then(
      () => undefined,
      (thrown: { readonly code?: string }) => thrown,
    );
    if (error === undefined) return;
    if (error.code !== 'no-worker') throw error;
  }
}

await story.play('A restaurant over push', async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/holdfast`;
  const store = await openSqliteStore({ file: join(story.folder, 'meals.db') });
  const server = await openServer({
    ...{ store, port: 0 },
    push: {
      endpoints: [{ url, pipelines: ['meal'], capacity: 5 }],
      signing: { keys: { k1: secret }, current: 'k1' },
      allow: { hosts: ['127.0.0.1'], http: true, privateAddresses: true },
      ...{ circuit: { cooldownMs: 500 }, probeMs: 1_000 },
    },
  });
  const coordinator = { url: server.url, key: server.firstKey ?? '' };
  const client = new HoldfastClient(coordinator);
  const start = (name: string) =>
    story.start(ENDPOINT, name, { shopFile, port, url, secret, coordinator });
  const first = start('endpoint-1');
  await first.waitFor('ready');
  const meal = { dish: 'soup', guest: 'ann' };
  const { id } = await client.executions.submit({ pipeline: 'meal', input: meal });
  const asked = await questionOf(client, id);
  story.print('endpoint-1', 'charged ann, and asks the restaurant');
  await first.kill();
  story.print('system', 'SIGKILL: endpoint-1');
  const second = start('endpoint-2');
  await second.waitFor('ready');
  await approve(client, asked);
  story.print('restaurant', 'approves the soup');
  const { status, output } = await client.executions.result(id);
  story.print('endpoint-2', `continues; the order is ${status}: ${String(output)}`);
  story.print('shop', `effects: ${shop.effects.join(', ')}`);
  story.mustBe(shop.effects.join() === 'charge ann,dispatch soup', 'one charge, one meal');
  await second.kill();
  await server.close();
  await store.close();
});
