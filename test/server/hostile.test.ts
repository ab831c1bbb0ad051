// Hostile clients, on real sockets: the coordinator cuts them off or refuses them, and answers
// honest clients.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { newKey, writeKey } from '../../src/features/access/model.ts';
import type { AccessStore } from '../../src/features/access/port.ts';
import { pipeline } from '../../src/index.ts';
import type { ExecutionStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { digestOf } from '../../src/support/digest.ts';
import { TestCoordinator, until } from './coordinator.ts';

/** Short limits, so that slow clients reach them soon. */
const LIMITS = { requestMs: 1_000 } as const;

async function connected(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Everything that the client received until the server closed the connection. */
async function untilClosed(socket: Socket): Promise<string> {
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
  // Not `once` of events, which would treat a reset as a failure.
  await new Promise((resolve) => socket.once('close', resolve));
  return received;
}

/** Sends one drop after the other for as long as the server accepts them. */
function dribble(socket: Socket, drop: string): void {
  const timer = setInterval(() => socket.write(drop), 20);
  socket.once('close', () => clearInterval(timer));
}

async function isAnswered(coordinator: TestCoordinator): Promise<void> {
  const client = await coordinator.client(['submit'], 'default');
  const { id } = await client.executions.submit({ pipeline: 'nobody' });
  assert.equal((await client.executions.read(id)).status, 'queued');
}

test('slow headers, slow bodies and silent connections are cut off, and others are answered', async () => {
  await using coordinator = await TestCoordinator.onMemory({ limits: LIMITS });
  const key = await coordinator.key(['submit'], 'default');
  const slow = await connected(coordinator.url);
  slow.write('POST /v1/executions HTTP/1.1\r\nhost: x\r\n');
  dribble(slow, 'x-drop: 1\r\n');
  const slowBody = await connected(coordinator.url);
  slowBody.write(
    `POST /v1/executions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n`,
  );
  dribble(slowBody, ' ');
  const dribbling = [untilClosed(slow), untilClosed(slowBody)];
  const silent = Array.from({ length: 50 }, () => connected(coordinator.url).then(untilClosed));
  await isAnswered(coordinator);
  for (const received of await Promise.all(silent)) assert.match(received, /^HTTP\/1\.1 408 /);
  // A client that keeps sending may be reset before it has read the reason.
  for (const received of await Promise.all(dribbling))
    assert.match(received, /^(HTTP\/1\.1 408 |$)/);
});

test('a caller without a key is refused before its body is read', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const socket = await connected(coordinator.url);
  socket.write(
    'POST /v1/executions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{',
  );
  const [received] = await once(socket.setEncoding('utf8'), 'data');
  assert.match(String(received), /^HTTP\/1\.1 401 /);
  socket.destroy();
});

/** Sends chunks of one byte until the server closes the connection. Returns the bytes it took. */
async function sendTinyChunks(
  url: string,
  head: string,
): Promise<{ received: string; sent: number }> {
  const socket = await connected(url);
  const chunks = '1\r\n \r\n'.repeat(10_000);
  socket.write(`${head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`);
  const pump = (): void => {
    while (!socket.destroyed && socket.write(chunks));
  };
  socket.on('drain', pump);
  pump();
  const received = await untilClosed(socket);
  return { received, sent: socket.bytesWritten - socket.writableLength };
}

test('a body of tiny chunks is read only while its request is admitted, and then not to its end', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const key = await coordinator.key(['submit'], 'default');
  const heads = {
    unknown: 'POST /nowhere HTTP/1.1\r\nhost: x\r\n',
    keyless: 'POST /v1/executions HTTP/1.1\r\nhost: x\r\n',
    admitted: `POST /v1/executions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`,
    unread: `GET /v1/executions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n`,
  };
  for (const [name, head] of Object.entries(heads)) {
    const { received, sent } = await sendTinyChunks(coordinator.url, head);
    // A client that keeps sending may be reset before it has read the reason.
    assert.match(received, /^(HTTP\/1\.1 (200|400|401|404) |$)/, name);
    // Sockets buffer a few MiB by themselves.
    assert.ok(sent < 12 * 2 ** 20, `${name}: the server took ${sent} bytes`);
  }
});

