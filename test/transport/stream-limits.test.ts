// A stream applies the admission rules of HTTP, and ends in every way that a connection can.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect, createServer as createTcp, type Socket } from 'node:net';
import { test } from 'node:test';
import { HoldfastClient } from '../../src/client/client.ts';
import { pipeline } from '../../src/engine/pipeline.ts';
import { parseProject } from '../../src/execution/names.ts';
import type { ExecutionReport } from '../../src/execution/report.ts';
import { readKey } from '../../src/features/access/model.ts';
import { WORK_VERSION } from '../../src/protocol/messages/envelope.ts';
import { StreamCaller } from '../../src/protocol/messages/stream-caller.ts';
import { openServer, type Server } from '../../src/server/serve.ts';
import type { ServerOptions } from '../../src/server/server-options.ts';
import type { CoordinatorStore } from '../../src/store/contract/execution-store.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { digestOf } from '../../src/support/digest.ts';
import { OutcomeUnknown } from '../../src/support/fault.ts';
import { systemTimers } from '../../src/support/timer.ts';
import { streamTransport } from '../../src/worker/connection.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { createKey } from './backend.ts';
import { closedBy, RawStream } from './raw-stream.ts';

interface Stand {
  readonly store: CoordinatorStore;
  readonly server: Server;
  readonly url: string;
  readonly key: string;
  [Symbol.asyncDispose](): Promise<void>;
}

async function stand(options: Partial<ServerOptions> = {}): Promise<Stand> {
  const { store = openMemoryStore() } = options;
  const key = await createKey(store, 'default', ['work', 'submit']);
  const server = await openServer({ port: 0, maintenance: false, ...options, store });
  return {
    ...{ store, server, url: server.url, key },
    async [Symbol.asyncDispose]() {
      await server.close();
      await store.close();
    },
  };
}

const greeting = (id: string): object => ({ v: WORK_VERSION, id, kind: 'greet', body: {} });

async function refusal(opened: Promise<RawStream>): Promise<string> {
  return opened.then(
    () => 'opened',
    (error: Error) => error.message,
  );
}

test('M-10: messages of one frame get their replies, each with its own id', async () => {
  await using at = await stand();
  const stream = await RawStream.open(at.url, at.key);
  stream.send([greeting('a'), { ...greeting('b'), kind: 'great' }, greeting('c')]);
  const replies = await stream.next();
  const codes = new Map(replies.map(({ id, problem }) => [id, problem?.code ?? 'ok']));
  assert.deepEqual(Object.fromEntries(codes), { a: 'ok', b: 'kind-unknown', c: 'ok' });
  stream.close();
});

test('M-4: an unknown key, a cookie and a foreign page open no stream', async () => {
  await using at = await stand();
  const unknown = `hf_${'a'.repeat(16)}_${'b'.repeat(43)}`;
  assert.match(await refusal(RawStream.open(at.url, unknown)), /401/);
  const cookie = { cookie: `holdfast_key=${at.key}`, 'sec-fetch-site': 'same-origin' };
  assert.match(await refusal(RawStream.open(at.url, undefined, cookie)), /401/);
  await using open = await stand({ auth: 'off' });
  const foreign = { origin: 'https://evil.example' };
  assert.match(await refusal(RawStream.open(open.url, undefined, foreign)), /403/);
  assert.equal(await refusal(RawStream.open(open.url, undefined)), 'opened');
});

test('M-34: the roles of the key decide about each message of a stream', async () => {
  await using at = await stand();
  const submitter = await createKey(at.store, 'default', ['submit']);
  const stream = await RawStream.open(at.url, submitter);
  const submit = { v: WORK_VERSION, id: 's', kind: 'submitExecution', body: { pipeline: 'p' } };
  stream.send([greeting('g')]);
  assert.equal((await stream.next())[0]?.problem?.code, 'role-missing');
  stream.send([submit]);
  assert.equal((await stream.next())[0]?.status, 202);
  stream.send([{ ...submit, id: 'l', kind: 'listExecutions', body: {} }]);
  assert.equal((await stream.next())[0]?.problem?.code, 'kind-unknown', 'not in a stream');
  stream.close();
});

