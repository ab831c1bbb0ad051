// gRPC applies the admission rules of HTTP.

import assert from 'node:assert/strict';
import { type EventEmitter, once } from 'node:events';
import { connect, constants } from 'node:http2';
import { connect as connectTo } from 'node:net';
import { test } from 'node:test';
import { parseProject } from '../../src/execution/names.ts';
import { newKey, writeKey } from '../../src/features/access/model.ts';
import type { AccessStore } from '../../src/features/access/port.ts';
import { WORK_VERSION } from '../../src/protocol/messages/envelope.ts';
import { WORK_SERVICE } from '../../src/protocol/messages/grpc-service.ts';
import { openServer, type Server } from '../../src/server/serve.ts';
import type { HttpLimits } from '../../src/server/server-options.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { digestOf } from '../../src/support/digest.ts';
import { createKey } from './backend.ts';
import { stockClient, type WireFrame, wireOf } from './stock-grpc.ts';

interface Stand {
  readonly server: Server;
  readonly address: string;
  readonly key: string;
  /** Another key of the same project. */
  readonly ownKey: () => Promise<string>;
  /** A key of another project. */
  readonly otherKey: () => Promise<string>;
  readonly notify: () => Promise<unknown>;
  reads(): number;
  /** Lookups of keys wait from now on, until the returned function is called. */
  holdLookups(): () => void;
  valuesRead(): number;
  /** Stores a value in both projects, and returns its digest. */
  put(bytes: Uint8Array): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

async function stand(limits: Partial<HttpLimits>): Promise<Stand> {
  const plain = openMemoryStore();
  let reads = 0;
  let held = Promise.resolve();
  const look: AccessStore['key'] = async (id) => {
    reads += 1;
    await held;
    return plain.access.key(id);
  };
  let valuesRead = 0;
  const getBlob: typeof plain.executions.getBlob = (query) => {
    valuesRead += 1;
    return plain.executions.getBlob(query);
  };
  const store = {
    ...{ ...plain, access: { ...plain.access, key: look } },
    executions: { ...plain.executions, getBlob },
  };
  const key = await createKey(store, 'default');
  const server = await openServer({
    store,
    port: 0,
    maintenance: false,
    grpc: { port: 0 },
    limits,
  });
  const submitter = server.firstKey ?? '';
  return {
    ...{ server, key, address: server.grpcAddress ?? '', reads: () => reads },
    holdLookups() {
      let release: () => void = () => undefined;
      held = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    },
    valuesRead: () => valuesRead,
    async put(bytes) {
      const digest = digestOf(bytes);
      for (const project of ['default', 'other'].map(parseProject)) {
        await store.executions.putBlob({ project, digest, bytes });
      }
      return digest;
    },
    ownKey: () => createKey(store, 'default'),
    otherKey: () => createKey(store, 'other'),
    notify: () =>
      fetch(`${server.url}/v1/executions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${submitter}`, 'content-type': 'application/json' },
        body: JSON.stringify({ pipeline: 'nobody' }),
      }),
    async [Symbol.asyncDispose]() {
      await server.close();
      await plain.close();
    },
  };
}

function madeUp(): string {
  const { id, secret } = newKey();
  return writeKey({ id, secret });
}

const GREETING = { v: WORK_VERSION, id: 'one', kind: 'greet', body: {} };

async function codeOf(address: string, key: string): Promise<string> {
  const client = stockClient(address, key);
  const { problem } = await client.ask(GREETING);
  client.close();
  return problem?.code ?? 'ok';
}

test('M-10: wrong keys over gRPC count like those over HTTP, and together with them', async () => {
  await using at = await stand({ wrongKeysPerMinute: 3 });
  assert.equal(await codeOf(at.address, at.key), 'ok');
  const codes: string[] = [];
  for (let nth = 0; nth < 3; nth += 1) codes.push(await codeOf(at.address, madeUp()));
  assert.deepEqual(codes, Array(3).fill('key-required'));
  assert.equal(await codeOf(at.address, madeUp()), 'over-rate');
  const headers = { authorization: `Bearer ${madeUp()}` };
  assert.equal((await fetch(`${at.server.url}/v1/caller`, { headers })).status, 429);
  assert.equal(await codeOf(at.address, at.key), 'ok', 'a valid key passes');
});