test('a body in chunks without a declared length is read', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const key = await coordinator.key(['submit'], 'default');
  const body = JSON.stringify({ pipeline: 'unserved', input: 'x'.repeat(200_000) });
  const chunks = body.match(/.{1,4000}/g) ?? [];
  for (const pieces of [chunks, [...'{"pipeline":"unserved"}']]) {
    const response = await fetch(`${coordinator.url}/v1/executions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: ReadableStream.from(pieces.map((piece) => new TextEncoder().encode(piece))),
      duplex: 'half',
    } as RequestInit);
    assert.equal(response.status, 202, await response.text());
  }
});

/** Sockets that ask for a path and read nothing of the response. */
function neglect(url: string, { path, key }: { path: string; key: string }): Promise<Socket[]> {
  return Promise.all(
    Array.from({ length: 10 }, async () => {
      const socket = await connected(url);
      socket.pause();
      socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n\r\n`);
      return socket;
    }),
  );
}

/** More than sockets buffer by themselves. */
const NEGLECTED_BYTES = 2 ** 23;

test('values that a project does not read are not read from the store, and other projects get theirs', async () => {
  const plain = openMemoryStore();
  let reads = 0;
  const getBlob: ExecutionStore['getBlob'] = (digest) => {
    reads += 1;
    return plain.executions.getBlob(digest);
  };
  const store = { ...plain, executions: { ...plain.executions, getBlob } };
  const limits = { bodyBytesMax: NEGLECTED_BYTES };
  await using coordinator = await TestCoordinator.open({ store, limits });
  const bytes = new Uint8Array(NEGLECTED_BYTES - 1).fill(7);
  const path = `/v1/work/blobs/${digestOf(bytes)}`;
  const [own = '', others = ''] = await Promise.all(
    ['default', 'other'].map((project) => coordinator.key(['work'], project)),
  );
  for (const key of [own, others]) {
    const stored = await fetch(`${coordinator.url}${path}`, {
      ...{ method: 'PUT', body: bytes },
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/octet-stream' },
    });
    assert.ok(stored.ok, await stored.text());
  }
  reads = 0;
  const sockets = await neglect(coordinator.url, { path, key: own });
  const download = async (key: string): Promise<number> => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${coordinator.url}${path}`, { headers });
    return (await response.arrayBuffer()).byteLength;
  };
  for (let nth = 0; nth < 5; nth += 1) assert.equal(await download(others), bytes.length);
  assert.ok(reads - 5 <= 4, `${reads - 5} values were read for callers that read nothing`);
  for (const socket of sockets) socket.destroy();
  assert.equal(await download(own), bytes.length);
});

test('large responses that a project does not read are bounded', async () => {
  const limits = { bodyBytesMax: NEGLECTED_BYTES };
  await using coordinator = await TestCoordinator.onMemory({ limits });
  const key = await coordinator.key(['submit', 'operate'], 'default');
  const client = await coordinator.client(['submit', 'operate'], 'default');
  const input = 'x'.repeat(NEGLECTED_BYTES - 1_000);
  const { id } = await client.executions.submit({ pipeline: 'unserved', input });
  const sockets = await neglect(coordinator.url, { path: `/v1/executions/${id}`, key });
  const replies: unknown[] = [];
  for (let nth = 0; nth < 5; nth += 1) {
    replies.push(await client.executions.read(id).then(() => 'read', codeOf));
  }
  assert.ok(replies.includes('too-many-open'), replies.join());
  for (const socket of sockets) socket.destroy();
  await until(async () => client.executions.read(id).catch(() => undefined));
});

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown }).code;
}

const STEPS = 16;
const RESULT_MIB = 8;

/** More than sockets buffer by themselves. */
const talkative = pipeline({
  name: 'talkative',
  async run(ctx) {
    for (let nth = 0; nth < STEPS; nth += 1)
      await ctx.step(`say-${nth}`, () => 'x'.repeat(2 ** 20));
    return 'x'.repeat(RESULT_MIB * 2 ** 20);
  },
});

test('a client that does not read its stream or large response is cut off, and no more is read for it', async () => {
  const plain = openMemoryStore();
  let read = 0;
  const getBlob: ExecutionStore['getBlob'] = (digest) => {
    read += 1;
    return plain.executions.getBlob(digest);
  };
  const store = { ...plain, executions: { ...plain.executions, getBlob } };
  await using coordinator = await TestCoordinator.open({ store, limits: { requestMs: 2_000 } });
  const worker = await coordinator.worker([talkative]);
  const client = await coordinator.client(['submit'], 'default');
  const { id } = await client.executions.submit({ pipeline: 'talkative' });
  await client.executions.result(id);
  await worker.stop();
  const key = await coordinator.key(['submit', 'operate'], 'default');
  const authorization = `Bearer ${key}`;
  const neglected = async (path: string): Promise<Socket> => {
    const socket = await connected(coordinator.url);
    socket.pause();
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n\r\n`);
    return socket;
  };
  read = 0;
  const streams = [1, 2, 3].map(() => neglected(`/v1/executions/${id}/events`));
  const large = [1, 2, 3].map(() => neglected(`/v1/executions/${id}/result`));
  const sockets = await Promise.all([...streams, ...large]);
  await isAnswered(coordinator);
  // A silent client that connects later is cut off later.
  for (let nth = 0; nth < 3; nth += 1) await untilClosed(await connected(coordinator.url));
  assert.ok(read < 3 * (STEPS + 1), `${read} values were read, as if all had been taken`);
  const received = await Promise.all(sockets.map((socket) => untilClosed(socket.resume())));
  const isComplete = received.map(
    ({ length }, nth) => length >= (nth < 3 ? STEPS : RESULT_MIB) * 2 ** 20,
  );
  assert.deepEqual(isComplete, Array(6).fill(false), 'each was cut off before its end');
});

