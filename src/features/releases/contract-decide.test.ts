import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffContracts, diffSchemas, isBreaking } from './contract-decide.ts';
import {
  type Contract,
  type ContractSchema,
  contractVersion,
  parseContract,
} from './contract-model.ts';

const text = { type: 'string' } as const;
const short = { type: 'string', maxLength: 5 } as const;
const approve = { name: 'approve', answer: text, projected: false };
const charge = { name: 'charge', input: text, output: text };

const order: Contract = {
  format: 1,
  pipeline: 'order',
  input: text,
  output: text,
  awaits: [approve],
  remoteSteps: [charge],
  retry: { attempts: 5 },
  checkpoint: { every: 'step' },
};

const ROWS: readonly (readonly [
  of: string,
  after: Partial<Contract>,
  expected: readonly string[],
])[] = [
  ['nothing', {}, []],
  ['input narrower', { input: short }, ['input breaks']],
  ['input wider', { input: true }, ['input ok']],
  ['output narrower', { output: short }, ['output ok']],
  ['output wider', { output: true }, ['output breaks']],
  ['output unclear', { output: { opaque: 'x' } }, ['output breaks', 'output breaks']],
  ['an await removed', { awaits: [] }, ['await:approve breaks']],
  ['an await added', { awaits: [approve, { ...approve, name: 'ship' }] }, ['await:ship ok']],
  ['answers narrower', { awaits: [{ ...approve, answer: short }] }, ['await:approve breaks']],
  ['answers wider', { awaits: [{ ...approve, answer: true }] }, ['await:approve ok']],
  ['answers projected', { awaits: [{ ...approve, projected: true }] }, ['await:approve ok']],
  [
    'a remote step added',
    { remoteSteps: [charge, { ...charge, name: 'ship' }] },
    ['remote-step:ship breaks'],
  ],
  ['a remote step removed', { remoteSteps: [] }, ['remote-step:charge ok']],
  [
    'a remote step with wider input',
    { remoteSteps: [{ ...charge, input: true }] },
    ['remote-step:charge:input breaks'],
  ],
  [
    'a remote step with wider output',
    { remoteSteps: [{ ...charge, output: true }] },
    ['remote-step:charge:output ok'],
  ],
  ['retry', { retry: { attempts: 1 } }, ['retry ok']],
  ['checkpoint', { checkpoint: { every: 'hand' } }, ['checkpoint ok']],
  ['another pipeline', { pipeline: 'bill' }, ['pipeline breaks']],
];

for (const [of, after, expected] of ROWS) {
  test(`RE-2: ${of}`, () => {
    const changes = diffContracts(order, { ...order, ...after });
    const found = changes.map(({ part, breaking }) => `${part} ${breaking ? 'breaks' : 'ok'}`);
    assert.deepEqual(found, expected);
    assert.equal(
      isBreaking(changes),
      expected.some((each) => each.endsWith('breaks')),
    );
  });
}

test('RE-1: the version is the digest of the whole content, in any order of fields', () => {
  const reversed = Object.fromEntries(Object.entries(order).reverse()) as unknown as Contract;
  assert.equal(contractVersion(reversed), contractVersion(order));
  for (const [of, after] of ROWS.slice(1)) {
    assert.notEqual(contractVersion({ ...order, ...after }), contractVersion(order), of);
  }
});

test('an invalid contract is refused with the missing fields', () => {
  assert.throws(() => parseContract('f', { format: 1 }), /lacks pipeline, input, output/);
  assert.throws(() => parseContract('f', { ...order, format: 2 }), /format number 2/);
  assert.throws(() => parseContract('f', { ...order, awaits: 1 }), /lists/);
  assert.deepEqual(parseContract('f', { ...order, version: 'x' }), order);
});

const price: ContractSchema = {
  type: 'object',
  properties: { price: { type: 'integer', minimum: 0 }, note: { type: 'string' } },
  required: ['price'],
};

interface Row {
  readonly of: string;
  readonly before: ContractSchema;
  readonly after: ContractSchema;
  readonly changes: readonly string[];
}

