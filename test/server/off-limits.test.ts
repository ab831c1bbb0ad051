// Requests that a coordinator without keys, or a caller without one, must not get through.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { TestCoordinator } from './coordinator.ts';

test('without keys every listener is on loopback: the API, admin and gRPC', async () => {
  const beyond = { host: '0.0.0.0', port: 0 };
  for (const given of [beyond, { admin: beyond }, { grpc: beyond }]) {
    await assert.rejects(
      TestCoordinator.onMemory({ auth: 'off', ...given }).then(async (opened) => {
        await opened[Symbol.asyncDispose]();
      }),
      /listens only on loopback, and 0\.0\.0\.0 is not/,
      JSON.stringify(given),
    );
  }
});

/** The response to a page with this host name, however it got the address of this machine. */
async function replyAs(host: string, url: string, path: string): Promise<readonly unknown[]> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
  const [received] = await once(socket.setEncoding('utf8'), 'data');
  socket.destroy();
  return [String(received).slice(9, 12), /"code":"([^"]*)"/.exec(String(received))?.[1]];
}

test('without keys, requests under another host name are refused and learn nothing', async () => {
  await using coordinator = await TestCoordinator.onMemory({ auth: 'off', admin: { port: 0 } });
  const { url, adminUrl = '' } = coordinator.server;
  const paths = ['/', '/console', '/console/', '/healthz', '/metrics', '/v1/executions', '/nope'];
  for (const path of [...paths, '/v1/projects']) {
    for (const each of [url, adminUrl]) {
      const outcome = await replyAs('rebound.example', each, path);
      assert.deepEqual(outcome, ['403', 'foreign-host'], `${path} at ${each}`);
    }
  }
  assert.deepEqual(await replyAs('localhost', url, '/'), ['302', undefined]);
});

test('without keys, a page of another local port changes nothing', async () => {
  await using coordinator = await TestCoordinator.onMemory({ auth: 'off' });
  const { host } = new URL(coordinator.url);
  const code = async (origin: string): Promise<unknown> => {
    const path = `${coordinator.url}/v1/executions/x/cancel`;
    const response = await fetch(path, { method: 'POST', headers: { origin } });
    return ((await response.json()) as { code: string }).code;
  };
  for (const origin of [
    'http://127.0.0.1:1',
    'http://localhost:1',
    'http://evil.example',
    'null',
  ]) {
    assert.equal(await code(origin), 'foreign-host', origin);
  }
  assert.notEqual(await code(`http://${host}`), 'foreign-host');
});

/** The head of its response, though all but one byte of the announced body is missing. */
async function replyBeforeBody(url: string, path: string, length: number): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n[`,
  );
  const [received] = await once(socket.setEncoding('utf8'), 'data');
  socket.destroy();
  return String(received);
}

test('unknown routes, and admin routes that are off, are refused before a body is read, and count', async () => {
  const limits = { requestsPerMinute: 3 };
  await using coordinator = await TestCoordinator.onMemory({ limits, admin: 'off' });
  const received: string[] = [];
  for (const path of ['/v1/nope', '/v1/keys', '/nope', '/v1/nope']) {
    received.push(await replyBeforeBody(coordinator.url, path, 30 * 2 ** 20));
  }
  assert.deepEqual(
    received.map((each) => [each.slice(9, 12), /"code":"([^"]*)"/.exec(each)?.[1]]),
    [
      ['404', 'route-unknown'],
      ['404', 'admin-off'],
      ['404', 'route-unknown'],
      ['429', 'over-rate'],
    ],
  );
});

test('bodies without a key or without a value are limited to a small size', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const key = await coordinator.key(['submit', 'operate', 'admin', 'work']);
  const send = async (path: string, bytes: number): Promise<number> => {
    const response = await fetch(`${coordinator.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ pipeline: 'nobody', input: 'x'.repeat(bytes) }),
    });
    await response.text();
    return response.status;
  };
  assert.equal(await send('/v1/answers/x', 2 ** 16), 413);
  assert.equal(await send('/v1/keys', 2 ** 20), 413);
  assert.equal(await send('/v1/executions', 2 ** 21), 202);
});
