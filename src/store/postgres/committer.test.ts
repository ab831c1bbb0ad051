import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AssertionFault } from '../../support/assert.ts';
import { systemClock } from '../../support/clock.ts';
import { Fault, OutcomeUnknown, StoreUnavailable } from '../../support/fault.ts';
import { seededRandom } from '../../support/random.ts';
import { systemTimers } from '../../support/timer.ts';
import { Committer, type Flusher, type StoreEnvironment } from './committer.ts';

interface Item {
  readonly key: string;
  readonly value: string;
}

/** Pauses take no real time, but advance the clock. */
function environment(): StoreEnvironment {
  let nowMs = 0;
  return {
    clock: { ...systemClock, monotonicMs: () => nowMs },
    random: seededRandom(1),
    timers: {
      ...systemTimers,
      async pause(ms) {
        nowMs += ms;
      },
    },
  };
}

function committerOf(flusher: Partial<Flusher<Item, string>>): Committer<Item, string> {
  const defaults: Flusher<Item, string> = {
    lanes: 1,
    keysOf: ({ key }) => key,
    fits: () => true,
    charsOf: ({ value }) => value.length,
    flush: async (items) => items.map(({ value }) => value),
    settle: async ({ value }) => `alone ${value}`,
  };
  return new Committer({ ...defaults, ...flusher }, environment());
}

const item = (key: string, value: string = key): Item => ({ key, value });

test('items pushed in one turn are flushed together, in the order of keys', async () => {
  const flushes: string[][] = [];
  const committer = committerOf({
    async flush(items) {
      flushes.push(items.map(({ key }) => key));
      return items.map(({ value }) => value);
    },
  });
  const results = await Promise.all(['c', 'a', 'b'].map((key) => committer.push(item(key))));
  assert.deepEqual(results, ['c', 'a', 'b']);
  assert.deepEqual(flushes, [['a', 'b', 'c']]);
});

test('items that share a key are in separate flushes, in their order, whatever the lanes', async () => {
  const order: string[] = [];
  let inFlight = 0;
  const committer = committerOf({
    lanes: 3,
    async flush(items) {
      inFlight += 1;
      assert.equal(items.length, 1);
      await systemTimers.pause(2);
      assert.equal(inFlight, 1);
      inFlight -= 1;
      order.push(...items.map(({ value }) => value));
      return items.map(({ value }) => value);
    },
  });
  await Promise.all(['1', '2', '3', '4'].map((value) => committer.push(item('same', value))));
  assert.deepEqual(order, ['1', '2', '3', '4']);
});

test('large items do not form one flush', async () => {
  const flushes: number[] = [];
  const committer = committerOf({
    async flush(items) {
      flushes.push(items.length);
      return items.map(({ value }) => value.slice(0, 1));
    },
    charsOf: () => 5 * 1024 * 1024,
  });
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map((key) => committer.push(item(key))));
  assert.deepEqual(flushes, [2, 2, 1]);
});

test('a rejected item fails alone', async () => {
  const committer = committerOf({
    async flush(items) {
      if (items.some(({ key }) => key === 'bad')) throw new Fault('store-rejected', 'no');
      return items.map(({ value }) => value);
    },
  });
  const keys = ['a', 'b', 'bad', 'c', 'd', 'e', 'f'];
  const settled = await Promise.allSettled(keys.map((key) => committer.push(item(key))));
  const failed = settled.flatMap(({ status }, nth) => (status === 'rejected' ? [keys[nth]] : []));
  assert.deepEqual(failed, ['bad']);
});

test('items that a flush skipped, or that do not fit, are settled alone', async () => {
  const committer = committerOf({
    fits: ({ key }) => key !== 'large',
    flush: async (items) => items.map(({ key, value }) => (key === 'odd' ? undefined : value)),
  });
  const results = await Promise.all(
    ['even', 'odd', 'large'].map((key) => committer.push(item(key))),
  );
  assert.deepEqual(results, ['even', 'alone odd', 'alone large']);
});

test('a flush that was not done, or may have been, is repeated', async () => {
  const faults = [new StoreUnavailable('deadlock'), new OutcomeUnknown('cut')];
  const committer = committerOf({
    async flush(items) {
      const fault = faults.shift();
      if (fault !== undefined) throw fault;
      return items.map(({ value }) => value);
    },
  });
  assert.equal(await committer.push(item('a')), 'a');
  assert.deepEqual(faults, []);
});

test('repeating ends with the known outcome', async () => {
  const down = committerOf({
    flush: () => Promise.reject(new StoreUnavailable('refused')),
  });
  await assert.rejects(down.push(item('a')), StoreUnavailable);
  let tries = 0;
  const cutOnce = committerOf({
    flush() {
      tries += 1;
      return Promise.reject(tries === 1 ? new OutcomeUnknown('cut') : new StoreUnavailable('no'));
    },
  });
  await assert.rejects(cutOnce.push(item('a')), OutcomeUnknown);
});

test('a bug is not repeated', async () => {
  let tries = 0;
  const committer = committerOf({
    flush() {
      tries += 1;
      return Promise.reject(new AssertionFault('X-2: a bug'));
    },
  });
  await assert.rejects(committer.push(item('a')), AssertionFault);
  assert.equal(tries, 1);
});

test('closing waits for flushes under way and takes nothing new', async () => {
  const committer = committerOf({});
  const result = committer.push(item('a'));
  const closed = committer.close();
  await assert.rejects(committer.push(item('b')), StoreUnavailable);
  await closed;
  assert.equal(await result, 'a');
});

test('a queue may be longer than the argument limit of a call', { timeout: 60_000 }, async () => {
  const committer = committerOf({});
  const items = Array.from({ length: 200_000 }, (_, nth) => item(String(nth)));
  const results = await Promise.all(items.map((each) => committer.push(each)));
  assert.equal(results.at(-1), '199999');
});
