// Restate: its server, a service and a client. The service and the client share this process.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createServer } from 'node:http2';
import { createRequire } from 'node:module';
import { createServer as createTcpServer } from 'node:net';
import { dirname, join } from 'node:path';
import { createEndpointHandler, RestatePromise, service } from '@restatedev/restate-sdk';
import { ASLEEP_MS, inFlight, pause } from './subject-tools.mjs';

const WIDTH = 64;

export async function open({ folder }) {
  const [ingress, admin, node, own] = await freePorts(4);
  const server = spawn(serverProgram(), ['--no-logo'], {
    stdio: ['ignore', 'ignore', 'ignore'],
    env: {
      ...process.env,
      RESTATE_BASE_DIR: folder,
      RESTATE_BIND_IP: '127.0.0.1',
      RESTATE_LISTEN_MODE: 'tcp',
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_DISABLE_TELEMETRY: 'true',
      DO_NOT_TRACK: '1',
      RUST_LOG: 'warn',
    },
  });
  process.once('exit', () => server.kill('SIGKILL'));
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const call = (port, path, body) => post({ port, path, body, agent });
  for (let tries = 0; tries < 300; tries += 1) {
    const isUp = await call(admin, '/health', undefined).then(
      () => true,
      () => false,
    );
    if (isUp) break;
    await pause(100);
  }
  let began = () => undefined;
  let asked = () => undefined;
  let woke = () => undefined;
  let done = 0;
  const handlers = {
    one: async (ctx, nth) => {
      const out = await ctx.run('s1', async () => nth);
      done += 1;
      return out;
    },
    three: async (ctx, nth) => {
      const first = await ctx.run('s1', async () => nth + 1);
      const second = await ctx.run('s2', async () => first + 1);
      const third = await ctx.run('s3', async () => second + 1);
      done += 1;
      return third;
    },
    ping: async () => began(),
    waits: async (ctx) => {
      const { id, promise } = ctx.awakeable();
      asked(id);
      await promise;
      woke();
    },
    parent: async (ctx, children) => {
      const bench = ctx.serviceClient({ name: 'bench' });
      const calls = Array.from({ length: children }, (_, nth) => bench.one(nth));
      return (await RestatePromise.all(calls)).length;
    },
  };
  const endpoint = createServer(
    createEndpointHandler({ services: [service({ name: 'bench', handlers })] }),
  );
  endpoint.listen(own, '127.0.0.1');
  let sent = 0;
  const later = [];
  return {
    settings: `one node, ${WIDTH} requests in flight; work begins when it is sent, so drained counts from the first send`,
    async submitMany(shape, count) {
      later.push(() => inFlight(count, WIDTH, (nth) => call(ingress, `/bench/${shape}/send`, nth)));
      sent += count;
    },
    async work() {
      await call(admin, '/deployments', { uri: `http://127.0.0.1:${own}`, force: true });
    },
    async finished() {
      for (const send of later) await send();
      while (done < sent) await pause(2);
    },
    run: (shape) => call(ingress, `/bench/${shape}`, 1),
    pickupMs: () =>
      new Promise((resolve, reject) => {
        const sentAt = performance.now();
        began = () => resolve(performance.now() - sentAt);
        call(ingress, '/bench/ping/send', 1).catch(reject);
      }),
    async wakeMs() {
      const id = await new Promise((resolve, reject) => {
        asked = resolve;
        call(ingress, '/bench/waits/send', 1).catch(reject);
      });
      await pause(ASLEEP_MS);
      const awake = new Promise((resolve) => {
        woke = resolve;
      });
      const sentAt = performance.now();
      await call(ingress, `/restate/awakeables/${id}/resolve`, 1);
      await awake;
      return performance.now() - sentAt;
    },
    fanOut: (children) => call(ingress, '/bench/parent', children),
    async close() {
      const ended = once(server, 'exit');
      server.kill('SIGTERM');
      await ended;
      agent.destroy();
      endpoint.close();
    },
  };
}

function serverProgram() {
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  const require = createRequire(import.meta.url);
  return join(dirname(require.resolve(`${name}/package.json`)), 'bin/restate-server');
}

async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createTcpServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((each) => once(each, 'listening')));
  const ports = servers.map((each) => each.address().port);
  await Promise.all(servers.map((each) => new Promise((resolve) => each.close(resolve))));
  return ports;
}

function post({ port, path, body, agent }) {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const outgoing = request(
      {
        ...{ host: '127.0.0.1', port, path, agent },
        method: text === undefined ? 'GET' : 'POST',
        headers: text === undefined ? {} : { 'content-type': 'application/json' },
      },
      (response) => {
        let reply = '';
        response.on('data', (part) => {
          reply += part;
        });
        response.on('end', () =>
          response.statusCode < 300
            ? resolve(reply)
            : reject(new Error(`${path} returned ${response.statusCode}: ${reply}`)),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(text);
  });
}