test('M-34: a stream ends when its key is revoked', async () => {
  await using at = await stand();
  const stream = await RawStream.open(at.url, at.key);
  const id = readKey(at.key)?.id ?? '';
  await at.store.access.revokeKey({ id, inMs: 0 });
  assert.equal((await stream.closed)[0], 1008);
});

test('M-34: a frame that is no list of envelopes ends the stream', async () => {
  await using at = await stand();
  for (const frame of ['{}', '[]', 'no JSON', JSON.stringify(Array(1_001).fill({}))]) {
    const stream = await RawStream.open(at.url, at.key);
    stream.send(frame);
    assert.equal((await stream.closed)[0], 1007, frame.slice(0, 20));
  }
});

test('M-34: a frame above 1 MiB ends the stream, and nothing of it is done', async () => {
  await using at = await stand();
  const stream = await RawStream.open(at.url, at.key);
  const input = 'x'.repeat(1024 * 1024);
  const body = { pipeline: 'p', input };
  stream.send([{ v: WORK_VERSION, id: 's', kind: 'submitExecution', body }]);
  assert.equal((await stream.closed)[0], 1009);
  const client = new HoldfastClient({ url: at.url, key: at.key, stream: true });
  assert.deepEqual((await client.executions.list()).items, []);
});

test('M-34: a frame in too many parts ends the stream', async () => {
  await using at = await stand();
  const parts = [...JSON.stringify([greeting('a')])];
  const inParts = async (count: number): Promise<RawStream> => {
    const stream = await RawStream.open(at.url, at.key);
    for (const part of parts) stream.socket.send(part, { fin: false });
    for (let nth = parts.length; nth < count; nth += 1) {
      stream.socket.send('', { fin: nth === count - 1 });
    }
    return stream;
  };
  const allowed = await inParts(256);
  assert.equal((await allowed.next())[0]?.id, 'a');
  allowed.close();
  assert.equal(await closedBy(await inParts(257)), 1008);
});

test('M-34: a stream with too many pings ends, and a stream with few stays', async () => {
  await using at = await stand();
  const stream = await RawStream.open(at.url, at.key);
  for (let nth = 0; nth < 40; nth += 1) stream.socket.ping();
  stream.send([greeting('a')]);
  assert.equal((await stream.next())[0]?.id, 'a');
  for (let nth = 0; nth < 100; nth += 1) stream.socket.ping();
  assert.equal(await closedBy(stream), 1008);
});

test('M-34: nothing is read from a stream after a refused frame', async () => {
  await using at = await stand();
  const { below } = await RawStream.open(at.url, at.key);
  below.on('error', () => undefined);
  const closed = new Promise((resolve) => below.once('close', resolve));
  // A compressed frame, which the coordinator did not agree to.
  below.write(Buffer.from([0xc1, 0x80, 0, 0, 0, 0]));
  const chunk = Buffer.alloc(64 * 1024);
  let taken = 0;
  for (let nth = 0; nth < 2_000; nth += 1) {
    below.write(chunk, (error) => {
      if (error === undefined || error === null) taken += chunk.length;
    });
  }
  await closed;
  assert.ok(taken < 32 * 1024 * 1024, `${taken} bytes of ${2_000 * chunk.length}`);
});

test('M-34: messages of a stream count towards the rate limit of their key', async () => {
  await using at = await stand({ limits: { requestsPerMinute: 4 } });
  const stream = await RawStream.open(at.url, at.key);
  const codes: string[] = [];
  for (let nth = 0; nth < 5; nth += 1) {
    stream.send([greeting(String(nth))]);
    const [reply] = await stream.next();
    codes.push(reply?.problem?.code ?? 'ok');
  }
  assert.deepEqual(codes, ['ok', 'ok', 'ok', 'over-rate', 'over-rate']);
  stream.close();
});