test('an idle stream is not cut off', async () => {
  await using coordinator = await TestCoordinator.open({ limits: LIMITS });
  const client = await coordinator.client(['submit'], 'default');
  const { id } = await client.executions.submit({ pipeline: 'nobody' });
  const seen: string[] = [];
  const watching = (async () => {
    for await (const { kind } of client.executions.watch(id)) seen.push(kind);
  })();
  // Two silent connections are cut off meanwhile, so the limit has passed for the stream too.
  await untilClosed(await connected(coordinator.url));
  await untilClosed(await connected(coordinator.url));
  await client.executions.cancel(id);
  await watching;
  assert.equal(seen.at(-1), 'cancelled');
});

test('a key above its rate gets 429 with a retry time; other keys are answered, also from the same address', async () => {
  await using coordinator = await TestCoordinator.onMemory({ limits: { requestsPerMinute: 20 } });
  const key = await coordinator.key(['submit'], 'default');
  const ask = (authorization: string): Promise<Response> =>
    fetch(`${coordinator.url}/v1/executions`, { headers: { authorization } });
  const answers: Response[] = [];
  for (let nth = 0; nth < 25; nth += 1) answers.push(await ask(`Bearer ${key}`));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [...Array(20).fill(200), ...Array(5).fill(429)],
  );
  const last = answers.at(-1) as Response;
  assert.ok(Number(last.headers.get('retry-after')) > 0);
  assert.equal(((await last.json()) as { code: string }).code, 'over-rate');
  const other = await coordinator.key(['submit'], 'default');
  assert.equal((await ask(`Bearer ${other}`)).status, 200);
});

