import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkLinearizability } from '../../contract/testing/linearizability/check.ts';
import type {
  RecordedOperation,
  SequentialModel,
} from '../../contract/testing/linearizability/history.ts';
import { seededRandom } from '../../src/support/random.ts';

type Write = { readonly write: number };
type Input = Write | 'read';
type Output = number | 'done';
type Operation = RecordedOperation<Input, Output>;

const register: SequentialModel<number, Input, Output> = {
  initial: 0,
  step: (value, { input, reply }) => {
    if (input !== 'read') return [input.write];
    return reply === undefined || reply.output === value ? [value] : [];
  },
  keyOf: String,
  changesNothing: ({ input }) => input === 'read',
};

/** `a: write 1` from the first time to the second; without a second time, its reply was lost. */
function write(client: string, value: number, [calledAt, at]: readonly number[]): Operation {
  const call = { client, input: { write: value }, calledAt: calledAt ?? 0 };
  return at === undefined ? call : { ...call, reply: { at, output: 'done' } };
}

function read(client: string, value: number, [calledAt = 0, at = 0]: readonly number[]): Operation {
  return { client, input: 'read', calledAt, reply: { at, output: value } };
}

function kindOf(...operations: readonly Operation[]): string {
  return checkLinearizability(register, operations).kind;
}

test('a read during a write may see the old value or the new one', () => {
  assert.equal(kindOf(write('a', 1, [0, 10]), read('b', 0, [1, 2])), 'linearizable');
  assert.equal(kindOf(write('a', 1, [0, 10]), read('b', 1, [1, 2])), 'linearizable');
});

test('a read after a write never sees the old value', () => {
  assert.equal(kindOf(write('a', 1, [0, 10]), read('b', 0, [11, 12])), 'violation');
});

test('once a read has seen the new value, no later read sees the old one', () => {
  const reads = [read('b', 1, [1, 2]), read('c', 0, [3, 4])];
  assert.equal(kindOf(write('a', 1, [0, 10]), ...reads), 'violation');
});

test('a write whose reply was lost takes effect later, or never', () => {
  const lost = write('a', 1, [0]);
  assert.equal(kindOf(lost, read('b', 0, [5, 6]), read('b', 0, [7, 8])), 'linearizable');
  assert.equal(kindOf(lost, read('b', 0, [5, 6]), read('b', 1, [7, 8])), 'linearizable');
});

test('a write whose reply was lost may take effect after a long time', () => {
  const reads = [read('b', 0, [90_000, 90_001]), read('b', 1, [90_002, 90_003])];
  assert.equal(kindOf(write('a', 1, [0]), ...reads), 'linearizable');
});

test('a write whose reply was lost takes effect at most once', () => {
  const after = [read('b', 1, [5, 6]), write('b', 2, [7, 8]), read('b', 1, [9, 10])];
  assert.equal(kindOf(write('a', 1, [0]), ...after), 'violation');
});

test('a call at the time of a reply counts as concurrent', () => {
  assert.equal(kindOf(write('a', 1, [0, 10]), read('b', 0, [10, 12])), 'linearizable');
});

test('a violation names the reply, the longest order before it and the state', () => {
  const [first, second] = [write('a', 1, [0, 1]), write('b', 2, [2, 3])];
  const failed = read('c', 1, [4, 5]);
  const result = checkLinearizability(register, [first, second, failed, read('a', 2, [6, 7])]);
  assert.ok(result.kind === 'violation');
  assert.deepEqual(result.order, [first, second]);
  assert.equal(result.failed, failed);
  assert.equal(
    result.message,
    'No order of the calls explains the reply to c: "read" → 1. The longest order without it has 2 calls. After them: 2.',
  );
});

test('parts of a history are checked by themselves', () => {
  const byParity: typeof register = {
    ...register,
    partition: (operations) =>
      Map.groupBy(operations, ({ client }) => (client < 'm' ? 'early' : 'late')),
  };
  const [early, late] = [write('a', 1, [0, 1]), read('z', 0, [2, 3])];
  assert.equal(checkLinearizability(register, [early, late]).kind, 'violation');
  assert.deepEqual(checkLinearizability(byParity, [early, late]), {
    ...{ kind: 'linearizable', operations: 2, parts: 2 },
  });
});

