// JSON that is nested deeper than any code that walks it. Every route and every transport refuses
// it, and no stack overflows.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as grpc from '@grpc/grpc-js';
import type { TSchema } from 'typebox';
import { DEFAULT_PROJECT } from '../../src/execution/names.ts';
import { ROLES } from '../../src/features/access/model.ts';
import { type ReplyEnvelope, WORK_VERSION } from '../../src/protocol/messages/envelope.ts';
import { WORK_SERVICE } from '../../src/protocol/messages/grpc-service.ts';
import { WORK_KINDS, workMessage } from '../../src/protocol/messages/work-messages.ts';
import { ROUTES } from '../../src/protocol/rest/routes.ts';
import { dispatchOf } from '../../src/protocol/work/dispatch.ts';
import { coordinatorOf } from '../../src/server/coordinator-of.ts';
import { openServer, type Server } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/sqlite/open-memory.ts';
import { sample } from '../services/tier.ts';

const DEPTH = 20_000;

/** JSON text. */
const DEEP: readonly string[] = [
  `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`,
  `${'{"a":'.repeat(DEPTH)}1${'}'.repeat(DEPTH)}`,
  `{"v":${'[{"properties":'.repeat(DEPTH)}1${'}]'.repeat(DEPTH)}}`,
];

const store = openMemoryStore();
const faults: unknown[] = [];
let server: Server;

before(async () => {
  const log = { info: () => undefined, fault: (_: string, error: unknown) => faults.push(error) };
  server = await openServer({ store, port: 0, auth: 'off', admin: 'main', log });
});

after(async () => {
  await server.close();
  await store.close();
});

type Shape = TSchema & {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly anyOf?: readonly Shape[];
  readonly items?: Shape;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly type?: string;
  readonly minimum?: number;
  readonly minItems?: number;
};

/** The smallest valid value, as JSON text. */
function least(schema: Shape): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return JSON.stringify(schema.enum[0]);
  if (schema.anyOf !== undefined) return least(schema.anyOf[0] as Shape);
  if (schema.properties !== undefined) return bodyWith(schema);
  switch (schema.type) {
    case 'string':
      return schema.pattern?.includes('{8}') === true
        ? '"01a1e190-0000-7000-8000-000000000001"'
        : '"x"';
    case 'integer':
    case 'number':
      return String(schema.minimum ?? 1);
    case 'boolean':
      return 'true';
    case 'array':
      return schema.minItems === undefined ? '[]' : `[${least(schema.items as Shape)}]`;
    default:
      return '{}';
  }
}

/** An object with its required fields, and this one. */
function bodyWith(schema: Shape, name?: string, value?: string): string {
  const { properties = {}, required = [] } = schema;
  const fields = Object.entries(properties)
    .filter(([each]) => required.includes(each) && each !== name)
    .map(([each, of]) => `${JSON.stringify(each)}:${least(of)}`);
  return `{${[...fields, ...(name === undefined ? [] : [`${JSON.stringify(name)}:${value}`])].join()}}`;
}

/** Deep as a whole, in one field, or in an unknown field. */
function bodiesOf(schema: Shape, deep: string): readonly string[] {
  const names = [...Object.keys(schema.properties ?? {}), 'unknown'];
  return [deep, ...names.map((name) => bodyWith(schema, name, deep))];
}

const withBody = ROUTES.filter(({ method }) => method !== 'GET');
for (const route of sample('routes, nested too deep', withBody, 20)) {
  test(`${route.method} ${route.path} refuses values that are nested too deep`, async () => {
    const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) =>
      name === 'version' ? '1' : '01a1e190-0000-7000-8000-000000000001',
    );
    const body = (route.body ?? {}) as Shape;
    for (const deep of DEEP) {
      for (const sent of bodiesOf(body, deep)) {
        const response = await fetch(`${server.url}${path}`, {
          method: route.method,
          headers: { 'content-type': 'application/json' },
          body: sent,
        });
        const text = await response.text();
        assert.ok(
          response.status >= 400 && response.status < 500,
          `${response.status} ${text.slice(0, 200)} to ${sent.slice(0, 80)}: ${faults.at(-1)}`,
        );
      }
    }
    assert.deepEqual(faults, []);
  });
}

test('every worker message with deep nesting is refused in an envelope, over any transport', async () => {
  const { coordinator } = await coordinatorOf({ store });
  const dispatch = dispatchOf({
    coordinator,
    transport: 'in-process',
    onFault: (_, error) => faults.push(error),
  });
  const caller = { name: 'w', project: DEFAULT_PROJECT, isOfAll: false, roles: new Set(ROLES) };
  const { signal } = new AbortController();
  for (const kind of WORK_KINDS) {
    for (const deep of DEEP) {
      for (const body of bodiesOf(workMessage(kind).body as Shape, deep)) {
        // The queue and gRPC transports read it from text like this.
        const envelope = JSON.parse(
          `{"v":${WORK_VERSION},"id":"one","kind":"${kind}","body":${body}}`,
        );
        const { problem } = await dispatch({ envelope, admit: async () => caller, signal });
        assert.equal(problem?.code, 'invalid-input', `${kind}: ${problem?.detail}`);
      }
    }
  }
  const [envelope] = DEEP.map((deep) => JSON.parse(deep));
  const answer = await dispatch({ envelope, admit: async () => caller, signal });
  assert.equal(answer.problem?.status, 400);
  await coordinator.holdfast.close();
  assert.deepEqual(faults, []);
});

test('gRPC refuses deep nesting too', async () => {
  const made = openMemoryStore();
  const log = { info: () => undefined, fault: (_: string, error: unknown) => faults.push(error) };
  const opened = await openServer({ store: made, port: 0, grpc: { port: 0 }, log });
  const client = new grpc.Client(opened.grpcAddress ?? '', grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  metadata.set('authorization', `Bearer ${opened.firstKey}`);
  for (const deep of DEEP) {
    const request = { v: WORK_VERSION, id: 'one', kind: 'claimExecutions', body: deep };
    const { problem } = await new Promise<ReplyEnvelope>((resolve, reject) => {
      client.makeUnaryRequest(
        WORK_SERVICE.Call.path,
        ({ body, ...rest }: typeof request) =>
          // A text here is already JSON.
          Buffer.concat([
            WORK_SERVICE.Call.requestSerialize(rest as never),
            Buffer.from([0x22]),
            lengthOf(body),
            Buffer.from(body),
          ]),
        WORK_SERVICE.Call.responseDeserialize,
        request,
        metadata,
        (error, reply) => (error === null ? resolve(reply as ReplyEnvelope) : reject(error)),
      );
    });
    assert.equal(problem?.code, 'invalid-input', problem?.detail);
  }
  client.close();
  await opened.close();
  await made.close();
  assert.deepEqual(faults, []);
});

/** As protobuf writes it: seven bits per byte. */
function lengthOf(text: string): Buffer {
  const bytes: number[] = [];
  let left = Buffer.byteLength(text);
  for (; left > 0x7f; left >>= 7) bytes.push((left & 0x7f) | 0x80);
  return Buffer.from([...bytes, left]);
}