test('M-37: a project has at most its part of the open streams, over all its keys', async () => {
  await using at = await stand({ limits: { openMax: 4 } });
  const keys = [at.key];
  for (let nth = 0; nth < 2; nth += 1) keys.push(await createKey(at.store, 'default', ['work']));
  keys.push(await createKey(at.store, 'other', ['work']));
  const found: string[] = [];
  for (const key of keys) found.push(await refusal(RawStream.open(at.url, key)));
  assert.deepEqual(
    found.map((each) => /\d{3}|opened/.exec(each)?.[0]),
    ['opened', 'opened', '429', 'opened'],
  );
});

const LARGE = 900 * 1024;

/** All but the last byte of a large frame. */
async function unfinished(url: string, key: string): Promise<RawStream> {
  const stream = await RawStream.open(url, key);
  const header = Buffer.alloc(14);
  header.writeUInt16BE(0x81ff, 0);
  header.writeUInt32BE(LARGE, 6);
  stream.below.write(Buffer.concat([header, Buffer.alloc(LARGE - 1, ' ')]));
  return stream;
}

test('M-37, P-18: large frames of a project wait before they are read, and those of others do not', async () => {
  await using at = await stand({ limits: { bodyBytesMax: 1024 * 1024 } });
  const first = await unfinished(at.url, at.key);
  const second = await unfinished(at.url, at.key);
  const healthy = await RawStream.open(at.url, await createKey(at.store, 'other', ['work']));
  const own = await RawStream.open(at.url, at.key);
  const large = { ...greeting('large'), body: { text: 'x'.repeat(LARGE) } };
  const served = async (): Promise<void> => {
    for (let nth = 0; nth < 3; nth += 1) {
      healthy.send([large]);
      assert.equal((await healthy.next())[0]?.id, 'large');
    }
  };
  // Meanwhile the coordinator reads the parts of both frames.
  await served();
  let isDone = false;
  own.send([large]);
  const done = own.next().then(([reply]) => {
    isDone = true;
    return reply?.id;
  });
  await served();
  assert.equal(isDone, false, 'it waits for room');
  first.below.destroy();
  assert.equal(await done, 'large');
  for (const each of [second, healthy, own]) each.close();
});

/** More than sockets buffer by themselves. */
const VALUE_BYTES = 2 ** 23;

test('M-37, P-18: values that a project does not read from its stream are not read from the store, and other projects get theirs', async () => {
  const plain = openMemoryStore();
  let reads = 0;
  const getBlob: typeof plain.executions.getBlob = (query) => {
    reads += 1;
    return plain.executions.getBlob(query);
  };
  const store = { ...plain, executions: { ...plain.executions, getBlob } };
  await using at = await stand({ store, limits: { bodyBytesMax: VALUE_BYTES } });
  const bytes = new Uint8Array(VALUE_BYTES - 1).fill(7);
  const digest = digestOf(bytes);
  const streams: RawStream[] = [];
  for (const project of ['own', 'other']) {
    const key = await createKey(store, project, ['work']);
    await store.executions.putBlob({ project: parseProject(project), digest, bytes });
    streams.push(await RawStream.open(at.url, key));
  }
  const [own, other] = streams as [RawStream, RawStream];
  const ask = (nth: number): object => ({
    ...{ v: WORK_VERSION, id: String(nth), kind: 'getBlob', body: { digest } },
  });
  own.socket.pause();
  own.send(Array.from({ length: 20 }, (_, nth) => ask(nth)));
  for (let nth = 0; nth < 5; nth += 1) {
    other.send([ask(nth)]);
    assert.equal((await other.next())[0]?.problem, undefined);
  }
  assert.ok(reads - 5 <= 4, `${reads - 5} values were read for a peer that reads nothing`);
  own.socket.resume();
  const ids = new Set<string>();
  while (ids.size < 20) for (const { id } of await own.next()) ids.add(id);
  assert.equal(reads, 25);
  for (const stream of streams) stream.close();
});

