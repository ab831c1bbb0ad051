import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { loadSync } from '@grpc/proto-loader';
import { Holdfast, pipeline } from '../../src/index.ts';
import { WORK_VERSION } from '../../src/protocol/messages/envelope.ts';
import { WORK_SERVICE } from '../../src/protocol/messages/grpc-service.ts';
import { openServer } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { grpcTransport } from '../../src/worker/grpc-transport.ts';
import { openWorker } from '../../src/worker/open-worker.ts';
import { createKey } from './backend.ts';
import { PROTO, replyOf, stockClient, type WireFrame, wireOf } from './stock-grpc.ts';

type Method = (typeof WORK_SERVICE)[keyof typeof WORK_SERVICE];

const loaded = loadSync(PROTO, { keepCase: true })['holdfast.work.v1.Work'] as unknown as Record<
  string,
  Method
>;

/** Every field of a message has another value, so that mixed-up fields show. */
const BODY = { n: 1 };
const JSON_BODY = Buffer.from(JSON.stringify(BODY));
const BYTES = new Uint8Array([1, 2, 3]);
const CONTROL = { v: 7, id: 'an id' };
const REQUEST = { ...CONTROL, kind: 'greet', body: BODY, bytes: BYTES };
const PROBLEM = { status: 404, code: 'a code', detail: 'a detail' };
const REPLY = { ...CONTROL, body: BODY, bytes: BYTES, problem: PROBLEM };

test('M-10: both sides use the service of work.proto, method by method, field by field', () => {
  assert.deepEqual(Object.keys(loaded), Object.keys(WORK_SERVICE));
  for (const [name, ours] of Object.entries(WORK_SERVICE)) {
    const theirs = loaded[name] as Method;
    for (const key of ['path', 'requestStream', 'responseStream'] as const) {
      assert.equal(theirs[key], ours[key]);
    }
    const wire = theirs.requestSerialize({ ...REQUEST, body: JSON_BODY });
    assert.deepEqual(ours.requestSerialize(REQUEST), wire);
    assert.deepEqual(ours.requestDeserialize(wire), REQUEST);
  }
  const { Call, Stream } = WORK_SERVICE;
  const reply = loaded['Call']?.responseSerialize({ ...REPLY, body: JSON_BODY } as never);
  assert.deepEqual(Call.responseSerialize(REPLY), reply);
  assert.deepEqual(Call.responseDeserialize(reply as Buffer), REPLY);
  for (const frame of [{ reply: REPLY, wakeup: false }, { wakeup: true }]) {
    const expected = 'reply' in frame ? { reply: { ...REPLY, body: JSON_BODY } } : frame;
    const wire = loaded['Stream']?.responseSerialize(expected as never) as Buffer;
    assert.deepEqual(Stream.responseSerialize(frame), wire);
    assert.deepEqual(Stream.responseDeserialize(wire), frame);
  }
});

test('M-10, M-11: a stock client gets replies with the ids of its requests, and wakeups', async () => {
  const store = openMemoryStore();
  const key = await createKey(store, 'default');
  const server = await openServer({ store, port: 0, maintenance: false, grpc: { port: 0 } });
  const client = stockClient(server.grpcAddress ?? '', key);
  const stream = client.openStream();
  const ids: string[] = [];
  for (const id of ['a', 'b', 'c'])
    stream.write(wireOf({ v: WORK_VERSION, id, kind: 'greet', body: {} }));
  while (ids.length < 3) {
    const [{ reply }] = (await once(stream, 'data')) as [WireFrame];
    if (reply !== null) ids.push(replyOf(reply).id);
  }
  assert.deepEqual(ids.sort(), ['a', 'b', 'c']);
  const waking = once(stream, 'data');
  await new Holdfast({ store }).submit('nobody-runs-this', 1);
  assert.equal(((await waking) as [WireFrame])[0].wakeup, true);
  stream.end();
  client.close();
  await server.close();
  await store.close();
});

test('M-2: a worker over gRPC finds its coordinator again after a restart', async () => {
  const store = openMemoryStore();
  const open = (port: number) =>
    openServer({ store, port: 0, auth: 'off', maintenance: false, grpc: { port } });
  const first = await open(0);
  const address = first.grpcAddress ?? '';
  const one = pipeline({ name: 'one', run: (ctx) => ctx.step('only', () => 'done') });
  const transport = await grpcTransport({ address });
  const worker = await openWorker({ transport, pipelines: [one], pollMs: 50 });
  await first.close();
  const second = await open(Number(address.split(':')[1]));
  const holdfast = new Holdfast({ store });
  const handle = await holdfast.submit(one, undefined);
  assert.equal(await handle.result(), 'done');
  await worker.stop();
  await holdfast.close();
  await second.close();
  await store.close();
});