test('M-10: a key has its rate limit over gRPC too', async () => {
  await using at = await stand({ requestsPerMinute: 4 });
  const codes: string[] = [];
  for (let nth = 0; nth < 6; nth += 1) codes.push(await codeOf(at.address, at.key));
  assert.deepEqual(codes, [...Array(4).fill('ok'), 'over-rate', 'over-rate']);
});

test('M-10: a message without a valid key is not read', async () => {
  await using at = await stand({});
  const read = WORK_SERVICE.Call.requestDeserialize;
  const client = stockClient(at.address, madeUp());
  const long = { ...GREETING, body: { text: 'x'.repeat(2 ** 17) } };
  const { id, problem } = await client.ask(long);
  client.close();
  assert.deepEqual([id, problem?.code], ['', 'key-required'], 'not even for its id');
  const wire = WORK_SERVICE.Call.requestSerialize(long);
  assert.deepEqual(read(wire), long, 'which it has');
});

/** More than the window of an HTTP/2 stream. */
const VALUE_BYTES = 2 ** 20;

for (const how of ['calls', 'a stream']) {
  test(`M-37, P-18: values that a project does not read from ${how} are not read from the store, and other projects get theirs`, async () => {
    await using at = await stand({ bodyBytesMax: VALUE_BYTES });
    const digest = await at.put(new Uint8Array(VALUE_BYTES - 1).fill(7));
    const ask = { v: WORK_VERSION, id: 'x', kind: 'getBlob', body: { digest } };
    const session = connect(`http://${at.address}`);
    // Nothing is read from the connection: its window stays closed.
    const headers = {
      ...{ ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' },
      authorization: `Bearer ${at.key}`,
    };
    const wire = WORK_SERVICE.Call.requestSerialize(ask);
    const frame = Buffer.concat([Buffer.alloc(5), wire]);
    frame.writeUInt32BE(wire.length, 1);
    const asked = Array.from({ length: 20 }, () => frame);
    if (how === 'calls') {
      for (const each of asked) {
        session.request({ ...headers, ':path': WORK_SERVICE.Call.path }).end(each);
      }
    } else {
      const stream = session.request({ ...headers, ':path': WORK_SERVICE.Stream.path });
      for (const each of asked) stream.write(each);
    }
    const other = stockClient(at.address, await at.otherKey());
    for (let nth = 0; nth < 5; nth += 1) {
      const { bytes } = await other.ask(ask);
      assert.equal(bytes?.length, VALUE_BYTES - 1);
    }
    other.close();
    assert.ok(at.valuesRead() - 5 <= 4, `${at.valuesRead() - 5} values were read in vain`);
    session.destroy();
    const own = stockClient(at.address, await at.ownKey());
    assert.equal((await own.ask(ask)).bytes?.length, VALUE_BYTES - 1, 'the room is free again');
    own.close();
  });
}

test('M-37: a gRPC peer that does not read a reply is cut off', { timeout: 30_000 }, async () => {
  await using at = await stand({ bodyBytesMax: VALUE_BYTES, requestMs: 300 });
  const digest = await at.put(new Uint8Array(VALUE_BYTES - 1).fill(7));
  const session = connect(`http://${at.address}`);
  session.on('error', () => undefined);
  const stream = session.request({
    ...{ ':method': 'POST', ':path': WORK_SERVICE.Stream.path },
    ...{ 'content-type': 'application/grpc', te: 'trailers' },
    authorization: `Bearer ${at.key}`,
  });
  stream.on('error', () => undefined);
  const wire = WORK_SERVICE.Call.requestSerialize({
    ...{ v: WORK_VERSION, id: 'x', kind: 'getBlob', body: { digest } },
  });
  const frame = Buffer.concat([Buffer.alloc(5), wire]);
  frame.writeUInt32BE(wire.length, 1);
  stream.write(frame);
  await once(session, 'close');
});

test('M-33: a message with too many names and values is refused, with its id', async () => {
  const jsonValuesMax = 70_000;
  await using own = await stand({ jsonValuesMax });
  const client = stockClient(own.address, own.key);
  const writes = Array.from({ length: jsonValuesMax }, () => 1);
  const { id, problem } = await client.ask({ ...GREETING, kind: 'writeAsOwner', body: { writes } });
  client.close();
  assert.equal(id, 'one');
  assert.equal(problem?.code, 'payload-too-large');
});

test('M-11: a stream with an unknown key is refused and ended, and gets no wakeups', async () => {
  await using at = await stand({});
  const client = stockClient(at.address, madeUp());
  const stream = client.openStream();
  const frames: WireFrame[] = [];
  stream.on('data', (frame: WireFrame) => frames.push(frame));
  stream.on('error', () => undefined);
  const ended = once(stream, 'end');
  stream.write(wireOf(GREETING));
  await ended;
  assert.deepEqual(
    frames.map(({ reply }) => [reply?.id, reply?.problem?.code]),
    [['one', 'key-required']],
  );
  const silent = client.openStream().on('error', () => undefined);
  silent.resume();
  const before = at.reads();
  await at.notify();
  await once(silent, 'end');
  client.close();
  assert.ok(at.reads() - before <= 2, 'the submitter is looked up, and the stream once');
});

test('M-11: open streams count towards the limit, and ended ones do not', async () => {
  await using at = await stand({ openMax: 1 });
  const client = stockClient(at.address, at.key);
  const opened = async () => {
    const stream = client.openStream().on('error', () => undefined);
    const received = once(stream, 'data');
    stream.write(wireOf(GREETING));
    const [{ reply }] = (await received) as [WireFrame];
    return { stream, code: reply?.problem?.code ?? 'ok' };
  };
  const first = await opened();
  const second = await opened();
  assert.deepEqual([first.code, second.code], ['ok', 'too-many-open']);
  const headers = { authorization: `Bearer ${at.key}` };
  const wait = `${at.server.url}/v1/work/wakeup?waitMs=1`;
  assert.equal((await fetch(wait, { headers })).status, 429, 'together with HTTP');
  const ended = once(first.stream.resume(), 'end');
  first.stream.end();
  await ended;
  const third = await opened();
  assert.equal(third.code, 'ok');
  third.stream.end();
  client.close();
});

const MANY_BYTES = 8 * 1024 * 1024;

/** A message that never ends, from a client without a key by default. */
function drip(address: string, { path, key }: { readonly path: string; readonly key?: string }) {
  const session = connect(`http://${address}`);
  const closed = whenClosed(session);
  session.on('error', () => undefined);
  const stream = session.request({
    ...{ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' },
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  });
  stream.on('error', () => undefined);
  const answered = once(stream, 'response');
  // A test that waits for the end of the connection does not wait for this.
  answered.catch(() => undefined);
  const begins = Buffer.alloc(5);
  begins.writeUInt32BE(MANY_BYTES, 1);
  stream.write(begins);
  const sent = new Promise<void>((resolve) => {
    stream.write(Buffer.alloc(MANY_BYTES - 1), () => resolve());
  });
  return { session, closed, answered, sent, pending: () => stream.writableLength };
}

test('M-10: a message without a key is answered before it is read', async () => {
  await using at = await stand({});
  const { path } = WORK_SERVICE.Call;
  const { session, answered, pending } = drip(at.address, { path });
  await answered;
  assert.ok(pending() > MANY_BYTES / 2, 'most of it was not taken');
  session.destroy();
});

test('M-10: a caller that never ends its message is cut off: with a key after the request time, without one at once', async () => {
  await using at = await stand({ requestMs: 300 });
  const { Call, Stream } = WORK_SERVICE;
  for (const target of [
    { path: Call.path, key: at.key },
    { path: Stream.path, key: at.key },
    { path: Stream.path },
  ]) {
    await drip(at.address, target).closed;
  }
  const silent = connectTo(Number(at.address.split(':')[1]), '127.0.0.1');
  await whenClosed(silent);
});

test('M-10: connections above the limit are closed as they come', async () => {
  await using at = await stand({ connectionsMax: 2 });
  const port = Number(at.address.split(':')[1]);
  const first = [connectTo(port, '127.0.0.1'), connectTo(port, '127.0.0.1')];
  await Promise.all(first.map((each) => once(each, 'connect')));
  await whenClosed(connectTo(port, '127.0.0.1'));
  for (const each of first) each.destroy();
  await Promise.all(first.map(whenClosed));
  assert.equal(await codeOf(at.address, at.key), 'ok');
});

test('M-10: a connection without a call is closed', { timeout: 60_000 }, async () => {
  await using at = await stand({ requestMs: 300 });
  const session = connect(`http://${at.address}`);
  // Closed by a goaway or by a reset.
  session.on('error', () => undefined);
  await new Promise((resolve) => session.once('close', resolve));
  assert.equal(await codeOf(at.address, at.key), 'ok');
});

test('M-10: one address has no more connections than its share, over HTTP and gRPC together', {
  timeout: 60_000,
}, async () => {
  await using at = await stand({ connectionsPerAddressMax: 2 });
  const ports = [at.address, new URL(at.server.url).host].map((each) => Number(each.split(':')[1]));
  const first = ports.map((port) => connectTo(port, '127.0.0.1'));
  await Promise.all(first.map((each) => once(each, 'connect')));
  for (const port of ports) await whenClosed(connectTo(port, '127.0.0.1'));
  for (const each of first) each.destroy();
  await Promise.all(first.map(whenClosed));
  assert.equal(await codeOf(at.address, at.key), 'ok');
});

const LARGE = 400 * 1024;

/** All but the last byte of large messages, each as a call of its own over one connection. */
function unfinished(
  address: string,
  { path, key }: { readonly path: string; readonly key: string },
) {
  const session = connect(`http://${address}`);
  session.on('error', () => undefined);
  const begin = () => {
    const stream = session.request({
      ...{ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' },
      authorization: `Bearer ${key}`,
    });
    stream.on('error', () => undefined);
    const message = Buffer.alloc(LARGE + 4);
    message.writeUInt32BE(LARGE, 1);
    const taken = new Promise<void>((resolve) => stream.write(message, () => resolve()));
    return { stream, taken };
  };
  return { session, begin };
}

test('P-18: large messages of a project wait before they are read, and other messages do not', async () => {
  await using at = await stand({ bodyBytesMax: 512 * 1024 });
  const { session, begin } = unfinished(at.address, { path: WORK_SERVICE.Call.path, key: at.key });
  await Promise.all([begin().taken, begin().taken]);
  const client = stockClient(at.address, at.key);
  let isDone = false;
  const third = client.ask({ ...GREETING, body: { text: 'x'.repeat(LARGE) } }).finally(() => {
    isDone = true;
  });
  const healthy = stockClient(at.address, await at.otherKey());
  for (let nth = 0; nth < 5; nth += 1) {
    const { id } = await healthy.ask({ ...GREETING, body: { text: 'x'.repeat(LARGE) } });
    assert.equal(id, 'one');
    assert.equal(await codeOf(at.address, at.key), 'ok', 'a small message of the same project');
  }
  assert.equal(isDone, false, 'it waits for room');
  session.destroy();
  assert.equal((await third).id, 'one', 'a caller that leaves frees its room');
  client.close();
  healthy.close();
});

test('M-37, P-18: large messages in the streams of a project wait before they are read, over all its connections', async () => {
  await using at = await stand({ bodyBytesMax: 512 * 1024 });
  const { path } = WORK_SERVICE.Stream;
  const { session, begin } = unfinished(at.address, { path, key: at.key });
  const first = begin();
  await Promise.all([first.taken, begin().taken]);
  let isTaken = false;
  const elsewhere = unfinished(at.address, { path, key: at.key });
  const third = elsewhere.begin().taken.then(() => {
    isTaken = true;
  });
  const otherKey = await at.otherKey();
  for (let nth = 0; nth < 3; nth += 1) {
    const healthy = unfinished(at.address, { path, key: otherKey });
    await Promise.all([healthy.begin().taken, healthy.begin().taken]);
    healthy.session.destroy();
  }
  assert.equal(isTaken, false, 'it waits for room');
  // A whole message is answered, which frees its room.
  first.stream.write(Buffer.alloc(1));
  await third;
  session.destroy();
  elsewhere.session.destroy();
});

test('M-37: a project has at most its part of the open streams, over all its keys', async () => {
  await using at = await stand({ openMax: 4 });
  const opened = async (key: string) => {
    const client = stockClient(at.address, key);
    const stream = client.openStream().on('error', () => undefined);
    const received = once(stream, 'data');
    stream.write(wireOf(GREETING));
    const [{ reply }] = (await received) as [WireFrame];
    return { client, problem: reply?.problem };
  };
  const keys = [at.key, await at.ownKey(), await at.ownKey(), await at.otherKey()];
  const streams = [];
  for (const key of keys) streams.push(await opened(key));
  assert.deepEqual(
    streams.map(({ problem }) => problem?.code ?? 'ok'),
    ['ok', 'ok', 'too-many-open', 'ok'],
  );
  assert.match(
    streams[2]?.problem?.detail ?? '',
    /^Project "default" holds 2 requests and streams/,
  );
  for (const { client } of streams) client.close();
});

/** Resolves when the server has closed it, by an end or by a reset. */
function whenClosed(socket: EventEmitter & { resume?: () => unknown }): Promise<void> {
  socket.on('error', () => undefined);
  socket.resume?.();
  return new Promise((resolve) => socket.once('close', () => resolve()));
}

function frame(type: number, payload: Uint8Array, { flags = 0, stream = 0 } = {}): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const SETTINGS = frame(4, Buffer.alloc(0));
const PING = frame(6, Buffer.alloc(8));
/** Its length, type and flag; nothing else of the server looks like it. */
const PONG = frame(6, Buffer.alloc(8), { flags: 1 });
const WINDOW_UPDATE = frame(8, Buffer.from([0, 0, 0, 1]));

const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), SETTINGS]);

