// A claim that the server has done, and whose answer was lost with the connection.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import {
  claiming,
  claimOnce,
  heldOf,
  mustFinish,
  mustRead,
  mustSubmit,
  worker,
} from '../../contract/execution/worker.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { Fault, OutcomeUnknown } from '../../src/support/fault.ts';
import { postgresForTests } from '../services/postgres.ts';

interface Proxy {
  readonly url: string;
  /** Messages of the server no longer arrive; those to the server do. */
  mute(): void;
  /** Cuts connections, and new ones as soon as they open. */
  cut(): void;
  restore(): void;
  close(): Promise<void>;
}

async function proxyFor(url: string): Promise<Proxy> {
  const target = new URL(url);
  let state: 'open' | 'mute' | 'cut' = 'open';
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    client.on('data', (data) => upstream.write(data));
    upstream.on('data', (data) => {
      if (state === 'open') client.write(data);
    });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    if (state === 'cut') client.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const via = new URL(url);
  via.hostname = '127.0.0.1';
  via.port = String((server.address() as AddressInfo).port);
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: via.href,
    mute() {
      state = 'mute';
    },
    cut() {
      state = 'cut';
      cutAll();
    },
    restore() {
      state = 'open';
    },
    async close() {
      cutAll();
      server.close();
      await once(server, 'close');
    },
  };
}

test('X-25: executions claimed over a connection that broke are returned to their session’s next claim', {}, async (t) => {
  const { url, release } = await postgresForTests();
  const proxy = await proxyFor(url);
  const direct = await openPostgresStore({ url });
  const store = await openPostgresStore({ url: proxy.url });
  t.after(async () => {
    await store.close();
    await direct.close();
    await proxy.close();
    await release();
  });
  const ann = await worker(store);
  const known = await mustSubmit(direct);
  const before = await claimOnce(store, claiming(ann));
  assert.deepEqual(
    before.claims.map(({ execution }) => execution.id),
    [known],
  );
  const id = await mustSubmit(direct);
  proxy.mute();
  const lost = assert.rejects(store.executions.claim(claiming(ann)), OutcomeUnknown);
  while ((await mustRead(direct, id)).status !== 'running') {
    // The server does it without waiting for us.
  }
  proxy.cut();
  await lost;
  await assert.rejects(store.executions.claim(claiming(ann)), Fault);
  proxy.restore();
  const { claims } = await claimOnce(store, claiming(ann));
  assert.deepEqual(
    claims.map(({ execution, previous }) => [execution.id, previous]),
    [[id, 'none']],
  );
  assert.deepEqual((await claimOnce(store, claiming(ann))).claims, []);
  for (const claimed of [...before.claims, ...claims]) {
    await mustFinish(store, heldOf(claimed, ann));
  }
});
