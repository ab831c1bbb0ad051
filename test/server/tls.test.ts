// A coordinator with a certificate of a private authority: `holdfast serve`, the command line and a
// worker as processes, and refused connections.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect, type SecureVersion } from 'node:tls';
import { HoldfastClient } from '../../src/client/client.ts';
import { grpcTransport } from '../../src/worker/grpc-transport.ts';
import { holdfast, inFolder, startHoldfast } from '../cli/spawned.ts';
import { PRESENT_BUILD } from './build.ts';
import type { RestWorkerArgs } from './children/worker.ts';
import { TestCoordinator } from './coordinator.ts';

const FOLDER = join(import.meta.dirname, 'tls');
const CA = join(FOLDER, 'ca.pem');
const KEY_FILE = join(FOLDER, 'server-key.pem');
const CERT_FILE = join(FOLDER, 'server-cert.pem');
const SERVE = [
  ...['serve', '--port', '0', '--auth', 'off'],
  ...['--tls-key-file', KEY_FILE, '--tls-cert-file', CERT_FILE],
] as const;

const pems = Promise.all([readFile(KEY_FILE, 'utf8'), readFile(CERT_FILE, 'utf8')]);

test('server, command line and worker connect over TLS, each with its own authority', () =>
  inFolder(async (cwd, own) => {
    const server = own(startHoldfast(SERVE, { cwd }));
    const url = await server.url();
    assert.match(url, /^https:/);
    const env = { NODE_EXTRA_CA_CERTS: CA, HOLDFAST_URL: url };
    const args: RestWorkerArgs = {
      ...{ build: PRESENT_BUILD, urls: [url], owner: 'of-tls', ttlMs: 10_000 },
      effects: join(cwd, 'effects.jsonl'),
    };
    const entry = join(import.meta.dirname, 'children/worker.ts');
    const worker = spawn(process.execPath, [entry, JSON.stringify(args)], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      await Promise.race([once(worker.stdout, 'data'), once(worker, 'exit')]);
      assert.equal(worker.exitCode, null, 'the worker started');
      const words = ['submit', 'load', '7', '--wait', '--json'];
      const { code, out, problems } = await holdfast(words, { cwd, env });
      assert.equal(code, 0, `${out}${problems}`);
      assert.match(out, /"status":"completed"/);
    } finally {
      worker.kill('SIGTERM');
      await once(worker, 'exit');
    }
    const stranger = await holdfast(['list'], { cwd, env: { HOLDFAST_URL: url } });
    assert.notEqual(stranger.code, 0);
    assert.match(stranger.problems, /certificate is not trusted.*NODE_EXTRA_CA_CERTS/);
    const doctor = await holdfast(['doctor', '--port', '0'], { cwd, env: { HOLDFAST_URL: url } });
    assert.equal(doctor.code, 1, doctor.out);
    assert.match(doctor.out, /!! +coordinator .*\n[\s\S]*coordinator: .*NODE_EXTRA_CA_CERTS/);
    await assert.rejects(new HoldfastClient({ url }).executions.list(), {
      code: 'store-unavailable',
      message: /NODE_EXTRA_CA_CERTS/,
    });
  }));

test('TLS versions below the configured minimum are refused, below 1.2 by default', async () => {
  const [key, cert] = await pems;
  const ca = await readFile(CA);
  const agrees = async (url: string, version: SecureVersion): Promise<string | undefined> => {
    const { hostname, port } = new URL(url);
    const socket = connect({ port: Number(port), host: hostname, ca, maxVersion: version });
    const [protocol] = await Promise.race([
      once(socket, 'secureConnect').then(() => [socket.getProtocol() ?? undefined]),
      once(socket, 'close').then(() => [undefined]),
    ]).catch(() => [undefined]);
    socket.destroy();
    return protocol;
  };
  const grpc = { port: 0 };
  await using usual = await TestCoordinator.onMemory({ tls: { key, cert }, grpc });
  await using newest = await TestCoordinator.onMemory({
    ...{ tls: { key, cert, minVersion: 'TLSv1.3' }, grpc },
  });
  const placesOf = ({ url, server }: TestCoordinator): readonly string[] => [
    ...[url, `https://${server.grpcAddress}`],
  ];
  for (const url of placesOf(usual)) {
    assert.equal(await agrees(url, 'TLSv1.2'), 'TLSv1.2');
    assert.equal(await agrees(url, 'TLSv1.3'), 'TLSv1.3');
  }
  for (const url of placesOf(newest)) {
    assert.equal(await agrees(url, 'TLSv1.2'), undefined, url);
    assert.equal(await agrees(url, 'TLSv1.3'), 'TLSv1.3');
  }
});

test("a worker over gRPC trusts its coordinator's authority, and is answered", async () => {
  const [key, cert] = await pems;
  await using coordinator = await TestCoordinator.onMemory({
    ...{ tls: { key, cert }, grpc: { port: 0 } },
  });
  const { grpcAddress: address = '' } = coordinator.server;
  const access = await coordinator.key(['work'], 'default');
  for (const mode of ['stream', 'unary'] as const) {
    const ca = await readFile(CA, 'utf8');
    const transport = await grpcTransport({ address, key: access, ca, mode });
    const greeted = await transport.request<{ readonly project: string }>({
      kind: 'greet',
      body: {},
    });
    assert.equal(greeted.project, 'default');
    await transport.close();
  }
});

test('a connection without a TLS hello is cut off', async () => {
  const [key, cert] = await pems;
  await using coordinator = await TestCoordinator.onMemory({
    tls: { key, cert },
    grpc: { port: 0 },
    limits: { requestMs: 200 },
  });
  for (const place of [coordinator.url, `https://${coordinator.server.grpcAddress}`]) {
    const { hostname, port } = new URL(place);
    const socket = connectPlain(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.resume();
    await once(socket, 'close');
  }
});

test('the admin listener has its own address, port and certificate', async () => {
  const [key, cert] = await pems;
  // The whole of 127/8 is loopback on Linux only.
  const host = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1';
  await using coordinator = await TestCoordinator.onMemory({
    tls: { key, cert },
    admin: { host, port: 0 },
  });
  const { adminUrl = '' } = coordinator.server;
  assert.equal(new URL(adminUrl).protocol, 'https:');
  assert.equal(new URL(adminUrl).hostname, host);
  assert.notEqual(adminUrl, coordinator.url);
});
