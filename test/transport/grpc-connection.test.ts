// The connection of a gRPC client while its coordinator is away, and when the network falls silent.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import type { Transport } from '../../src/protocol/messages/envelope.ts';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { grpcTransport } from '../../src/worker/grpc-transport.ts';
import { startProxy } from '../services/proxy.ts';

const MODES = ['stream', 'unary'] as const;

for (const mode of MODES) {
  test(`a client over gRPC, ${mode}, tries to connect every half second while its coordinator is away`, async () => {
    let tries = 0;
    const away = createServer((socket) => {
      tries += 1;
      socket.destroy();
    });
    away.listen(0, '127.0.0.1');
    await once(away, 'listening');
    const { port } = away.address() as AddressInfo;
    const transport = await grpcTransport({ address: `127.0.0.1:${port}`, mode });
    // With the defaults of gRPC, the eighth try comes after a minute.
    const until = performance.now() + 20_000;
    while (tries < 8 && performance.now() < until) {
      await assert.rejects(transport.request({ kind: 'greet', timeoutMs: 500 }));
    }
    assert.equal(tries, 8);
    await transport.close();
    away.close();
  });
}

test('clients over gRPC replace a connection that has fallen silent', async () => {
  const behind = openMemoryStore();
  const options = { port: 0, grpc: { port: 0 }, auth: 'off', console: false } as const;
  const server = await openServer({ store: behind, ...options });
  const proxy = await startProxy(Number(new URL(`http://${server.grpcAddress}`).port));
  const address = `127.0.0.1:${proxy.port}`;
  const transports = await Promise.all(MODES.map((mode) => grpcTransport({ address, mode })));
  for (const transport of transports) await transport.request({ kind: 'greet' });
  proxy.silence();
  const until = performance.now() + 40_000;
  const isBack = async (transport: Transport): Promise<boolean> => {
    while (performance.now() < until) {
      const greeted = transport.request({ kind: 'greet', timeoutMs: 1_000 });
      const hello = await greeted.catch(() => undefined);
      if (hello !== undefined) return true;
    }
    return false;
  };
  assert.deepEqual(await Promise.all(transports.map(isBack)), [true, true]);
  for (const transport of transports) await transport.close();
  await proxy.close();
  await server.close();
  await behind.close();
});
