// Bytes that no schema allows, over every wire: frames of streams, messages of gRPC, bodies of SQS
// and push. They are spoilt at random, and every input that once failed is in the kept corpus. The
// coordinator responds or ends the connection, logs no fault, and continues.

import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { pipeline } from '../../src/engine/pipeline.ts';
import { WORK_VERSION } from '../../src/protocol/messages/envelope.ts';
import { WORK_SERVICE } from '../../src/protocol/messages/grpc-service.ts';
import { Signer } from '../../src/protocol/messages/signing.ts';
import { WORK_KINDS } from '../../src/protocol/messages/work-messages.ts';
import { openServer, type Server, type SqsOptions } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { pushHandler } from '../../src/worker/push-handler.ts';
import { isFullRun, noteLeftOut, runSeed } from '../services/tier.ts';
import { createKey } from './backend.ts';
import { RawStream } from './raw-stream.ts';
import { kept, lineOf, spoilt } from './spoilt.ts';
import { SqsStand } from './sqs-stand.ts';

const RUNS_IN_FULL = 2_000;
const RUNS = isFullRun() ? RUNS_IN_FULL : 40;
const SECRET = 'n'.repeat(32);
const AUDIENCE = 'http://127.0.0.1/holdfast';

const store = openMemoryStore();
const faults: unknown[] = [];
let server: Server;
let stand: SqsStand;
let queues: SqsOptions;
let key = '';

before(async () => {
  stand = await SqsStand.open();
  queues = stand.options();
  key = await createKey(store, 'default');
  const log = { info: () => undefined, fault: (_: string, error: unknown) => faults.push(error) };
  const limits = { relayAnswersMs: 1 };
  const reached = { grpc: { port: 0 }, sqs: queues };
  server = await openServer({ store, port: 0, maintenance: false, log, limits, ...reached });
});

after(async () => {
  await server.close();
  await stand.close();
  await store.close();
});

/** An envelope of each kind, with bodies that are nearly right. */
const ENVELOPES: readonly object[] = WORK_KINDS.map((kind) => ({
  ...{ v: WORK_VERSION, id: 'one', kind },
  // No message waits, or the test would.
  body: { session: 's', owner: 'o', ttlMs: 1_000, fence: 1, seq: 0, waitMs: 1, limit: 1 },
}));

/** Calls in which a field has any value. */
const claims = (rest: object): string => {
  const [at, until] = [Date.now(), Date.now() + 60_000];
  return JSON.stringify({ to: 'coordinator', at, until, replyTo: 'reply', ...rest });
};

interface Wire {
  readonly name: string;
  readonly seeds: readonly (string | Uint8Array)[];
  /** Resolves when the coordinator has responded to it, or ended the connection. */
  send(bytes: Buffer): Promise<void>;
}

const WIRES: readonly Wire[] = [
  {
    name: 'frames of a stream',
    seeds: ENVELOPES.map((envelope) => JSON.stringify([envelope])),
    async send(bytes) {
      const stream = await RawStream.open(server.url, key);
      stream.socket.send(bytes.toString('latin1'));
      stream.send([{ v: WORK_VERSION, id: 'last', kind: 'greet', body: {} }]);
      const replied = async (): Promise<undefined> => {
        while (!(await stream.next()).some(({ id }) => id === 'last'));
        return undefined;
      };
      const ended = await Promise.race([replied(), stream.closed]);
      // 1006: without a status, as after an error that the coordinator did not expect.
      assert.notEqual(ended?.[0], 1006, 'The coordinator cut the stream off.');
      stream.close();
    },
  },
  {
    name: 'messages of gRPC',
    seeds: ENVELOPES.map((envelope) => grpcFrame(envelope)),
    async send(bytes) {
      await grpcStatus(bytes);
    },
  },
  {
    name: 'bodies of SQS, signed after they were spoilt',
    seeds: ENVELOPES.map((envelope) => claims({ envelope })).concat(claims({ parts: ['f'] })),
    async send(bytes) {
      const text = bytes.toString('latin1');
      const signer = new Signer('fuzz', { keys: { new: SECRET }, current: 'new' });
      // `sign` takes claims and writes them as JSON. This object is any JSON.
      const signed = signer.sign({ toJSON: () => parsed(text) } as never);
      await stand.queues.send(queues.requestQueueUrl, signed);
    },
  },
  {
    name: 'bodies of SQS, spoilt after they were signed',
    seeds: ENVELOPES.map((envelope) => `v1.new.${'A'.repeat(43)}\n${claims({ envelope })}`),
    send: (bytes) =>
      // SQS refuses the other control characters itself.
      stand.queues.send(queues.requestQueueUrl, `x${printable(bytes.toString('latin1'))}`),
  },
  {
    name: 'calls of a push endpoint',
    seeds: ['{}', claims({ to: 'endpoint', audience: AUDIENCE, command: { kind: 'run' } })],
    async send(bytes) {
      const signing = { keys: { new: SECRET }, current: 'new' };
      const pipelines = [pipeline({ name: 'any', run: async () => 1 })];
      const handle = pushHandler({ pipelines, signing, audience: AUDIENCE });
      const text = bytes.toString('latin1');
      const signed = new Signer('fuzz', signing).sign({ toJSON: () => parsed(text) } as never);
      for (const body of [text, signed]) {
        const { status } = await handle(new Request(AUDIENCE, { method: 'POST', body }));
        assert.ok(status < 500, `${status} for ${JSON.stringify(body)}`);
      }
    },
  },
];

