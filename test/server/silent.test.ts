import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { HoldfastClient } from '../../src/client/client.ts';
import { pipeline } from '../../src/index.ts';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { httpTransport } from '../../src/worker/http-transport.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { freePort } from '../services/free-port.ts';
import { clientOf } from './fixture.ts';

const TTL_MS = 3_000;

test('P4: workers leave a silent coordinator, as after a power loss, before they lose their executions', async () => {
  const store = openMemoryStore();
  const server = await openServer({ store, auth: 'off', port: 0 });
  const way = await Way.to(Number(new URL(server.url).port));
  const held = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<void>();
  const some = pipeline({
    name: 'some',
    run: (ctx, input: string) =>
      ctx.step('one', () => {
        if (input !== 'held') return input;
        begun.resolve();
        return held.promise;
      }),
  });
  const worker = await openWorker({ url: [way.url, server.url], pipelines: [some], ttlMs: TTL_MS });
  const { session } = worker;
  const { executions } = clientOf(server.url);
  const first = await executions.submit({ pipeline: 'some', input: 'held' });
  await begun.promise;
  way.isSilent = true;
  const second = await executions.submit({ pipeline: 'some', input: 'next' });
  assert.equal((await executions.result(second.id)).output, 'next');
  held.resolve('done');
  assert.equal((await executions.result(first.id)).output, 'done');
  assert.equal(worker.session, session);
  const claims = (await executions.history(first.id)).filter(({ kind }) => kind === 'claimed');
  assert.equal(claims.length, 1);
  await worker.stop();
  way.close();
  await server.close();
  await store.close();
});

test('a client leaves a coordinator that is gone, and repeats only what had no effect', async () => {
  const store = openMemoryStore();
  const [first, second] = [
    await openServer({ store, auth: 'off', port: 0 }),
    await openServer({ store, auth: 'off', port: 0 }),
  ];
  const gone = `http://127.0.0.1:${await freePort()}`;
  const client = new HoldfastClient({ url: [gone, `${first.url}/`, second.url], stream: false });
  // Nothing listens at the first URL, so the submit was not sent there.
  const { id } = await client.executions.submit({ pipeline: 'some', key: 'k' });
  assert.equal((await client.executions.read(id)).status, 'queued');
  await first.close();
  assert.equal((await client.executions.read(id)).status, 'queued');
  // This one takes a request and breaks the connection, so the effect of a write is not known.
  const breaks = createHttpServer((request) => request.socket.destroy());
  await once(breaks.listen(0, '127.0.0.1'), 'listening');
  const { port } = breaks.address() as AddressInfo;
  const broken = `http://127.0.0.1:${port}`;
  const careful = new HoldfastClient({ url: [broken, second.url], stream: false });
  const again = () => careful.executions.submit({ pipeline: 'some', key: 'k' });
  await assert.rejects(again(), { name: 'OutcomeUnknown' });
  assert.deepEqual(await again().then(({ existing }) => existing), true);
  const reader = new HoldfastClient({ url: [broken, second.url], stream: false });
  assert.equal((await reader.executions.read(id)).status, 'queued');
  const lost = new HoldfastClient({ url: [gone, broken], stream: false });
  await assert.rejects(lost.executions.read(id), { name: 'StoreUnavailable' });
  breaks.close();
  await second.close();
  await store.close();
});

test('requests that fail together make a worker leave its coordinator once', async () => {
  const store = openMemoryStore();
  const server = await openServer({ store, auth: 'off', port: 0 });
  const gone = `http://127.0.0.1:${await freePort()}`;
  const transport = httpTransport({ url: [gone, server.url], timers: systemTimers });
  const message = { kind: 'greet' } as const;
  const all = Array.from({ length: 20 }, () =>
    transport.request<{ readonly project: string }>(message),
  );
  for (const { project } of await Promise.all(all)) assert.equal(project, 'default');
  await server.close();
  await store.close();
});

test('a worker leaves a coordinator that falls silent after its headers, when the time is over', {
  timeout: 60_000,
}, async () => {
  const store = openMemoryStore();
  const server = await openServer({ store, auth: 'off', port: 0 });
  const half = createHttpServer((_, answer) => {
    answer.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 });
    answer.write('{');
  });
  half.listen(0, '127.0.0.1');
  await once(half, 'listening');
  const first = `http://127.0.0.1:${(half.address() as AddressInfo).port}`;
  const transport = httpTransport({ url: [first, server.url], timers: systemTimers });
  const message = { kind: 'greet', timeoutMs: 300 } as const;
  const { project } = await transport.request<{ readonly project: string }>(message);
  assert.equal(project, 'default');
  half.closeAllConnections();
  half.close();
  await server.close();
  await store.close();
});