/** The first bytes of a field in HPACK: without an index, or with the next one. */
const LITERAL = { once: 0x00, indexed: 0x40 } as const;
/** The index of the first field that a peer has added. */
const FIRST_INDEXED = 0x80 | 62;
const POST_HTTP = Buffer.from([0x83, 0x86]);

function field(name: string, value: string, kind: keyof typeof LITERAL = 'once'): Buffer {
  const text = (of: string): Buffer => {
    const { length } = of;
    // Seven bits, and then seven more of what is left.
    const bytes =
      length < 127 ? [length] : [127, ((length - 127) % 128) | 128, (length - 127) >> 7];
    return Buffer.concat([Buffer.from(bytes), Buffer.from(of)]);
  };
  return Buffer.concat([Buffer.from([LITERAL[kind]]), text(name), text(value)]);
}

function opens(stream: number, ...more: readonly Buffer[]): Buffer {
  const fields = [
    POST_HTTP,
    field(':authority', 'test'),
    field(':path', stream % 4 === 1 ? WORK_SERVICE.Stream.path : WORK_SERVICE.Call.path),
    ...[field('content-type', 'application/grpc'), field('te', 'trailers'), ...more],
  ];
  return frame(1, Buffer.concat(fields), { flags: 4, stream });
}

function resets(stream: number): Buffer {
  return frame(3, Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL]), { stream });
}