const SCHEMA_ROWS: readonly Row[] = [
  {
    of: 'the same in another order',
    before: { type: 'object', title: 'a' },
    after: { title: 'b', type: 'object' },
    changes: [],
  },
  { of: 'anything, then something', before: true, after: price, changes: [' narrower'] },
  { of: 'something, then anything', before: price, after: true, changes: [' wider'] },
  {
    of: 'another type',
    before: { type: 'string' },
    after: { type: 'boolean' },
    changes: [' narrower', ' wider'],
  },
  {
    of: 'one type more',
    before: { type: 'string' },
    after: { type: ['string', 'null'] },
    changes: [' wider'],
  },
  {
    of: 'a number instead of a whole one',
    before: { type: 'integer' },
    after: { type: 'number' },
    changes: [' wider'],
  },
  {
    of: 'a whole number instead of any',
    before: { type: 'number' },
    after: { type: 'integer' },
    changes: [' narrower'],
  },
  {
    of: 'one value more',
    before: { enum: ['a'] },
    after: { enum: ['a', 'b'] },
    changes: [' wider'],
  },
  {
    of: 'one value less',
    before: { enum: ['a', 'b'] },
    after: { const: 'a' },
    changes: [' narrower'],
  },
  { of: 'a higher minimum', before: { minimum: 1 }, after: { minimum: 2 }, changes: [' narrower'] },
  { of: 'a lower minimum', before: { minimum: 2 }, after: { minimum: 1 }, changes: [' wider'] },
  {
    of: 'a maximum length',
    before: { type: 'string' },
    after: { type: 'string', maxLength: 9 },
    changes: [' narrower'],
  },
  {
    of: 'a longer maximum length',
    before: { maxLength: 9 },
    after: { maxLength: 10 },
    changes: [' wider'],
  },
  {
    of: 'a new property that may be left out',
    before: { type: 'object' },
    after: { type: 'object', properties: { a: { type: 'string' } } },
    changes: ['.a narrower'],
  },
  {
    of: 'a property that must be there',
    before: price,
    after: { ...price, required: ['price', 'note'] },
    changes: ['.note narrower'],
  },
  {
    of: 'a property that need not be there',
    before: price,
    after: { ...price, required: [] },
    changes: ['.price wider'],
  },
  {
    of: 'deep inside',
    before: { items: price },
    after: {
      items: {
        ...price,
        properties: { price: { type: 'integer', minimum: 1 }, note: { type: 'string' } },
      },
    },
    changes: ['[].price narrower'],
  },
  {
    of: 'no properties but the listed ones',
    before: price,
    after: { ...price, additionalProperties: false },
    changes: ['.* narrower'],
  },
  {
    of: 'a property is removed and no others are allowed',
    before: { ...price, additionalProperties: false },
    after: {
      type: 'object',
      properties: { price: { type: 'integer', minimum: 0 } },
      required: ['price'],
      additionalProperties: false,
    },
    changes: ['.note narrower'],
  },
  {
    of: 'a variant more',
    before: { anyOf: [{ type: 'string' }] },
    after: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    changes: [' wider'],
  },
  {
    of: 'a variant less',
    before: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    after: { anyOf: [{ type: 'null' }] },
    changes: [' narrower'],
  },
  { of: 'a pattern', before: { pattern: 'a' }, after: { pattern: 'b' }, changes: [' changed'] },
  {
    of: 'a library without JSON Schema',
    before: { opaque: 'x' },
    after: { opaque: 'y' },
    changes: [' changed'],
  },
];

for (const { of, before, after, changes } of SCHEMA_ROWS) {
  test(`schemas: ${of}`, () => {
    const found = diffSchemas(before, after).map(({ path, effect }) => `${path} ${effect}`);
    assert.deepEqual(found, changes);
  });
}

test('an invalid schema counts as a change, whatever its name, and nothing is thrown', () => {
  for (const odd of [null, 5, 'x', [], [null]]) {
    const [change] = diffSchemas({ properties: { a: odd } } as never, { properties: { a: {} } });
    assert.deepEqual([change?.path, change?.effect], ['.a', 'changed'], JSON.stringify(odd));
  }
  const named = JSON.parse(
    '{"properties":{"constructor":{"type":"string"},"__proto__":{"type":"string"}}}',
  );
  const found = diffSchemas({ properties: {} }, named);
  assert.deepEqual(
    found.map(({ path, what }) => [path, what]),
    ['.__proto__', '.constructor'].map((path) => [
      path,
      'could have any value or be absent; if present, it must now be string',
    ]),
  );
  diffSchemas(
    { type: [{}], required: [1], enum: [{}], minimum: {} } as never,
    { required: {} } as never,
  );
});

test('a comparison of schemas stops at a limit, and its last change says so', () => {
  const of = (letter: string, schema: object): object =>
    Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`${letter}${n}`, schema]));
  const before = { properties: of('a', {}) };
  const after = { additionalProperties: { properties: of('b', { type: 'string' }) } };
  const found = diffSchemas(before as never, after as never);
  assert.ok(found.length <= 10_001, `${found.length} changes`);
  assert.match(found.at(-1)?.what ?? '', /the rest was not/);
});

/** Of processor time; comparing each item with each takes several seconds. */
const LARGEST_MS = 1_500;

test('the largest contracts are compared in time, and names in paths are cut', () => {
  const count = 8_000;
  const numbers = (from: number): readonly number[] =>
    Array.from({ length: 5 * count }, (_, nth) => from + nth);
  const awaits = (from: string): Contract['awaits'] =>
    Array.from({ length: count }, (_, nth) => ({ ...approve, name: `${from}${nth}` }));
  const long = 'x'.repeat(50_000);
  const under = (schema: object): ContractSchema => ({ properties: { [long]: schema } }) as never;
  const before = { ...order, input: { enum: numbers(0) }, output: under({}), awaits: awaits('a') };
  const after = { ...before, input: { enum: numbers(count * 9) }, awaits: awaits('b') };
  const began = process.cpuUsage();
  const found = diffContracts(before, { ...after, output: under(text) });
  const { user, system } = process.cpuUsage(began);
  assert.equal(found.length, 2 * count + 3);
  assert.ok((user + system) / 1_000 < LARGEST_MS, `${(user + system) / 1_000} ms`);
  const { path = '' } = found.find(({ part }) => part === 'output') ?? {};
  assert.ok(path.length < 300, `${path.length} characters`);
});