test('M-37: a peer whose large frame never ends is cut off', { timeout: 30_000 }, async () => {
  await using at = await stand({ limits: { requestMs: 300 } });
  await (await unfinished(at.url, at.key)).closed;
});

test('M-34: a peer that does not read is dropped', { timeout: 30_000 }, async () => {
  await using at = await stand({ limits: { requestMs: 300 } });
  const stream = await RawStream.open(at.url, at.key);
  const client = new HoldfastClient({ url: at.url, key: at.key, stream: true });
  const { id } = await client.executions.submit({ pipeline: 'p', input: 'x'.repeat(20_000) });
  const read = { v: WORK_VERSION, kind: 'readStoredExecution', body: { id } };
  const closed = new Promise((resolve) => stream.below.once('close', resolve));
  stream.socket.pause();
  // More than both kernels buffer.
  stream.send(Array.from({ length: 1_000 }, (_, nth) => ({ ...read, id: String(nth) })));
  // Only writing shows that the other side is gone.
  const probe = setInterval(() => stream.socket.ping(() => undefined), 50);
  await closed;
  clearInterval(probe);
});

test('M-2: the outcome of a write is unknown if the connection is cut before its reply', async () => {
  await using at = await stand();
  await using proxy = await cuttable(at.url);
  const transport = streamTransport({ url: proxy.url, key: at.key, timers: systemTimers });
  await transport.request({ kind: 'greet' });
  const held = transport.request({ kind: 'waitForWakeup', body: { waitMs: 20_000 } });
  const body = { id: crypto.randomUUID(), owner: 'ann', ttlMs: 60_000, graceMs: 1_000 };
  proxy.hold();
  const opened = transport.request({ kind: 'openSession', body });
  await proxy.sent();
  proxy.cut();
  await assert.rejects(opened, OutcomeUnknown);
  await assert.rejects(held, { code: 'store-unavailable' }, 'a read can be repeated');
  proxy.release();
  const again = await transport.request<{ readonly kind: string }>({ kind: 'openSession', body });
  assert.equal(again.kind, 'opened');
  await transport.close();
});

test('M-35: behind a proxy without upgrades, a worker reports that once and sends requests', async () => {
  await using at = await stand();
  await using proxy = await withoutUpgrade(at.url);
  const reports: ExecutionReport[] = [];
  const echo = pipeline({ name: 'echo', run: async (_, input: string) => input });
  const worker = await openWorker({
    ...{ url: proxy.url, key: at.key, stream: true, pipelines: [echo] },
    observer: { report: (report) => reports.push(report) },
  });
  const client = new HoldfastClient({ url: proxy.url, key: at.key, stream: true });
  for (const input of ['one', 'two', 'three']) {
    const { id } = await client.executions.submit({ pipeline: 'echo', input });
    assert.equal((await client.executions.result(id)).output, input);
  }
  await worker.stop();
  const troubles = reports.filter((each) => each.kind === 'trouble').map(({ code }) => code);
  assert.deepEqual(troubles, ['stream-refused']);
});

test('M-12: a worker and a client use a stream, and need no request after the greeting', async () => {
  await using at = await stand();
  await using proxy = await cuttable(at.url);
  const echo = pipeline({
    name: 'echo',
    run: (ctx, input: string) => ctx.step('say', () => input),
  });
  const worker = await openWorker({ url: proxy.url, key: at.key, stream: true, pipelines: [echo] });
  const client = new HoldfastClient({ url: at.url, key: at.key, stream: true });
  for (const input of ['one', 'two', 'three']) {
    const { id } = await client.executions.submit({ pipeline: 'echo', input });
    assert.equal((await client.executions.result(id)).output, input);
  }
  assert.equal(proxy.connections(), 2, 'one for the greeting, one for the stream');
  await worker.stop();
});