const GOAWAY = 7;

/** Sends parts one after the other, and returns how the server ended the connection. */
async function endOf(
  address: string,
  parts: readonly Buffer[],
): Promise<{ readonly code: number; readonly opened: number }> {
  const { hostname, port } = new URL(`http://${address}`);
  const socket = connectTo(Number(port), hostname);
  const received: Buffer[] = [];
  socket.on('data', (data: Buffer) => received.push(data));
  const closed = whenClosed(socket);
  socket.write(PREFACE);
  for (const part of parts) {
    await new Promise((resolve) => socket.write(part, resolve));
  }
  await closed;
  const all = Buffer.concat(received);
  for (let at = 0; at + 17 <= all.length; at += 9 + all.readUIntBE(at, 3)) {
    if (all[at + 3] !== GOAWAY) continue;
    return { opened: (all.readUInt32BE(at + 9) + 1) / 2, code: all.readUInt32BE(at + 13) };
  }
  return { code: 0, opened: 0 };
}

const idOf = (nth: number): number => 2 * nth + 1;

test('M-10: a connection that resets its calls is ended, and no key of theirs is looked up', async () => {
  await using at = await stand({});
  assert.equal(await codeOf(at.address, at.key), 'ok');
  const before = at.reads();
  // Each key is another one, so no lookup is shared.
  const calls = Array.from({ length: 500 }, (_, nth) => {
    const key = field('authorization', `Bearer ${madeUp()}`);
    return Buffer.concat([opens(idOf(nth), key), resets(idOf(nth))]);
  });
  const { code, opened } = await endOf(at.address, [Buffer.concat(calls)]);
  assert.equal(code, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  assert.equal(opened, 201);
  assert.equal(at.reads() - before, 0);
  assert.equal(await codeOf(at.address, at.key), 'ok');
});

test('M-10: a connection has few lookups at once, and none for a call that was reset meanwhile', async () => {
  await using at = await stand({});
  const release = at.holdLookups();
  const calls = Array.from({ length: 150 }, (_, nth) =>
    opens(idOf(nth), field('authorization', `Bearer ${madeUp()}`)),
  );
  const socket = connectTo(Number(at.address.split(':')[1]), '127.0.0.1');
  socket.on('error', () => undefined);
  /** Resolves when the server has read everything before. */
  const ponged = async (): Promise<void> => {
    socket.write(PING);
    for (let isPong = false; !isPong; ) {
      const [data] = (await once(socket, 'data')) as [Buffer];
      isPong = data.includes(PONG);
    }
  };
  socket.write(Buffer.concat([PREFACE, ...calls]));
  await ponged();
  socket.write(Buffer.concat(calls.map((_, nth) => resets(idOf(nth)))));
  await ponged();
  release();
  assert.equal(await codeOf(at.address, at.key), 'ok');
  assert.equal(at.reads(), 16 + 1);
  socket.destroy();
});

test('M-10: calls that end allow as many resets', async () => {
  await using at = await stand({});
  const session = connect(`http://${at.address}`);
  const call = (path: string) =>
    session.request({
      ...{ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' },
      authorization: `Bearer ${at.key}`,
    });
  for (let nth = 0; nth < 300; nth += 1) {
    const cancelled = call(WORK_SERVICE.Stream.path);
    const gone = whenClosed(cancelled);
    cancelled.close(constants.NGHTTP2_CANCEL);
    const ended = call(WORK_SERVICE.Call.path);
    ended.end(Buffer.alloc(5));
    await Promise.all([gone, whenClosed(ended)]);
  }
  assert.equal(session.destroyed, false);
  session.destroy();
});

test('M-10: a call with large metadata ends its connection before its key is looked up', async () => {
  await using at = await stand({});
  const large = field('x-large', 'x'.repeat(3_900), 'indexed');
  const key = field('authorization', `Bearer ${at.key}`);
  // A few bytes repeat the field of the first call.
  const repeated = Buffer.alloc(15, FIRST_INDEXED);
  const calls = Array.from({ length: 100 }, (_, nth) => opens(idOf(nth + 1), key, repeated));
  const parts = [Buffer.concat([opens(idOf(0), large), ...calls])];
  const { code, opened } = await endOf(at.address, parts);
  assert.equal(code, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  assert.equal(opened, 2);
  assert.equal(at.reads(), 0);
  assert.equal(await codeOf(at.address, at.key), 'ok');
});

/** The most frames of a flood. Node ends a connection long before. */
const FRAMES_MAX = 2_000_000;
const BLOCK = 5_000;

/** Sends frames without an end, and returns how many the server took. */
async function flood(address: string, repeated: Buffer, framesMax = FRAMES_MAX): Promise<number> {
  const { hostname, port } = new URL(`http://${address}`);
  const socket = connectTo(Number(port), hostname);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => undefined);
  socket.resume();
  socket.write(PREFACE);
  const block = Buffer.concat(Array<Buffer>(BLOCK).fill(repeated));
  let frames = 0;
  while (frames < framesMax && !socket.destroyed) {
    frames += BLOCK;
    if (socket.write(block)) continue;
    const drained = new AbortController();
    const { signal } = drained;
    await Promise.race([once(socket, 'drain', { signal }).catch(() => undefined), closed]);
    drained.abort();
  }
  socket.destroy();
  return frames;
}

test('M-10: a flood of PING or SETTINGS frames ends its connection', async () => {
  await using at = await stand({});
  for (const repeated of [PING, SETTINGS]) {
    assert.ok((await flood(at.address, repeated)) < FRAMES_MAX);
  }
  assert.equal(await codeOf(at.address, at.key), 'ok');
});

test('M-10: a flood of WINDOW_UPDATE frames keeps no other client from being served', async () => {
  await using at = await stand({});
  let isFlooding = true;
  const flooding = flood(at.address, WINDOW_UPDATE).finally(() => {
    isFlooding = false;
  });
  let served = 0;
  for (; isFlooding; served += 1) assert.equal(await codeOf(at.address, at.key), 'ok');
  assert.ok(served >= 2, `${served} served`);
  await flooding;
});