test('a client gives up a silent coordinator when its time is over, and reports what is unknown', {
  timeout: 60_000,
}, async () => {
  const store = openMemoryStore();
  const server = await openServer({ store, auth: 'off', port: 0 });
  const way = await Way.to(Number(new URL(server.url).port));
  for (const stream of [false, true]) {
    const { executions } = new HoldfastClient({ url: way.url, timeoutMs: 300, stream });
    way.isSilent = false;
    const { id } = await executions.submit({ pipeline: 'some', input: 1 });
    await executions.submit({ pipeline: 'some', input: 2 });
    way.isSilent = true;
    await assert.rejects(executions.submit({ pipeline: 'some', input: 3 }), {
      code: 'outcome-unknown',
    });
    await assert.rejects(executions.read(id), { code: 'store-unavailable' });
  }
  way.close();
  await server.close();
  await store.close();
});

/** The network between a worker and a coordinator. */
class Way {
  isSilent = false;
  readonly #server: ReturnType<typeof createServer>;
  readonly #sockets: Socket[] = [];

  private constructor(port: number) {
    this.#server = createServer((from) => {
      const to = connect(port, '127.0.0.1');
      this.#sockets.push(from, to);
      this.#join(from, to);
      this.#join(to, from);
    });
  }

  static async to(port: number): Promise<Way> {
    const way = new Way(port);
    way.#server.listen(0, '127.0.0.1');
    await once(way.#server, 'listening');
    return way;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(from: Socket, to: Socket): void {
    from.on('data', (bytes) => {
      if (!this.isSilent) to.write(bytes);
    });
    from.on('error', () => undefined);
    from.on('end', () => {
      if (!this.isSilent) to.end();
    });
  }
}

const TLS = join(import.meta.dirname, 'tls');
const secured = async () => ({
  key: await readFile(join(TLS, 'server-key.pem'), 'utf8'),
  cert: await readFile(join(TLS, 'server-cert.pem'), 'utf8'),
});

for (const how of ['plain', 'TLS'] as const) {
  test(`an unused connection (${how}) does not delay closing`, {
    timeout: 60_000,
  }, async () => {
    const store = openMemoryStore();
    // Nothing is closed by force, since time stands still for the closing server.
    const timers = {
      ...systemTimers,
      pause: (_: number, signal?: AbortSignal) =>
        new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve())),
    };
    const tls = how === 'TLS' ? { tls: await secured() } : {};
    const server = await openServer({
      ...{ store, auth: 'off', port: 0, maintenance: false, timers, ...tls },
    });
    const place = { port: Number(new URL(server.url).port), host: '127.0.0.1' };
    const open = (): Socket =>
      how === 'TLS' ? connectTls({ ...place, rejectUnauthorized: false }) : connect(place);
    const socket = open();
    await once(socket, how === 'TLS' ? 'secureConnect' : 'connect');
    // The server has accepted it by then, since it answers a later request.
    const other = open();
    other.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(other, 'data');
    const closed = once(socket.resume(), 'close');
    await server.close();
    await closed;
    await store.close();
  });
}

for (const how of ['plain', 'TLS'] as const) {
  for (const protocol of ['h2c', 'websocket']) {
    test(`a request (${how}) with "Upgrade: ${protocol}" is answered, and its connection closes`, {
      timeout: 60_000,
    }, async () => {
      const store = openMemoryStore();
      const tls = how === 'TLS' ? { tls: await secured() } : {};
      const admin = { port: 0 };
      const server = await openServer({
        ...{ store, auth: 'off', port: 0, maintenance: false, admin, grpc: { port: 0 }, ...tls },
      });
      const { adminUrl = '', grpcAddress = '' } = server;
      const ports = [server.url, adminUrl, `http://${grpcAddress}`].map((url) => new URL(url).port);
      const sockets = ports.map((port) => {
        const place = { port: Number(port), host: '127.0.0.1' };
        const socket =
          how === 'TLS' ? connectTls({ ...place, rejectUnauthorized: false }) : connect(place);
        // gRPC answers HTTP/1 with a reset.
        return socket.on('error', () => undefined);
      });
      const lines = await Promise.all(
        sockets.map(async (socket, n) => {
          const connection = `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}`;
          socket.write(`GET /healthz HTTP/1.1\r\nHost: localhost\r\n${connection}\r\n\r\n`);
          if (n === 2) return new Promise((resolve) => socket.resume().once('close', resolve));
          const [data] = await once(socket, 'data');
          return String(data).split('\r\n')[0];
        }),
      );
      assert.deepEqual(lines.slice(0, 2), ['HTTP/1.1 200 OK', 'HTTP/1.1 200 OK']);
      await server.close();
      for (const socket of sockets) socket.destroy();
      await store.close();
    });
  }
}