test('M-34: a coordinator that closes ends its streams after the replies in progress', async () => {
  const at = await stand();
  const stream = await RawStream.open(at.url, at.key);
  const wait = { v: WORK_VERSION, id: 'w', kind: 'waitForWakeup', body: { waitMs: 20_000 } };
  stream.send([greeting('g'), wait]);
  assert.equal((await stream.next())[0]?.id, 'g');
  await at.server.close();
  assert.deepEqual(
    (await stream.next()).map(({ id }) => id),
    ['w'],
  );
  assert.equal((await stream.closed)[0], 1001);
  await at.store.close();
});

test('M-5: a request for another upgrade is an ordinary request', async () => {
  await using at = await stand();
  const outgoing = request(`${at.url}/v1/stream`, {
    headers: { authorization: `Bearer ${at.key}`, connection: 'Upgrade', upgrade: 'h2c' },
  });
  outgoing.end();
  const [response] = await once(outgoing, 'response');
  assert.equal(response.statusCode, 426);
  response.resume();
});

// Proxies between a worker and its coordinator.

interface Cuttable {
  readonly url: string;
  connections(): number;
  /** Lets no bytes of the coordinator through. */
  hold(): void;
  release(): void;
  /** Resolves when the worker has sent something since `hold`. */
  sent(): Promise<void>;
  cut(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

async function cuttable(url: string): Promise<Cuttable> {
  const target = Number(new URL(url).port);
  const sockets = new Set<Socket>();
  let count = 0;
  let isHeld = false;
  let onSent: () => void = () => undefined;
  let sent: Promise<void> = Promise.resolve();
  const server = createTcp((near) => {
    count += 1;
    const far = connect(target, '127.0.0.1');
    for (const each of [near, far]) {
      sockets.add(each);
      each.on('error', () => undefined);
      each.on('close', () => {
        near.destroy();
        far.destroy();
        sockets.delete(each);
      });
    }
    near.on('data', (part) => {
      far.write(part);
      onSent();
    });
    far.on('data', (part) => {
      if (!isHeld) near.write(part);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => count,
    hold() {
      isHeld = true;
      sent = new Promise((resolve) => {
        onSent = resolve;
      });
    },
    release() {
      isHeld = false;
    },
    sent: () => sent,
    cut() {
      for (const each of sockets) each.destroy();
    },
    async [Symbol.asyncDispose]() {
      for (const each of sockets) each.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Forwards requests, and drops the headers of an upgrade, as many proxies do. */
async function withoutUpgrade(
  url: string,
): Promise<{ readonly url: string; [Symbol.asyncDispose](): Promise<void> }> {
  const server = createServer((incoming, reply) => {
    const { connection: _, upgrade: __, ...headers } = incoming.headers;
    const outgoing = request(`${url}${incoming.url}`, { method: incoming.method, headers });
    outgoing.on('response', (response) => {
      reply.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(reply);
    });
    outgoing.on('error', () => reply.destroy());
    reply.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

test('a stream of a client that sends nothing is closed, and its next message opens another', async () => {
  await using at = await stand();
  const pauses: (() => void)[] = [];
  const pause = (): Promise<void> => new Promise((resolve) => pauses.push(resolve));
  const caller = new StreamCaller({
    ...{ urls: [at.url], headers: { authorization: `Bearer ${at.key}` }, timers: systemTimers },
    ...{ keepsProcess: false, idleTimers: { pause } },
  });
  const passed = async (): Promise<void> => {
    pauses.shift()?.();
    await new Promise<void>((resolve) => systemTimers.soon(resolve));
  };
  const greet = { kind: 'greet', body: {}, isRead: true };
  await caller.open();
  assert.ok((await caller.request(greet))?.body);
  await passed();
  assert.ok((await caller.request(greet))?.body, 'it was in use');
  await passed();
  await passed();
  assert.equal(caller.request(greet), undefined, 'it is closed');
  await caller.open();
  assert.ok((await caller.request(greet))?.body);
  caller.close();
});