test("denied requests count towards a key's rate like allowed ones", async () => {
  await using coordinator = await TestCoordinator.onMemory({ limits: { requestsPerMinute: 5 } });
  const asked = async (key: string, project: string): Promise<readonly number[]> => {
    const headers = { authorization: `Bearer ${key}`, 'holdfast-project': project };
    const all: number[] = [];
    for (let nth = 0; nth < 7; nth += 1) {
      all.push((await fetch(`${coordinator.url}/v1/executions`, { headers })).status);
    }
    return all;
  };
  const five = (status: number): readonly number[] => [...Array(5).fill(status), 429, 429];
  const wrongRole = await coordinator.key(['work'], 'default');
  assert.deepEqual(await asked(wrongRole, 'default'), five(403));
  const wrongProject = await coordinator.key(['submit'], 'default');
  assert.deepEqual(await asked(wrongProject, 'other'), five(403));
  assert.deepEqual(await asked(await coordinator.key(['submit']), 'unknown'), five(404));
});

test("requests with a key's id and a wrong secret do not use up that key's rate", async () => {
  const limits = { requestsPerMinute: 10, wrongKeysPerMinute: 1_000 };
  await using coordinator = await TestCoordinator.onMemory({ limits });
  const key = await coordinator.key(['submit'], 'default');
  const wrong = key.slice(0, -3).concat('AAA');
  const ask = async (presented: string): Promise<number> => {
    const headers = { authorization: `Bearer ${presented}` };
    return (await fetch(`${coordinator.url}/v1/executions`, { headers })).status;
  };
  for (let nth = 0; nth < 50; nth += 1) assert.equal(await ask(wrong), 401);
  assert.equal(await ask(key), 200);
});

/** Counts the lookups. */
function countedStore(): { readonly store: ReturnType<typeof openMemoryStore>; reads(): number } {
  const plain = openMemoryStore();
  let reads = 0;
  const key: AccessStore['key'] = (id) => {
    reads += 1;
    return plain.access.key(id);
  };
  return { store: { ...plain, access: { ...plain.access, key } }, reads: () => reads };
}

function madeUp(): string {
  const { id, secret } = newKey();
  return `Bearer ${writeKey({ id, secret })}`;
}

test('further wrong keys of one address get 429, and valid ones pass from there at once', async () => {
  const limits = { wrongKeysPerMinute: 30 };
  const given = { limits, trustProxy: '127.0.0.1' };
  await using coordinator = await TestCoordinator.onMemory(given);
  const unseen = `Bearer ${await coordinator.key(['submit'], 'default')}`;
  const ask = async (authorization: string, from = '203.0.113.1'): Promise<Response> =>
    fetch(`${coordinator.url}/v1/executions`, {
      headers: { authorization, 'x-forwarded-for': from },
    });
  const statuses: number[] = [];
  for (let nth = 0; nth < 60; nth += 1) statuses.push((await ask(madeUp())).status);
  assert.deepEqual(statuses, [...Array(30).fill(401), ...Array(30).fill(429)]);
  assert.ok(Number((await ask(madeUp())).headers.get('retry-after')) > 0);
  assert.equal((await ask(unseen)).status, 200);
  assert.equal((await ask(madeUp(), '203.0.113.2')).status, 401, 'another address is another one');
});

test('a request without a key is not a guess, and the holder of a revoked key can sign out', async () => {
  const limits = { wrongKeysPerMinute: 5 };
  const { store, reads } = countedStore();
  await using coordinator = await TestCoordinator.open({ store, limits });
  const url = `${coordinator.url}/v1/executions`;
  for (let nth = 0; nth < 20; nth += 1) assert.equal((await fetch(url)).status, 401);
  assert.equal(reads(), 0);
  const key = await coordinator.key(['submit'], 'default');
  assert.equal((await fetch(url, { headers: { authorization: `Bearer ${key}` } })).status, 200);
  const cookie = `holdfast-key=${madeUp().slice('Bearer '.length)}`;
  for (let nth = 0; nth < 20; nth += 1) await fetch(url, { headers: { cookie } });
  const signOut = (headers: Record<string, string>) =>
    fetch(`${coordinator.url}/v1/sign-out`, { method: 'POST', headers: { cookie, ...headers } });
  const out = await signOut({ 'holdfast-console': '1' });
  assert.equal(out.status, 204);
  assert.match(out.headers.get('set-cookie') ?? '', /^holdfast-key=; Max-Age=0/);
  assert.equal((await signOut({})).status, 403, 'but a page of another site cannot sign it out');
});

