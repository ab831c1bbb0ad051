import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallKey } from '../../execution/names.ts';
import type { Instant } from '../../support/clock.ts';
import { Ledger } from './ledger.ts';

/** Pending calls, and the number of reads of one of them. */
class UnderWay extends Map<CallKey, unknown> {
  reads = 0;

  override has(key: CallKey): boolean {
    this.reads += 1;
    return super.has(key);
  }

  override *keys(): MapIterator<CallKey> {
    for (const key of super.keys()) {
      this.reads += 1;
      yield key;
    }
    return undefined;
  }
}

interface TestLedger {
  readonly calls: UnderWay;
  call(name: string): void;
  /** An attempt fails, and another follows. */
  fail(name: string): unknown;
  end(name: string): unknown;
}

function openLedger(): TestLedger {
  const ledger = new Ledger([], 0 as Instant);
  const calls = new UnderWay();
  return {
    calls,
    call(name) {
      calls.set(name as CallKey, {});
      ledger.noteCall(name as CallKey, calls);
    },
    fail: (name) => ledger.beginOthers(name as CallKey, calls).with,
    end(name) {
      const others = ledger.beginOthers(name as CallKey, calls).with;
      calls.delete(name as CallKey);
      return others;
    },
  };
}

test('a settlement names the calls under way beside it, each once', () => {
  const { call, end } = openLedger();
  for (const name of ['a', 'b', 'c']) call(name);
  assert.deepEqual(end('b'), ['a', 'c']);
  call('d');
  assert.deepEqual(end('a'), ['d']);
  assert.equal(end('c'), undefined);
  call('e');
  assert.deepEqual(end('d'), ['e']);
});

test('a call that is tried again is named by the next settlement', () => {
  const { call, fail, end } = openLedger();
  for (const name of ['a', 'b']) call(name);
  assert.deepEqual(fail('a'), ['b']);
  assert.deepEqual(end('b'), ['a']);
});

test('a call that settled before it was named is not named', () => {
  const { call, end, calls } = openLedger();
  for (const name of ['a', 'b', 'c']) call(name);
  calls.delete('a' as CallKey);
  assert.deepEqual(end('b'), ['c']);
  calls.clear();
  for (const name of ['d', 'e']) call(name);
  assert.deepEqual(end('e'), ['d']);
});

test('each of many calls under way is looked at only a few times in all', () => {
  const { call, end, calls } = openLedger();
  const names = Array.from({ length: 2_000 }, (_, nth) => `s#${nth}`);
  for (const name of names) call(name);
  for (const name of names) end(name);
  assert.ok(calls.reads < 4 * names.length, `${calls.reads} looks`);
});