if (!isFullRun()) {
  noteLeftOut('spoilt bytes', (RUNS_IN_FULL - RUNS) * WIRES.length, RUNS_IN_FULL * WIRES.length);
}

for (const wire of WIRES) {
  test(`${wire.name}: a coordinator survives spoilt bytes`, async () => {
    for (const bytes of kept(wire.name)) await survives(wire, bytes);
    const property = fc.asyncProperty(spoilt(wire.seeds), (bytes) => survives(wire, bytes));
    await fc.assert(property, { numRuns: RUNS, seed: runSeed() % 2 ** 31 });
    if (wire.name.includes('SQS')) await emptied();
    assert.deepEqual(faults.map(String), []);
    assert.equal((await fetch(`${server.url}/healthz`)).status, 200);
  });
}

test('messages of gRPC: unspoilt bytes reach their method', async () => {
  assert.equal(await grpcStatus(grpcFrame(ENVELOPES[0] ?? {})), '0');
});

async function survives(wire: Wire, bytes: Buffer): Promise<void> {
  const line = lineOf(wire.name, bytes);
  await wire.send(bytes).catch((cause: unknown) => {
    throw new Error(`${cause}. Keep it in corpus.jsonl: ${line}`, { cause });
  });
  assert.deepEqual(faults.splice(0).map(String), [], `Keep it in corpus.jsonl: ${line}`);
}

/** A message that comes last was handled: so were those before it. */
async function emptied(): Promise<void> {
  const replyTo = stand.queue('reply');
  const text = stand.signed({ kind: 'greet', body: {} }, 'none' as never, replyTo);
  await stand.exchange({ ...queues, poisonQueueUrl: stand.queue('unused') }, { text, replyTo });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function printable(text: string): string {
  return [...text].map((letter) => (letter < ' ' && letter !== '\n' ? '?' : letter)).join('');
}

/** A message with its five bytes of prefix: no compression, and its length. */
function grpcFrame(envelope: object): Uint8Array {
  const { id, kind, body } = envelope as { id: string; kind: string; body: object };
  const field = (number: number, bytes: Uint8Array): Buffer =>
    Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
  const message = Buffer.concat([
    Buffer.from([8, WORK_VERSION]),
    ...[field(2, Buffer.from(id)), field(3, Buffer.from(kind))],
    field(4, Buffer.from(JSON.stringify(body))),
  ]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** The status of a call with these bytes; empty if the connection ended before. */
async function grpcStatus(bytes: Uint8Array): Promise<string> {
  const session = connect(`http://${server.grpcAddress}`);
  const ended = new Promise<void>((resolve) => {
    session.once('error', () => resolve());
    session.once('close', () => resolve());
  });
  const stream = session.request({
    ':method': 'POST',
    ':path': WORK_SERVICE.Call.path,
    'content-type': 'application/grpc',
    authorization: `Bearer ${key}`,
    te: 'trailers',
  });
  let status = '';
  stream.on('error', () => undefined);
  for (const event of ['response', 'trailers'] as const) {
    stream.on(event, (headers) => {
      status = String(headers['grpc-status'] ?? status);
    });
  }
  stream.resume();
  stream.end(bytes);
  await Promise.race([new Promise((resolve) => stream.once('close', resolve)), ended]);
  session.destroy();
  return status;
}