test('without a trusted proxy, a caller cannot choose its address', async () => {
  const limits = { wrongKeysPerMinute: 5 };
  for (const trustProxy of [false, '192.0.2.1']) {
    await using coordinator = await TestCoordinator.onMemory({ limits, trustProxy });
    const statuses: number[] = [];
    for (let nth = 0; nth < 7; nth += 1) {
      const headers = { authorization: madeUp(), 'x-forwarded-for': `203.0.113.${nth}` };
      statuses.push((await fetch(`${coordinator.url}/v1/executions`, { headers })).status);
    }
    assert.deepEqual(statuses, [...Array(5).fill(401), 429, 429], String(trustProxy));
  }
});

test('open requests are limited by key, project and coordinator, and connections are limited too', async () => {
  const limits = { openMax: 3, connectionsMax: 20 };
  await using coordinator = await TestCoordinator.onMemory({ limits });
  const client = await coordinator.client(['submit'], 'default');
  const { id } = await client.executions.submit({ pipeline: 'nobody' });
  const leaving = new AbortController();
  // A response that is garbage-collected closes its stream.
  const opened: Response[] = [];
  const open = async (project: string, key?: string, { signal } = leaving) => {
    const opener = key ?? (await coordinator.key(['submit'], project));
    const headers = { authorization: `Bearer ${opener}` };
    const path = project === 'default' ? `/v1/executions/${id}/events` : '/v1/events';
    const response = await fetch(`${coordinator.url}${path}`, { headers, signal });
    opened.push(response);
    return response;
  };
  const refusal = async (response: Response): Promise<string> => {
    const { status, headers } = response;
    assert.deepEqual([status, headers.get('retry-after')], [429, '1']);
    return ((await response.json()) as { readonly detail: string }).detail;
  };
  const key = await coordinator.key(['submit'], 'default');
  assert.equal((await open('default', key)).status, 200);
  assert.match(
    await refusal(await open('default', key)),
    /^Key \S+ holds 1 requests and streams open here/,
  );
  assert.equal((await open('default')).status, 200, 'one key does not take all');
  assert.match(await refusal(await open('default')), /^Project "default" holds 2 requests/);
  assert.equal((await open('b')).status, 200, 'all keys of one project do not take all');
  assert.match(
    await refusal(await open('c')),
    /^This coordinator holds 3 requests and streams open/,
  );
  const sockets = Array.from({ length: 40 }, () => {
    const { hostname, port } = new URL(coordinator.url);
    return connect(Number(port), hostname).on('error', () => undefined);
  });
  const closed = sockets.map((socket) => untilClosed(socket));
  await Promise.race(closed);
  assert.equal(
    (await client.executions.read(id)).status,
    'queued',
    'an open connection is answered',
  );
  leaving.abort();
  for (const socket of sockets) socket.destroy();
  const last = new AbortController();
  const again = await until(async () => {
    const response = await open('default', undefined, last).catch(() => undefined);
    return response?.status === 200 ? response : undefined;
  });
  assert.equal(again.status, 200);
  last.abort();
});

test('a connection that pipelines many requests is closed, and few of them are handled', async () => {
  await using coordinator = await TestCoordinator.onMemory();
  const request = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n';
  const answersTo = async (requests: number): Promise<number> => {
    const socket = await connected(coordinator.url);
    const last =
      requests > 16 ? '' : 'GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
    socket.write(request.repeat(requests - (last === '' ? 0 : 1)) + last);
    return (await untilClosed(socket)).split('HTTP/1.1 200').length - 1;
  };
  assert.equal(await answersTo(16), 16);
  assert.ok((await answersTo(1_000)) <= 16);
  await isAnswered(coordinator);
});
