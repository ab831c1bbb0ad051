import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pipeline, remoteStep } from '../../engine/pipeline.ts';
import type { Schema } from '../../engine/values/schema.ts';
import { question } from '../awaits/question-api.ts';
import { contractOf, pipelinesIn } from './contract-api.ts';
import { contractVersion } from './contract-model.ts';

const validate = (value: unknown): { value: never } => ({ value: value as never });
const json = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };

function schema(parts: object, methods: object = {}): Schema<never> {
  return { '~standard': { version: 1, vendor: 'lib', validate, ...parts }, ...methods };
}

const SCHEMAS: readonly (readonly [of: string, schema: Schema<never>, found: unknown])[] = [
  [
    'taken from the standard',
    schema({ jsonSchema: { input: () => json, output: () => ({}) } }),
    json,
  ],
  ['taken from zod', schema({}, { toJSONSchema: () => json }), json],
  ['taken from arktype', schema({}, { toJsonSchema: () => json }), json],
  ['opaque if the library has none', schema({}), { opaque: 'lib' }],
  [
    'opaque if the conversion throws',
    schema({}, { toJSONSchema: () => assert.fail('a date') }),
    { opaque: 'lib' },
  ],
];

for (const [of, input, found] of SCHEMAS) {
  test(`a schema in a contract is ${of}`, () => {
    assert.deepEqual(contractOf(pipeline({ name: 'p', input, run: () => 1 })).input, found);
  });
}

test('RE-1: a contract has everything that others rely on, and no code', () => {
  const order = pipeline<never>({
    name: 'order',
    awaits: [question({ name: 'ship' }), question({ name: 'approve', project: () => 1 })],
    remoteSteps: [remoteStep({ name: 'charge', input: schema({}) })],
    retry: { attempts: 2, rules: [{ when: () => true, do: 'fail' }] },
    run: () => 1,
  });
  const contract = contractOf(order);
  assert.deepEqual(contract, {
    format: 1,
    pipeline: 'order',
    input: true,
    output: true,
    awaits: [
      { name: 'approve', answer: true, projected: true },
      { name: 'ship', answer: true, projected: false },
    ],
    remoteSteps: [{ name: 'charge', input: { opaque: 'lib' }, output: true }],
    retry: {
      ...{ attempts: 2, initialMs: 200, factor: 2, maxMs: 60_000, jitter: 0.2 },
      rules: [{ when: '(code)', do: 'fail' }],
    },
    checkpoint: { every: 'step' },
  });
  assert.match(contractVersion(contract), /^[0-9a-f]{64}$/);
});

test('a contract keeps the word for manual checkpoints that its digest was made of', () => {
  const manual = pipeline({ name: 'm', run: () => 1, checkpoint: { every: 'manual' } });
  assert.deepEqual(contractOf(manual).checkpoint, { every: 'hand' });
});

test('pipelines are found among a module’s exports, by name, each once', () => {
  const [a, b] = [pipeline({ name: 'a', run: () => 1 }), pipeline({ name: 'b', run: () => 1 })];
  const found = pipelinesIn({ default: [b, a], b, other: 1, nothing: undefined });
  assert.deepEqual(
    found.map(({ name }) => name),
    ['a', 'b'],
  );
});

test('two remote steps of one name are refused', () => {
  const remoteSteps = [remoteStep({ name: 'charge' }), remoteStep({ name: 'charge' })];
  assert.throws(() => pipeline({ name: 'p', remoteSteps, run: () => 1 }), /two remote steps/);
});