test('the search agrees with the trial of every order, on random histories', () => {
  const operation = fc.record({
    ...{ client: fc.constantFrom('a', 'b', 'c'), at: fc.nat(12), ms: fc.nat(6) },
    ...{ value: fc.nat(2), isRead: fc.boolean(), isLost: fc.boolean() },
  });
  const counts = { linearizable: 0, violation: 0, undecided: 0 };
  const property = fc.property(fc.array(operation, { maxLength: 6 }), (drawn) => {
    const operations = drawn.map(({ client, at, ms, value, isRead, isLost }) =>
      isRead
        ? read(client, value, [at, at + ms])
        : write(client, value, isLost ? [at] : [at, at + ms]),
    );
    const { kind } = checkLinearizability(register, operations);
    counts[kind] += 1;
    assert.equal(kind === 'linearizable', hasOrder(operations, 0));
  });
  fc.assert(property, { seed: 23, numRuns: 3_000 });
  assert.ok(counts.linearizable > 300 && counts.violation > 300, JSON.stringify(counts));
});

/** Tries every order, by the definition. */
function hasOrder(left: readonly Operation[], value: number): boolean {
  if (left.every(({ reply }) => reply === undefined)) return true;
  return left.some((next) => {
    const others = left.filter((each) => each !== next);
    // It cannot come first if another one had returned before it was called.
    if (others.some(({ reply }) => reply !== undefined && reply.at < next.calledAt)) return false;
    if (next.input !== 'read') return hasOrder(others, next.input.write);
    return next.reply?.output === value && hasOrder(others, value);
  });
}

test('10,000 calls on 10 keys with 200 lost replies are checked, and one stale read in them is found', (t) => {
  const keys = Array.from({ length: 10 }, (_, index) => `key ${index}`);
  const histories = new Map(keys.map((key, index) => [key, registerHistory(1_000, index)]));
  const model = { ...register, partition: () => histories };
  const startedAt = performance.now();
  const operations = [...histories.values()].flat();
  assert.deepEqual(checkLinearizability(model, operations), {
    ...{ kind: 'linearizable', operations: 10_000, parts: 10 },
  });
  t.diagnostic(`${Math.round(performance.now() - startedAt)} ms for 10,000 calls`);

  const last = histories.get('key 9') ?? [];
  const stale = last.map((operation, index): Operation => {
    const { reply, input } = operation;
    const isStale = input === 'read' && index > 900 && reply !== undefined;
    return isStale ? { ...operation, reply: { ...reply, output: -1 } } : operation;
  });
  const result = checkLinearizability(
    { ...model, partition: () => new Map([['key 9', stale]]) },
    operations,
  );
  assert.ok(result.kind === 'violation' && result.part === 'key 9');
  assert.equal(result.failed.reply?.output, -1);
});

/** Calls of 8 clients to a correct register. Each takes effect at a random moment of its own. */
function registerHistory(count: number, seed: number): readonly Operation[] {
  const random = seededRandom(seed);
  const free = Array.from({ length: 8 }, () => 0);
  const calls = Array.from({ length: count }, (_, index) => {
    const client = free.indexOf(Math.min(...free));
    const calledAt = (free[client] ?? 0) + random.next();
    const effectAt = calledAt + random.next() * 3;
    const at = effectAt + random.next() * 3;
    free[client] = at;
    const isLost = index % 50 === 49;
    return { client: `client ${client}`, index, calledAt, effectAt, at, isLost };
  });
  let value = 0;
  return calls
    .toSorted((a, b) => a.effectAt - b.effectAt)
    .map(({ client, index, calledAt, at, isLost }) => {
      if (index % 2 === 0) return read(client, value, [calledAt, at]);
      // Half of the lost calls never arrive.
      if (!isLost || index % 100 === 49) value = index;
      return write(client, index, isLost ? [calledAt] : [calledAt, at]);
    });
}
