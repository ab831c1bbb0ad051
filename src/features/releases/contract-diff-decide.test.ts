import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffContracts, isBreaking } from './contract-diff-decide.ts';
import { type Contract, contractVersion, parseContract } from './contract-model.ts';

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

const ROWS: readonly (readonly [of: string, after: Partial<Contract>, told: readonly string[]])[] =
  [
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
      'a remote step asked for more',
      { remoteSteps: [{ ...charge, input: true }] },
      ['remote-step:charge:input breaks'],
    ],
    [
      'a remote step may answer more',
      { remoteSteps: [{ ...charge, output: true }] },
      ['remote-step:charge:output ok'],
    ],
    ['retry', { retry: { attempts: 1 } }, ['retry ok']],
    ['checkpoint', { checkpoint: { every: 'hand' } }, ['checkpoint ok']],
    ['another pipeline', { pipeline: 'bill' }, ['pipeline breaks']],
  ];

for (const [of, after, told] of ROWS) {
  test(`RE-2: ${of}`, () => {
    const changes = diffContracts(order, { ...order, ...after });
    const found = changes.map(({ part, breaking }) => `${part} ${breaking ? 'breaks' : 'ok'}`);
    assert.deepEqual(found, told);
    assert.equal(
      isBreaking(changes),
      told.some((each) => each.endsWith('breaks')),
    );
  });
}

test('RE-1: the version is that of the content, in whatever order it was written, and of all of it', () => {
  const reversed = Object.fromEntries(Object.entries(order).reverse()) as unknown as Contract;
  assert.equal(contractVersion(reversed), contractVersion(order));
  for (const [of, after] of ROWS.slice(1)) {
    assert.notEqual(contractVersion({ ...order, ...after }), contractVersion(order), of);
  }
});

test('what is no contract is refused by what is missing', () => {
  assert.throws(() => parseContract('f', { format: 1 }), /no pipeline, input, output/);
  assert.throws(() => parseContract('f', { ...order, format: 2 }), /format number 2/);
  assert.throws(() => parseContract('f', { ...order, awaits: 1 }), /lists/);
  assert.deepEqual(parseContract('f', { ...order, version: 'x' }), order);
});
